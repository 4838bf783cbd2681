import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { backoff, sameMajor } from './backoff';
import { Connection } from './connection.svelte';
import { Enrollment } from './enrollment';

class FakeSocket {
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  readonly sent: Record<string, unknown>[] = [];
  closed = false;

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }

  close(): void {
    this.closed = true;
  }

  say(message: unknown): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  hello(version = '0.1.0'): void {
    this.say({ type: 'hello', protocol_version: version, server_version: '1', capabilities: [] });
  }

  answer(at: number, data: unknown): void {
    const { id, type } = this.sent[at]!;
    this.say({ type: 'response', id, command: type, success: true, data });
  }

  lose(code = 1006): void {
    this.onclose?.({ code });
  }
}

function world(status = 200) {
  const sockets: FakeSocket[] = [];
  const store = new Map([['shard.client_secret', 's']]);
  const answer = () => new Response(JSON.stringify({ ticket: 't' }), { status });
  const enrollment = new Enrollment(() => Promise.resolve(answer()), {
    getItem: (key) => store.get(key) ?? null,
    setItem: (key, value) => void store.set(key, value),
    removeItem: (key) => void store.delete(key)
  });
  const connection = new Connection({
    enrollment,
    online: () => true,
    open: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket as unknown as WebSocket;
    }
  });
  return { connection, sockets };
}

const settled = () => vi.advanceTimersByTimeAsync(0);

async function connected() {
  const { connection, sockets } = world();
  connection.connect();
  await settled();
  sockets[0]!.hello();
  return { connection, sockets };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a connection', () => {
  it('is there once the daemon said hello, and pairs answers with commands', async () => {
    const { connection, sockets } = await connected();
    expect(connection.state.kind).toBe('connected');
    const one = connection.request<'agent.list'>({ type: 'agent.list' });
    const two = connection.request<'agent.list'>({ type: 'agent.list' });
    sockets[0]!.answer(1, { agents: ['two'] });
    sockets[0]!.answer(0, { agents: ['one'] });
    expect(await one).toEqual({ agents: ['one'] });
    expect(await two).toEqual({ agents: ['two'] });
  });

  it('sends nothing to a daemon of another major version', async () => {
    const { connection, sockets } = world();
    connection.connect();
    await settled();
    sockets[0]!.hello('1.0.0');
    expect(connection.state).toEqual({ kind: 'outdated', theirs: '1.0.0' });
    sockets[0]!.lose();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sockets).toHaveLength(1);
    expect(sockets[0]!.sent).toEqual([]);
  });

  it('asks to be set up again when the daemon does not know this browser', async () => {
    const { connection, sockets } = world(401);
    connection.connect();
    await settled();
    expect(connection.state.kind).toBe('signed-out');
    expect(sockets).toHaveLength(0);
  });

  it('comes back after a loss, at once when nudged', async () => {
    const { connection, sockets } = await connected();
    sockets[0]!.lose();
    expect(connection.state).toMatchObject({ kind: 'waiting' });
    await vi.advanceTimersByTimeAsync(1000);
    expect(sockets).toHaveLength(2);
    sockets[1]!.lose();
    connection.nudge();
    await settled();
    expect(sockets).toHaveLength(3);
  });

  it('that is dead without having been closed is noticed when the page comes into view', async () => {
    const { connection, sockets } = await connected();
    connection.nudge();
    await vi.advanceTimersByTimeAsync(5000);
    expect(connection.state).toMatchObject({ kind: 'waiting' });
    expect(sockets[0]!.closed).toBe(true);
  });

  it('gives up waiting for an answer that does not come', async () => {
    const { connection } = await connected();
    const lost = connection.request<'agent.list'>({ type: 'agent.list' }, 2000).catch((e: Error) => e.name);
    await vi.advanceTimersByTimeAsync(2000);
    expect(await lost).toBe('NoAnswer');
  });
});

describe('a command that starts something', () => {
  it('is sent again with the same key after the connection was lost', async () => {
    const { connection, sockets } = await connected();
    const made = connection.start<'agent.create'>({ type: 'agent.create', cwd: '/x' });
    await settled();
    sockets[0]!.lose();
    await vi.advanceTimersByTimeAsync(1000);
    sockets[1]!.hello();
    await settled();
    const [first, second] = [sockets[0]!.sent[0]!, sockets[1]!.sent[0]!];
    expect(second['request_key']).toBe(first['request_key']);
    expect(first['request_key']).toMatch(/^[0-9a-f]{32}$/);
    sockets[1]!.answer(0, { agent_id: 'agent-1' });
    expect(await made).toEqual({ agent_id: 'agent-1' });
  });

  it('is not sent at all if it fits into no message, in bytes', async () => {
    const { connection, sockets } = await connected();
    for (const message of ['x'.repeat(17 * 2 ** 20), 'é'.repeat(9 * 2 ** 20)]) {
      const sent = connection.start<'prompt'>({ type: 'prompt', agent_id: 'agent-1', message });
      await expect(sent).rejects.toThrow('16 MB');
    }
    expect(sockets[0]!.sent).toEqual([]);
    void connection.start<'prompt'>({
      type: 'prompt',
      agent_id: 'agent-1',
      message: 'é'.repeat(7 * 2 ** 20)
    });
    await settled();
    expect(sockets[0]!.sent).toHaveLength(1);
  });

  it('gets ready anew before each attempt', async () => {
    const { connection, sockets } = await connected();
    const ready = vi.fn(() => Promise.resolve());
    void connection.start<'prompt'>({ type: 'prompt', message: 'x', agent_id: 'a' }, { ready });
    await settled();
    sockets[0]!.lose();
    await vi.advanceTimersByTimeAsync(1000);
    sockets[1]!.hello();
    await settled();
    expect(ready).toHaveBeenCalledTimes(2);
  });
});

it('waits 1, 2, 4 … at most 30 s', () => {
  expect([0, 1, 2, 10].map((attempt) => backoff(attempt, () => 1))).toEqual([1000, 2000, 4000, 30_000]);
  expect(backoff(2, () => 0)).toBe(3000);
});

it('versions of one major fit', () => {
  expect(sameMajor('0.1.0', '0.9.3')).toBe(true);
  expect(sameMajor('0.1.0', '1.0.0')).toBe(false);
});
