/** A `sync` replaces what was known; a page of older messages goes before it. */
import { foldCalls, toItems } from './messages';
import type { Message, Sync } from './types';
import type { Call, Item, OpenAsk, Remark, View } from './view';

export function applySync(view: View, sync: Sync): View {
  const messages = sync.live_window.messages;
  // Another process: nothing of the old one's says anything about this one.
  const sameRuntime = view.loaded && view.epoch === sync.runtime_epoch;
  let items = toItems(messages);
  const older = sameRuntime ? olderItems(view.items, items) : [];
  items = sameRuntime ? withRemarks(items, remarksOf(view.items)) : items;
  let calls: Record<string, Call> = sameRuntime ? keptCalls(view.calls) : {};
  for (const message of messages) calls = foldCalls(calls, message);
  const reachesBack = older.length > 0;
  return {
    loaded: true,
    status: sync.status,
    mode: sync.mode,
    capabilities: sync.capabilities ?? [],
    epoch: sync.runtime_epoch,
    model: sync.model ?? (sameRuntime ? view.model : undefined),
    effort: sameRuntime && view.model?.id === sync.model?.id ? view.effort : undefined,
    usage: sync.usage ?? (sameRuntime ? view.usage : undefined),
    items: [...older, ...items],
    calls,
    asks: openAsks(sync, view.asks),
    queue: sync.queue ?? [],
    hasMore: reachesBack ? view.hasMore : (sync.live_window.has_more ?? false),
    oldest: reachesBack ? view.oldest : messages[0]?.id,
    serial: view.serial
  };
}

/** Puts a page of older messages before all that is there. */
export function prependPage(view: View, messages: Message[], hasMore: boolean): View {
  const known = new Set(view.items.map((item) => item.id));
  const older = toItems(messages).filter((item) => !known.has(item.id));
  let calls: Record<string, Call> = {};
  for (const message of messages) calls = foldCalls(calls, message);
  for (const [id, call] of Object.entries(view.calls)) {
    // A result and its call may stand on two pages.
    const page = calls[id];
    calls[id] = page ? { ...page, ...call, name: page.name, args: page.args } : call;
  }
  return {
    ...view,
    items: [...older, ...view.items],
    calls,
    hasMore: hasMore && messages.length > 0,
    oldest: messages[0]?.id ?? view.oldest
  };
}

/** Stored messages never change, so pages that were loaded stay good where the window joins them. */
function olderItems(known: Item[], window: Item[]): Item[] {
  const first = window[0];
  if (!first) return [];
  const at = known.findIndex((item) => item.kind === 'message' && item.id === first.id);
  return at > 0 ? known.slice(0, at) : [];
}

function remarksOf(items: Item[]): Remark[] {
  return items.filter((item): item is Remark => item.kind !== 'message');
}

/** Puts this client's own entries back behind the messages that they followed. */
function withRemarks(items: Item[], remarks: Remark[]): Item[] {
  if (remarks.length === 0) return items;
  return items.flatMap((item) => [item, ...remarks.filter((remark) => remark.after === item.id)]);
}

/** Text that the window brings again must not be there twice. */
function keptCalls(calls: Record<string, Call>): Record<string, Call> {
  const kept = Object.entries(calls).map(([id, call]) => [id, { ...call, argsText: '' }] as const);
  return Object.fromEntries(kept);
}

function openAsks(sync: Sync, known: OpenAsk[]): OpenAsk[] {
  return sync.pending_requests
    .filter((request) => !(request.type === 'ui_request' && request.kind === 'notify'))
    .map((request) => {
      const before = known.find((ask) => ask.request.request_id === request.request_id);
      // An answer that was on its way may be lost: it can be given again, a late one does no harm.
      return { request, sending: false, failure: before?.failure };
    });
}
