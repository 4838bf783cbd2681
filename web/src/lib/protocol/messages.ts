/** Folds whole messages into items and calls; shared by live events, syncs and pages. */
import type { ContentBlock, Message } from './types';
import type { Call, CallResult, Item } from './view';

type ResultBlock = Extract<ContentBlock, { type: 'tool_result' }>;
type ImageBlock = Extract<ContentBlock, { type: 'image' }>;

export function newCall(id: string, name: string): Call {
  return { id, name, args: {}, argsText: '', started: false, progress: '' };
}

function resultOf(block: ResultBlock, images: ImageBlock[]): CallResult {
  return {
    content: block.content,
    isError: block.is_error ?? false,
    exitCode: block.exit_code,
    durationMs: block.duration_ms,
    render: block.render,
    images
  };
}

/** A finished call keeps what stays true; its live output made room for the result. */
export function withResult(call: Call, result: CallResult): Call {
  return { ...call, result, progress: '', argsText: '', startedAt: undefined };
}

/** The calls with all that a message says of them. Returns the same object if it says nothing. */
export function foldCalls(calls: Record<string, Call>, message: Message): Record<string, Call> {
  let next = calls;
  for (const [at, block] of message.content.entries()) {
    if (block.type === 'tool_call') {
      const known = next[block.id] ?? newCall(block.id, block.name);
      const argsText = message.partial ? known.argsText : '';
      next = { ...next, [block.id]: { ...known, name: block.name, args: block.args, argsText } };
    } else if (block.type === 'tool_result') {
      const id = block.tool_call_id;
      next = {
        ...next,
        [id]: withResult(next[id] ?? newCall(id, 'tool'), resultOf(block, imagesAfter(message, at)))
      };
    }
  }
  return next;
}

/** The pictures of a result stand right behind it. */
function imagesAfter(message: Message, at: number): ImageBlock[] {
  const after = message.content.slice(at + 1);
  const end = after.findIndex((block) => block.type !== 'image');
  return (end < 0 ? after : after.slice(0, end)).filter((block) => block.type === 'image');
}

/** Whether a message shows in the transcript: results are drawn with their calls instead. */
export function isShown(message: Message): boolean {
  return message.role === 'assistant' || message.content[0]?.type !== 'tool_result';
}

export function toItems(messages: Message[]): Item[] {
  return messages.filter(isShown).map((message): Item => ({ kind: 'message', id: message.id, message }));
}

/** Where a message stands; looked for from the end, where it nearly always is. */
export function indexOfMessage(items: Item[], id: string): number {
  return items.findLastIndex((item) => item.kind === 'message' && item.id === id);
}
