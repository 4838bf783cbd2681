/** Says in a few words how a question was closed. */
import type { PermissionRequest, PermissionResolved, UiResolved } from './types';
import type { Answer, OpenAsk } from './view';

export function describeAnswer(open: OpenAsk, event: PermissionResolved, at: number): Answer {
  const request = open.request as PermissionRequest;
  const choice = request.choices?.find((one) => one.id === event.choice_id);
  const intent = choice?.intent ?? event.decision;
  const denied = intent === 'deny';
  const always = intent === 'persist' || intent === 'allow_always';
  return {
    about: aboutOf(request),
    outcome: denied ? 'denied' : always ? 'allowed from now on' : 'allowed',
    denied,
    by: open.sending ? 'you' : event.source,
    at
  };
}

export function describeUiAnswer(open: OpenAsk, event: UiResolved, at: number): Answer {
  const request = open.request as { title?: string; message?: string };
  const value = Array.isArray(event.value) ? event.value.join(', ') : event.value;
  return {
    about: request.title ?? request.message ?? 'question',
    outcome: value === null ? 'closed without an answer' : `answered “${shorten(value, 80)}”`,
    denied: value === null,
    by: open.sending ? 'you' : event.source,
    at
  };
}

/** The command or path that a request is about, else the tool's name. */
export function aboutOf(request: PermissionRequest): string {
  const detail = request.details?.find((one) => one.format === 'command' || one.format === 'path');
  return detail ? `${request.tool_name} ${shorten(detail.value, 80)}` : request.tool_name;
}

function shorten(text: string, length: number): string {
  const line = text.split('\n', 1)[0] ?? '';
  return line.length > length || line !== text ? `${line.slice(0, length)}…` : line;
}
