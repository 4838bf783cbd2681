import { expect, it } from 'vitest';
import { reduce } from '$lib/protocol/reduce';
import { turn } from '$lib/protocol/fixtures/turn';
import type { AgentEvent, Message } from '$lib/protocol/types';
import { emptyView, type View } from '$lib/protocol/view';
import { Rows } from './rows';

const play = (events: AgentEvent[], view: View = emptyView()) =>
  events.reduce((known, event) => reduce(known, event, 0), view);

it('a turn is drawn in the order in which it happened', () => {
  const kinds = new Rows().of(play(turn)).map((row) => row.kind);
  expect(kinds).toEqual(['user', 'thinking', 'text', 'tool', 'tool', 'remark', 'user', 'text']);
});

it('three reads in a row become one line, also across messages', () => {
  const message = (id: string, call: string): Message => ({
    id,
    role: 'assistant',
    content: [{ type: 'tool_call', id: call, name: 'read', args: {} }]
  });
  const events = ['a', 'b', 'c'].flatMap((call): AgentEvent[] => [
    { type: 'message_complete', message_id: `m${call}`, message: message(`m${call}`, call) },
    { type: 'tool_result', tool_call_id: call, content: { kind: 'text', text: '' }, is_error: false }
  ]);
  const view = play(events);
  expect(new Rows().of(view)).toMatchObject([{ kind: 'reads', calls: ['a', 'b', 'c'] }]);
  expect(new Rows().of(play(events.slice(0, 4)))).toHaveLength(2);
});

it('a message that did not change gives the same rows', () => {
  const rows = new Rows();
  const view = play(turn);
  const before = rows.of(view);
  const after = rows.of(reduce(view, { type: 'status', status: 'error' }, 0));
  expect(after[0]).toBe(before[0]);
});

it('a message that broke off says so once its turn is over', () => {
  const cut: AgentEvent[] = [
    { type: 'turn_start', turn_id: 't' },
    { type: 'status', status: 'streaming' },
    { type: 'message_delta', message_id: 'm', block_index: 0, kind: 'text', text_delta: 'Half a' }
  ];
  const view = play(cut);
  expect(new Rows().of(view)).toMatchObject([{ kind: 'text', live: true }]);
  const after = play(
    [
      { type: 'turn_end', turn_id: 't', reason: 'aborted' },
      { type: 'status', status: 'idle' }
    ],
    view
  );
  expect(new Rows().of(after).map((row) => row.kind)).toEqual(['text', 'broken-off', 'remark']);
});
