import { describe, expect, it } from 'vitest';
import { FakeRuntime } from './fixtures/runtime';
import { turn } from './fixtures/turn';
import { reduce } from './reduce';
import type { AgentEvent, Message } from './types';
import { emptyView, isReadOnly, type View } from './view';

const NOW = 1_700_000_000_000;

function play(view: View, events: AgentEvent[], runtime?: FakeRuntime): View {
  for (const event of events) {
    runtime?.emit(event);
    view = reduce(view, event, NOW);
  }
  return view;
}

/** What a person sees of it, without what no `sync` brings back. */
function seen(view: View): unknown {
  const { items, calls, serial: _, epoch: _epoch, oldest: _oldest, ...rest } = view;
  return {
    ...rest,
    turn: undefined,
    messages: items.filter((item) => item.kind === 'message').map((item) => item.message),
    calls: Object.values(calls).map((call) => ({
      id: call.id,
      name: call.name,
      args: call.args,
      readOnly: isReadOnly(call),
      result: call.result
    }))
  };
}

const rows: Message[] = [
  { id: 'msg-a', role: 'user', content: [{ type: 'text', text: 'Hello' }] },
  { id: 'msg-b', role: 'assistant', content: [{ type: 'text', text: 'Hi.' }] }
];

function whole(): { view: View; runtime: FakeRuntime } {
  const runtime = new FakeRuntime(rows);
  const view = play(reduce(emptyView(), runtime.sync(), NOW), turn, runtime);
  return { view, runtime };
}

describe('a stream that is cut', () => {
  const uncut = seen(whole().view);

  it.each(turn.map((event, at) => [at, event.type]))(
    'after event %i (%s) goes on without a hole or a duplicate',
    (at) => {
      const runtime = new FakeRuntime(rows);
      const before = play(reduce(emptyView(), runtime.sync(), NOW), turn.slice(0, at), runtime);
      // What a page that stayed open does, and what one that was reloaded does.
      for (const known of [before, emptyView()]) {
        const copy = runtime.sync();
        const after = play(reduce(known, copy, NOW), turn.slice(at));
        expect(seen(after)).toEqual(uncut);
      }
    }
  );

  it('brings nothing twice when the sync comes in the middle and all is known already', () => {
    const { view, runtime } = whole();
    expect(seen(reduce(view, runtime.sync(), NOW))).toEqual(uncut);
  });
});

describe('a sync', () => {
  it('keeps older pages that its window joins', () => {
    const { view, runtime } = whole();
    const again = reduce(view, runtime.sync(0, 2), NOW);
    expect(again.items[0]?.id).toBe('msg-a');
    expect(again.hasMore).toBe(false);
  });

  it('of another process forgets everything before it', () => {
    const { runtime } = whole();
    const view = whole().view;
    const fresh = reduce({ ...view, hasMore: false }, runtime.sync(1, 2), NOW);
    expect(fresh.items.map((item) => item.id)).toEqual(['msg-3', 'msg-4']);
    expect(fresh.hasMore).toBe(true);
    expect(fresh.epoch).toBe(1);
  });

  it('keeps errors where they happened', () => {
    const { view, runtime } = whole();
    const failed = reduce(view, { type: 'error', code: 'PROVIDER_ERROR', message: 'no route' }, NOW);
    const again = reduce(failed, runtime.sync(), NOW);
    expect(again.items.at(-1)).toMatchObject({ kind: 'notice', text: 'no route', after: 'msg-4' });
  });
});

describe('what people change', () => {
  it('is a remark, and a warning where something is broken', () => {
    const { view } = whole();
    const changed = reduce(view, { type: 'resources_changed', changed: ['/w/AGENTS.md'] }, NOW);
    expect(changed.items.at(-1)).toMatchObject({
      kind: 'notice',
      tone: 'info',
      text: 'Changed: /w/AGENTS.md'
    });
    const broken = reduce(
      view,
      { type: 'resources_changed', changed: [], diagnostics: ['config.json: broken'] },
      NOW
    );
    expect(broken.items.at(-1)).toMatchObject({ kind: 'notice', tone: 'warn', text: 'config.json: broken' });
  });
});

describe('questions', () => {
  const upTo = turn.findIndex((event) => event.type === 'permission_request') + 1;

  it('fold into who answered', () => {
    let view = play(emptyView(), turn.slice(0, upTo));
    expect(view.asks).toHaveLength(1);
    view = play(view, turn.slice(upTo, upTo + 2));
    expect(view.asks).toHaveLength(0);
    expect(view.items.at(-1)).toMatchObject({
      kind: 'answer',
      answer: { about: 'bash cargo test', outcome: 'allowed', by: 'terminal', at: NOW }
    });
  });

  it('stay open when an answer was refused, and say why', () => {
    let view = play(emptyView(), turn.slice(0, upTo));
    view = reduce(view, { type: 'local.answering', request_id: 'req-1' }, NOW);
    expect(view.asks[0]?.sending).toBe(true);
    view = reduce(view, { type: 'local.answer_failed', request_id: 'req-1', failure: 'no' }, NOW);
    expect(view.asks[0]).toMatchObject({ sending: false, failure: 'no' });
  });
});

describe('older messages', () => {
  it('go before the rest, with results that belong to calls of an earlier page', () => {
    const result: Message = {
      id: 'row-x',
      role: 'user',
      content: [{ type: 'tool_result', tool_call_id: 'x', content: { kind: 'text', text: 'done' } }]
    };
    const call: Message = {
      id: 'msg-0',
      role: 'assistant',
      content: [{ type: 'tool_call', id: 'x', name: 'write', args: { path: 'a' } }]
    };
    const runtime = new FakeRuntime([call, result, ...rows]);
    let view = reduce(emptyView(), runtime.sync(0, 3), NOW);
    expect(view.oldest).toBe('row-x');
    view = reduce(view, { type: 'local.older', messages: [call], has_more: false }, NOW);
    expect(view.items.map((item) => item.id)).toEqual(['msg-0', 'msg-a', 'msg-b']);
    expect(view.calls['x']).toMatchObject({ name: 'write', result: { isError: false } });
    expect(view.hasMore).toBe(false);
  });
});

describe('the pictures of a result', () => {
  const image = { type: 'image', mime_type: 'image/png', data: '', omitted: true } as const;
  const row: Message = {
    id: 'row-x',
    role: 'user',
    content: [
      { type: 'tool_result', tool_call_id: 'x', content: { kind: 'text', text: 'a.png' } },
      image,
      { type: 'tool_result', tool_call_id: 'y', content: { kind: 'text', text: 'b' } }
    ]
  };

  it('belong to its call and are no message', () => {
    const view = reduce(emptyView(), { type: 'message_complete', message_id: row.id, message: row }, NOW);
    expect(view.items).toEqual([]);
    expect(view.calls['x']?.result?.images).toEqual([image]);
    expect(view.calls['y']?.result?.images).toEqual([]);
  });
});

it('a process that ends leaves nothing running and nothing to answer', () => {
  const upTo = turn.findIndex((event) => event.type === 'permission_request') + 1;
  const view = play(emptyView(), turn.slice(0, upTo));
  expect(reduce(view, { type: 'local.ended' }, NOW)).toMatchObject({ status: 'idle', asks: [] });
  const killed = reduce(view, { type: 'local.ended', reason: 'signal 9' }, NOW);
  expect(killed.status).toBe('error');
  expect(killed.items.at(-1)).toMatchObject({ kind: 'notice', tone: 'error' });
});

it('an event of a later build changes nothing', () => {
  const { view } = whole();
  expect(reduce(view, { type: 'telepathy' } as unknown as AgentEvent, NOW)).toBe(view);
});
