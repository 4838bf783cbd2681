/**
 * The one function that events of an agent go through, live or after a re-attachment:
 * `(view, event) → view`. Pure; an event that it does not know changes nothing.
 */
import { describeAnswer, describeUiAnswer } from './answers';
import { foldCalls, indexOfMessage, isShown, newCall, withResult } from './messages';
import { applySync, prependPage } from './resync';
import type { AgentEvent, ContentBlock, Message, MessageDelta, Usage } from './types';
import type { Call, Item, OpenAsk, Remark, View } from './view';

/** What this client does itself and that shows in the view. */
export type LocalEvent =
  | { type: 'local.answering'; request_id: string }
  | { type: 'local.answer_failed'; request_id: string; failure: string }
  /** The process is gone; with a reason if that was not on purpose. */
  | { type: 'local.ended'; reason?: string }
  | { type: 'local.older'; messages: Message[]; has_more: boolean };

/** How much live output of a tool is kept, in characters: a screenful and some. */
const PROGRESS_KEPT = 20_000;

type Event<T extends AgentEvent['type']> = Extract<AgentEvent, { type: T }>;
type WithoutPlace<T> = T extends unknown ? Omit<T, 'id' | 'after'> : never;

export function reduce(view: View, event: AgentEvent | LocalEvent, now: number): View {
  switch (event.type) {
    case 'sync':
      return applySync(view, event);
    case 'status':
      return { ...view, status: event.status, detail: event.detail };
    case 'turn_start':
      return { ...view, turn: event.turn_id, detail: undefined };
    case 'turn_end':
      return turnEnd(view, event);
    case 'message_delta':
      return delta(view, event);
    case 'message_complete':
      return complete(view, event.message);
    case 'tool_call':
      return withCall(view, event.tool_call_id, event.name, (call) => ({
        ...call,
        name: event.name,
        args: event.args,
        argsText: '',
        started: true,
        startedAt: now,
        readOnly: event.read_only,
        allowedBy: event.allowed_by,
        preview: event.render
      }));
    case 'tool_progress':
      return withCall(view, event.tool_call_id, 'tool', (call) => ({
        ...call,
        started: true,
        startedAt: call.startedAt ?? now,
        progress: (call.progress + event.text_delta).slice(-PROGRESS_KEPT)
      }));
    case 'tool_result':
      return withCall(view, event.tool_call_id, 'tool', (call) =>
        withResult(call, {
          content: event.content,
          isError: event.is_error,
          exitCode: event.exit_code,
          durationMs: event.duration_ms,
          render: event.render,
          images: event.images ?? []
        })
      );
    case 'usage':
      return { ...view, usage: addUsage(view.usage, event) };
    case 'compaction':
      return remark(view, {
        kind: 'compaction',
        tokensBefore: event.tokens_before,
        tokensAfter: event.tokens_after
      });
    case 'error':
      return remark(view, {
        kind: 'notice',
        tone: event.code === 'SESSION_CORRUPT' && !event.fatal ? 'warn' : 'error',
        code: event.code,
        text: event.message,
        fatal: event.fatal
      });
    case 'permission_request':
      return ask(view, { request: event, sending: false });
    case 'ui_request':
      return event.kind === 'notify' ? notice(view, event) : ask(view, { request: event, sending: false });
    case 'permission_resolved':
      return resolved(view, event.request_id, (open) => describeAnswer(open, event, now));
    case 'ui_resolved':
      return resolved(view, event.request_id, (open) => describeUiAnswer(open, event, now));
    case 'model_changed':
      return {
        ...view,
        model: event.active,
        effort: undefined,
        capabilities: event.capabilities ?? view.capabilities
      };
    case 'reasoning_level_changed':
      return { ...view, effort: event.active };
    case 'mode_changed':
      return { ...view, mode: event.mode };
    case 'queue_changed':
      return { ...view, queue: event.queue };
    case 'resources_changed':
      return remark(view, {
        kind: 'notice',
        tone: event.diagnostics?.length ? 'warn' : 'info',
        text: [
          event.changed.length ? `Changed: ${event.changed.join(', ')}` : '',
          ...(event.diagnostics ?? [])
        ]
          .filter(Boolean)
          .join('\n')
      });
    case 'local.answering':
      return changeAsk(view, event.request_id, { sending: true, failure: undefined });
    case 'local.answer_failed':
      return changeAsk(view, event.request_id, { sending: false, failure: event.failure });
    case 'local.ended':
      return ended(view, event.reason);
    case 'local.older':
      return prependPage(view, event.messages, event.has_more);
    default:
      return view;
  }
}

function delta(view: View, event: MessageDelta): View {
  const at = indexOfMessage(view.items, event.message_id);
  const known = view.items[at];
  const message: Message =
    known?.kind === 'message'
      ? known.message
      : { id: event.message_id, role: 'assistant', content: [], partial: true };
  // A message that is whole is the truth; pieces of it that come late are in it already.
  if (!message.partial) return view;
  const content = message.content.slice();
  while (content.length < event.block_index) content.push({ type: 'text', text: '' });
  content[event.block_index] = grown(content[event.block_index], event);
  const next = putMessage(view, at, { ...message, content });
  const block = content[event.block_index];
  if (block?.type !== 'tool_call') return next;
  return withCall(next, block.id, block.name, (call) => ({
    ...call,
    argsText: call.argsText + (event.args_delta ?? '')
  }));
}

function grown(block: ContentBlock | undefined, event: MessageDelta): ContentBlock {
  const text = event.text_delta ?? '';
  switch (event.kind) {
    case 'tool_call':
      if (block?.type === 'tool_call') return block;
      return { type: 'tool_call', id: event.tool_call_id ?? '', name: event.name ?? 'tool', args: {} };
    case 'thinking':
      if (block?.type === 'thinking') return { ...block, text: block.text + text };
      return { type: 'thinking', text };
    default:
      if (block?.type === 'text') return { ...block, text: block.text + text };
      return { type: 'text', text };
  }
}

function complete(view: View, message: Message): View {
  const calls = foldCalls(view.calls, message);
  const next = calls === view.calls ? view : { ...view, calls };
  const oldest = view.oldest ?? message.id;
  if (!isShown(message)) return { ...next, oldest };
  return { ...putMessage(next, indexOfMessage(view.items, message.id), message), oldest };
}

function putMessage(view: View, at: number, message: Message): View {
  const item: Item = { kind: 'message', id: message.id, message };
  const items = view.items.slice();
  if (at < 0) items.push(item);
  else items[at] = item;
  return { ...view, items };
}

function withCall(view: View, id: string, name: string, change: (call: Call) => Call): View {
  if (!id) return view;
  return { ...view, calls: { ...view.calls, [id]: change(view.calls[id] ?? newCall(id, name)) } };
}

function turnEnd(view: View, event: Event<'turn_end'>): View {
  const next: View = { ...view, turn: undefined, detail: undefined };
  if (event.reason === 'aborted') return remark(next, { kind: 'notice', tone: 'info', text: 'Stopped.' });
  const last = view.items.at(-1);
  const told = last?.kind === 'notice' && last.tone !== 'info';
  if (told || event.reason === 'done') return next;
  const limit = 'The turn reached its limit of rounds or output. Send “go on” to continue.';
  const text = event.reason === 'limit' ? limit : 'The turn failed. Send the message again to retry.';
  return remark(next, { kind: 'notice', tone: event.reason === 'limit' ? 'warn' : 'error', text });
}

/** Nothing runs and nothing can be answered any more. What waits is the daemon's to keep. */
function ended(view: View, reason: string | undefined): View {
  const status = reason === undefined ? 'idle' : 'error';
  const next: View = { ...view, status, turn: undefined, detail: undefined, asks: [] };
  if (reason === undefined) return next;
  const text = `The agent’s process ended by itself: ${reason}. A message starts it again.`;
  return remark(next, { kind: 'notice', tone: 'error', text });
}

function remark(view: View, entry: WithoutPlace<Remark>): View {
  const after = view.items.findLast((item) => item.kind === 'message')?.id;
  const item = { ...entry, id: `local-${view.serial}`, after } as Item;
  return { ...view, serial: view.serial + 1, items: [...view.items, item] };
}

function notice(view: View, event: Event<'ui_request'>): View {
  const tone = event.notify_type === 'error' ? 'error' : event.notify_type === 'warning' ? 'warn' : 'info';
  const text = [event.title, event.message].filter(Boolean).join(': ');
  return remark(view, { kind: 'notice', tone, text });
}

function ask(view: View, open: OpenAsk): View {
  const id = open.request.request_id;
  if (view.asks.some((known) => known.request.request_id === id)) return view;
  return { ...view, asks: [...view.asks, open] };
}

function resolved(
  view: View,
  id: string,
  describe: (open: OpenAsk) => Extract<Item, { kind: 'answer' }>['answer']
): View {
  const open = view.asks.find((known) => known.request.request_id === id);
  if (!open) return view;
  const asks = view.asks.filter((known) => known !== open);
  return remark({ ...view, asks }, { kind: 'answer', answer: describe(open) });
}

function changeAsk(view: View, id: string, change: Partial<OpenAsk>): View {
  const asks = view.asks.map((open) => (open.request.request_id === id ? { ...open, ...change } : open));
  return { ...view, asks };
}

function addUsage(sum: Usage | undefined, call: Usage): Usage {
  const both = (a?: number, b?: number) => (a === undefined ? b : a + (b ?? 0));
  return {
    input: (sum?.input ?? 0) + call.input,
    output: (sum?.output ?? 0) + call.output,
    cache_read: both(sum?.cache_read, call.cache_read),
    cache_write: both(sum?.cache_write, call.cache_write),
    cost: both(sum?.cost, call.cost),
    context_tokens: call.context_tokens ?? sum?.context_tokens,
    model: call.model ?? sum?.model
  };
}
