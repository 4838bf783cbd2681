/** Puts connection, fleet and open conversations together; made once, handed on by context. */
import { getContext, setContext } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';
import { Connection, type Incoming } from './connection.svelte';
import { Conversation } from './conversation.svelte';
import { Enrollment } from './enrollment';
import { Fleet } from './fleet.svelte';

type SyncEvent = Extract<Incoming, { type: 'sync' }>;

export class Client {
  readonly enrollment: Enrollment;
  readonly connection: Connection;
  readonly fleet: Fleet;
  readonly #open = new SvelteMap<string, Conversation>();
  /** Conversations that were not opened but have something to ask: children of an open one. */
  readonly #delegated = new SvelteMap<string, Conversation>();

  constructor(enrollment: Enrollment, connection: Connection) {
    this.enrollment = enrollment;
    this.connection = connection;
    this.fleet = new Fleet(connection);
    connection.listen({
      connected: () => {
        for (const open of this.#open.values()) open.attach().catch(() => {});
      },
      lost: () => {
        for (const open of this.#open.values()) open.lost();
        this.#delegated.clear();
      },
      message: (message) => this.#route(message)
    });
  }

  /** The conversation with an agent, attached until `close`. */
  open(agentId: string): Conversation {
    let conversation = this.#open.get(agentId);
    if (!conversation) {
      conversation = new Conversation(this.connection, agentId);
      this.#open.set(agentId, conversation);
      this.#delegated.delete(agentId);
    }
    if (this.connection.isConnected) conversation.attach().catch(() => {});
    return conversation;
  }

  close(agentId: string): void {
    this.#open.get(agentId)?.detach();
    this.#open.delete(agentId);
  }

  /** Conversations below this agent that ask something and are not open themselves. */
  askingChildren(agentId: string): Conversation[] {
    return [...this.#delegated.values()].filter(
      (child) => child.view.asks.length > 0 && this.#descends(child.agentId, agentId)
    );
  }

  #route(message: Incoming): void {
    const id = message.agent_id;
    if (id === undefined) return;
    const open = this.#open.get(id);
    if (open) {
      if (message.type === 'agent_exited') open.receive({ type: 'local.ended', reason: message.reason });
      if (message.type === 'agent_status_changed' && message.runtime_state === 'stopped') {
        open.receive({ type: 'local.ended' });
      }
      open.receive(message.type === 'sync' ? this.#splitAsks(message, id) : message);
      return;
    }
    const asks = message.type === 'permission_request' || message.type === 'ui_request';
    const resolves = message.type === 'permission_resolved' || message.type === 'ui_resolved';
    if (!asks && !resolves) return;
    let child = this.#delegated.get(id);
    if (!child && asks) {
      child = new Conversation(this.connection, id);
      this.#delegated.set(id, child);
    }
    if (!child) return;
    child.receive(message);
    if (child.view.asks.length === 0) this.#delegated.delete(id);
  }

  /** A sync may bring questions of children; they are answered under the child's own id. */
  #splitAsks(sync: SyncEvent, agentId: string): SyncEvent {
    const own = sync.pending_requests.filter((request) => {
      if (request.agent_id === undefined || request.agent_id === agentId) return true;
      this.#route({ ...request, agent_id: request.agent_id });
      return false;
    });
    return { ...sync, pending_requests: own };
  }

  #descends(child: string, ancestor: string): boolean {
    let id: string | undefined = child;
    // Bounded, in case a broken registry has a ring.
    for (let step = 0; id !== undefined && step < 32; step++) {
      id = this.fleet.get(id)?.info.parent_agent_id;
      if (id === ancestor) return true;
    }
    return false;
  }
}

/** A client for this page's own daemon. */
export function createClient(): Client {
  const enrollment = new Enrollment((...args) => fetch(...args), localStorage);
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  const connection = new Connection({
    enrollment,
    open: (ticket) => new WebSocket(`${scheme}://${location.host}/ws`, ['shard.v0', `ticket.${ticket}`]),
    online: () => navigator.onLine
  });
  return new Client(enrollment, connection);
}

const KEY = Symbol('shard client');

export function provideClient(client: Client): Client {
  return setContext(KEY, client);
}

export function useClient(): Client {
  return getContext<Client>(KEY);
}
