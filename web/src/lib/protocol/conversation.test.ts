import { describe, expect, it, vi } from 'vitest';
import { CommandFailed } from './commands';
import type { Connection, Incoming } from './connection.svelte';
import { Conversation } from './conversation.svelte';

type Sent = Record<string, unknown> & { type: string };

/** A connection that answers each command with what the table says, an error by throwing it. */
function fake(answers: Record<string, (command: Sent, nth: number) => unknown>) {
  const sent: Sent[] = [];
  const answer = async (command: Sent) => {
    const nth = sent.filter((one) => one.type === command.type).length;
    sent.push(command);
    return answers[command.type]?.(command, nth) ?? {};
  };
  const connection = {
    request: answer,
    start: async (command: Sent, options: { ready: () => Promise<void>; key: string }) => {
      await options.ready();
      return answer({ ...command, request_key: options.key });
    }
  };
  return { conversation: new Conversation(connection as unknown as Connection, 'agent-1'), sent };
}

const status = (name: 'idle' | 'streaming'): Incoming => ({ type: 'status', status: name });

describe('a message', () => {
  it('to an idle agent is a plain prompt, after the attachment', async () => {
    const { conversation, sent } = fake({});
    await conversation.send('hi', 'follow_up');
    expect(sent.map((command) => command.type)).toEqual(['agent.attach', 'prompt']);
    expect(sent[1]).not.toHaveProperty('streaming_behavior');
    expect(conversation.outgoing).toEqual([]);
  });

  it('while a turn runs says how it is meant', async () => {
    const { conversation, sent } = fake({});
    conversation.receive(status('streaming'));
    await conversation.send('and the docs', 'steer');
    expect(sent[1]).toMatchObject({ type: 'prompt', streaming_behavior: 'steer' });
  });

  it('that comes just too late for an idle agent follows the turn instead', async () => {
    const { conversation, sent } = fake({
      prompt: (_, nth) => {
        if (nth > 0) return {};
        conversation.receive(status('streaming'));
        throw new CommandFailed('CONFLICT', 'a turn runs');
      }
    });
    await conversation.send('hi', 'follow_up');
    expect(sent[2]).toMatchObject({ type: 'prompt', streaming_behavior: 'follow_up' });
    expect(sent[2]!['request_key']).not.toBe(sent[1]!['request_key']);
  });

  it('that is refused is an error, and no longer under way', async () => {
    const { conversation } = fake({
      prompt: () => {
        throw new CommandFailed('INVALID_REQUEST', 'this model takes no pictures');
      }
    });
    await expect(conversation.send('hi', 'follow_up')).rejects.toThrow('no pictures');
    expect(conversation.outgoing).toEqual([]);
  });
});

it('a connection that was let go of attaches again', async () => {
  const { conversation, sent } = fake({
    prompt: (_, nth) => {
      if (nth === 0) throw new CommandFailed('NOT_ATTACHED', 'attach first');
      return {};
    }
  });
  await conversation.send('hi', 'follow_up');
  expect(sent.map((command) => command.type)).toEqual(['agent.attach', 'prompt', 'agent.attach', 'prompt']);
  expect(sent[3]!['request_key']).toBe(sent[1]!['request_key']);
});

it('stopping gives back what waited', async () => {
  const { conversation } = fake({ abort: () => ({ cleared: [{ kind: 'follow_up', message: 'later' }] }) });
  expect(await conversation.abort()).toEqual(['later']);
});

it('an agent that cannot be attached says why, and can be tried again', async () => {
  const { conversation } = fake({
    'agent.attach': (_, nth) => {
      if (nth === 0) throw new CommandFailed('RUNTIME_START_FAILED', 'the process did not start');
      return {};
    }
  });
  await expect(conversation.attach()).rejects.toThrow();
  expect(conversation.failure).toBe('the process did not start');
  await conversation.attach();
  expect(conversation.failure).toBeUndefined();
});

it('a stream is shown at the pace of drawing, and its end at once', () => {
  vi.useFakeTimers();
  const { conversation } = fake({});
  const delta: Incoming = {
    type: 'message_delta',
    message_id: 'm',
    block_index: 0,
    kind: 'text',
    text_delta: 'x'
  };
  conversation.receive(delta);
  expect(conversation.view.items).toHaveLength(0);
  vi.advanceTimersByTime(40);
  expect(conversation.view.items).toHaveLength(1);
  conversation.receive(delta);
  conversation.receive(status('idle'));
  const item = conversation.view.items[0];
  expect(item?.kind === 'message' && item.message.content).toEqual([{ type: 'text', text: 'xx' }]);
  vi.useRealTimers();
});
