/**
 * Owns the one WebSocket: tickets, versions, pairing of answers, coming back after a loss.
 *
 * Knows nothing of agents. Every message that is no answer goes to the listeners, and each new
 * connection is announced to them first, so that they can attach again.
 */
import { backoff, sameMajor } from './backoff';
import {
  CommandFailed,
  ConnectionLost,
  NoAnswer,
  TooLarge,
  newKey,
  type CommandOf,
  type CommandType,
  type DataOf
} from './commands';
import { Enrollment, Refused } from './enrollment';
import type { AgentEvent, DaemonEvent, Response as Answer } from './types';

export const PROTOCOL_VERSION = '0.1.0';

const ANSWER_WITHIN = 30_000;
/** A daemon that accepts and then says nothing is as good as none. */
const HELLO_WITHIN = 10_000;
const PROBE_WITHIN = 5_000;
/** In bytes; what is larger ends the connection. */
const LARGEST_MESSAGE = 16 * 1024 * 1024;

export type ConnectionState =
  | { kind: 'connecting' }
  | { kind: 'connected' }
  | { kind: 'waiting'; until: number; reason: string }
  | { kind: 'offline' }
  | { kind: 'signed-out' }
  | { kind: 'outdated'; theirs: string };

export type Incoming = (AgentEvent | DaemonEvent) & { agent_id?: string };

export interface Listener {
  connected?(): void;
  lost?(): void;
  message?(message: Incoming): void;
}

/** What the connection uses of its surroundings; tests give their own. */
export interface Surroundings {
  enrollment: Enrollment;
  open(ticket: string): WebSocket;
  online(): boolean;
}

interface Pending {
  resolve(data: unknown): void;
  reject(error: Error): void;
  timer: ReturnType<typeof setTimeout>;
}

export class Connection {
  #state = $state.raw<ConnectionState>({ kind: 'connecting' });
  readonly #around: Surroundings;
  readonly #listeners = new Set<Listener>();
  readonly #pending = new Map<string, Pending>();
  readonly #waiters = new Set<() => void>();
  #socket?: WebSocket;
  #retry?: ReturnType<typeof setTimeout>;
  #attempt = 0;
  #lastId = 0;
  /** Counts attempts, so that a late answer of an earlier one is told apart. */
  #generation = 0;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get isConnected(): boolean {
    return this.#state.kind === 'connected';
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Connects now, whatever it was waiting for. Does nothing while connected or outdated. */
  connect(): void {
    if (this.#state.kind === 'connected' || this.#state.kind === 'outdated') return;
    clearTimeout(this.#retry);
    void this.#open(++this.#generation);
  }

  close(): void {
    this.#generation++;
    clearTimeout(this.#retry);
    this.#drop();
    this.#state = { kind: 'signed-out' };
  }

  /** The network came back, or the page into view. */
  nudge(): void {
    const kind = this.#state.kind;
    if (kind === 'connected') void this.#probe(this.#generation);
    if (kind === 'waiting' || kind === 'offline') {
      this.#attempt = 0;
      this.connect();
    }
  }

  /** Sends a command and gives the data of its answer. */
  request<T extends CommandType>(command: CommandOf<T>, within = ANSWER_WITHIN): Promise<DataOf<T>> {
    const socket = this.#socket;
    if (!this.isConnected || !socket) return Promise.reject(new ConnectionLost());
    const id = String(++this.#lastId);
    const text = JSON.stringify({ ...command, id });
    if (!fits(text)) return Promise.reject(new TooLarge());
    return new Promise<DataOf<T>>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        reject(new NoAnswer(command.type, within / 1000));
      }, within);
      this.#pending.set(id, { resolve: (data) => resolve(data as DataOf<T>), reject, timer });
      socket.send(text);
    });
  }

  /**
   * Sends a command that starts something. It carries a key, and after a lost connection it is sent
   * again with the same one, so that it happens once. `ready` runs before each attempt.
   */
  async start<T extends CommandType>(
    command: CommandOf<T>,
    options: { ready?: () => Promise<unknown>; within?: number; key?: string } = {}
  ): Promise<DataOf<T>> {
    const keyed = { ...command, request_key: options.key ?? newKey() } as unknown as CommandOf<T>;
    for (;;) {
      await this.#whenConnected();
      try {
        await options.ready?.();
        return await this.request<T>(keyed, options.within);
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
      }
    }
  }

  /** After a sleep a connection may be dead without the browser knowing. */
  async #probe(generation: number): Promise<void> {
    try {
      await this.request<'agent.list'>({ type: 'agent.list' }, PROBE_WITHIN);
    } catch (error) {
      if (!(error instanceof NoAnswer) || generation !== this.#generation || !this.isConnected) return;
      this.#drop();
      this.#again('The daemon did not answer.');
    }
  }

  #whenConnected(): Promise<void> {
    if (this.isConnected) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.add(resolve));
  }

  async #open(generation: number): Promise<void> {
    if (!this.#around.online()) {
      this.#state = { kind: 'offline' };
      return;
    }
    this.#state = { kind: 'connecting' };
    let ticket;
    try {
      ticket = await this.#around.enrollment.ticket();
    } catch (error) {
      if (generation === this.#generation) this.#refused(error);
      return;
    }
    if (generation !== this.#generation) return;
    if (ticket.protocol_version && !sameMajor(PROTOCOL_VERSION, ticket.protocol_version)) {
      this.#state = { kind: 'outdated', theirs: ticket.protocol_version };
      return;
    }
    this.#serve(generation, this.#around.open(ticket.ticket));
  }

  #refused(error: unknown): void {
    if (error instanceof Refused && error.status === 401) {
      this.#state = { kind: 'signed-out' };
      return;
    }
    this.#again(error instanceof Refused ? error.message : 'The daemon does not answer.');
  }

  #serve(generation: number, socket: WebSocket): void {
    this.#socket = socket;
    const silent = setTimeout(() => socket.close(), HELLO_WITHIN);
    socket.onmessage = (event) => {
      if (generation !== this.#generation || typeof event.data !== 'string') return;
      const message = parse(event.data);
      if (message?.type === 'hello') clearTimeout(silent);
      if (message) this.#receive(message);
    };
    socket.onclose = (event) => {
      clearTimeout(silent);
      if (generation !== this.#generation) return;
      const slow = event.code === 4008;
      this.#drop();
      if (this.#state.kind === 'outdated') return;
      this.#again(slow ? 'This page was too slow to follow.' : 'The connection was lost.');
    };
  }

  #receive(message: Incoming | (Answer & { type: 'response' })): void {
    if (message.type === 'response') {
      this.#answer(message);
      return;
    }
    // The daemon's own hello; those of runtimes carry an agent.
    if (message.type === 'hello' && message.agent_id === undefined) {
      if (!sameMajor(PROTOCOL_VERSION, message.protocol_version)) {
        this.#state = { kind: 'outdated', theirs: message.protocol_version };
        this.#socket?.close();
        return;
      }
      this.#attempt = 0;
      this.#state = { kind: 'connected' };
      for (const listener of this.#listeners) listener.connected?.();
      for (const resolve of this.#waiters) resolve();
      this.#waiters.clear();
      return;
    }
    for (const listener of this.#listeners) listener.message?.(message);
  }

  #answer(message: Answer): void {
    const pending = this.#pending.get(message.id);
    if (!pending) return;
    this.#pending.delete(message.id);
    clearTimeout(pending.timer);
    const error = message.error;
    if (message.success) pending.resolve(message.data ?? {});
    else
      pending.reject(
        new CommandFailed(error?.code ?? 'INTERNAL_ERROR', error?.message ?? 'It failed.', error?.data)
      );
  }

  #drop(): void {
    const wasConnected = this.#socket !== undefined && this.isConnected;
    if (this.#socket) {
      this.#socket.onclose = null;
      this.#socket.onmessage = null;
      this.#socket.close();
      this.#socket = undefined;
    }
    if (this.#state.kind === 'connected') this.#state = { kind: 'connecting' };
    for (const pending of this.#pending.values()) {
      clearTimeout(pending.timer);
      pending.reject(new ConnectionLost());
    }
    this.#pending.clear();
    if (wasConnected) for (const listener of this.#listeners) listener.lost?.();
  }

  #again(reason: string): void {
    if (!this.#around.online()) {
      this.#state = { kind: 'offline' };
      return;
    }
    const wait = backoff(this.#attempt++);
    this.#state = { kind: 'waiting', until: Date.now() + wait, reason };
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.connect(), wait);
  }
}

/** A code unit takes three bytes at most, so that only long texts need to be looked at. */
function fits(text: string): boolean {
  if (text.length > LARGEST_MESSAGE) return false;
  return text.length * 3 <= LARGEST_MESSAGE || new TextEncoder().encode(text).length <= LARGEST_MESSAGE;
}

function parse(text: string): (Incoming | (Answer & { type: 'response' })) | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('type' in value)) return undefined;
    return value as Incoming;
  } catch {
    return undefined;
  }
}
