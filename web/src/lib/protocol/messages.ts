/** Folds whole messages into items and calls; shared by live events, syncs and pages. */
import type { ContentBlock, Message } from './types';
import type { Call, CallResult, Item } from './view';

type ResultBlock = Extract<ContentBlock, { type: 'tool_result' }>;

export function newCall(id: string, name: string): Call {
  return { id, name, args: {}, argsText: '', started: false, progress: '' };
}

function resultOf(block: ResultBlock): CallResult {
  return {
    content: block.content,
    isError: block.is_error ?? false,
    exitCode: block.exit_code,
    durationMs: block.duration_ms,
    render: block.render
  };
}

/** A finished call keeps what stays true; its live output made room for the result. */
export function withResult(call: Call, result: CallResult): Call {
  return { ...call, result, progress: '', argsText: '', startedAt: undefined };
}

/** The calls with all that a message says of them. Returns the same object if it says nothing. */
export function foldCalls(calls: Record<string, Call>, message: Message): Record<string, Call> {
  let next = calls;
  for (const block of message.content) {
    if (block.type === 'tool_call') {
      const known = next[block.id] ?? newCall(block.id, block.name);
      const argsText = message.partial ? known.argsText : '';
      next = { ...next, [block.id]: { ...known, name: block.name, args: block.args, argsText } };
    } else if (block.type === 'tool_result') {
      const id = block.tool_call_id;
      next = { ...next, [id]: withResult(next[id] ?? newCall(id, 'tool'), resultOf(block)) };
    }
  }
  return next;
}

/** Whether a message shows in the transcript: results are drawn with their calls instead. */
export function isShown(message: Message): boolean {
  if (message.role === 'assistant') return true;
  return message.content.some((block) => block.type !== 'tool_result');
}

export function toItems(messages: Message[]): Item[] {
  return messages.filter(isShown).map((message): Item => ({ kind: 'message', id: message.id, message }));
}

/** Where a message stands; looked for from the end, where it nearly always is. */
export function indexOfMessage(items: Item[], id: string): number {
  return items.findLastIndex((item) => item.kind === 'message' && item.id === id);
}
