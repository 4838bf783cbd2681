/** All agents of the daemon: listed once a connection, then kept up by events. */
import type { Connection, Incoming } from './connection.svelte';
import { messageOf } from './commands';
import type { AgentInfo, GrantInfo, Phase } from './types';

export interface Activity {
  phase: Phase;
  tool?: string;
  at: number;
}

export interface FleetAgent {
  info: AgentInfo;
  activity?: Activity;
  /** Why it ended, if it did by itself. */
  exit?: string;
}

export type Group = 'needs-you' | 'working' | 'idle';

/** Names change without an event of their own: so soon after a change of status they are asked for. */
const REFRESH_AFTER = 400;

export class Fleet {
  readonly #connection: Connection;
  #agents = $state.raw<Record<string, FleetAgent>>({});
  #loaded = $state(false);
  #failure = $state<string>();
  #refresh?: ReturnType<typeof setTimeout>;
  readonly #all = $derived(Object.values(this.#agents));

  constructor(connection: Connection) {
    this.#connection = connection;
    connection.listen({
      connected: () => void this.load(),
      message: (message) => this.receive(message)
    });
  }

  get agents(): FleetAgent[] {
    return this.#all;
  }

  /** The first list has come. */
  get loaded(): boolean {
    return this.#loaded;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  get waiting(): number {
    return this.#all.filter((agent) => groupOf(agent) === 'needs-you').length;
  }

  get(id: string): FleetAgent | undefined {
    return this.#agents[id];
  }

  async load(): Promise<void> {
    try {
      const { agents } = await this.#connection.request<'agent.list'>({ type: 'agent.list' });
      const known = this.#agents;
      const entries = agents.map((info) => [info.agent_id, { ...known[info.agent_id], info }] as const);
      this.#agents = Object.fromEntries(entries);
      this.#loaded = true;
      this.#failure = undefined;
    } catch (error) {
      this.#failure = messageOf(error);
    }
  }

  receive(event: Incoming): void {
    switch (event.type) {
      case 'agent_spawned':
        this.#put(event.agent_id, () => ({ info: event.info }));
        break;
      case 'agent_exited':
        this.#change(event.agent_id, { runtime_state: event.runtime_state }, { exit: event.reason });
        break;
      case 'agent_status_changed': {
        const runs = event.runtime_state === 'running' || event.runtime_state === 'starting';
        const rest = runs || event.runtime_state === 'stopped' ? { exit: undefined } : {};
        this.#change(
          event.agent_id,
          { status: event.status, runtime_state: event.runtime_state },
          event.status === 'idle' ? { ...rest, activity: undefined } : rest
        );
        this.#refreshSoon();
        break;
      }
      case 'agent_activity':
        this.#change(
          event.agent_id,
          { status: event.status },
          { activity: { phase: event.phase, tool: event.tool_name, at: event.timestamp } }
        );
        break;
      case 'model_changed':
        if (event.agent_id) this.#change(event.agent_id, modelOf(event.active), {});
        break;
    }
  }

  async rename(id: string, name: string): Promise<void> {
    const { agent } = await this.#connection.request<'agent.rename'>({
      type: 'agent.rename',
      agent_id: id,
      name
    });
    this.#put(id, (known) => ({ ...known, info: agent }));
  }

  /** `true`: it stops once its turn has ended. */
  async terminate(id: string): Promise<boolean> {
    const data = await this.#connection.request<'agent.terminate'>({ type: 'agent.terminate', agent_id: id });
    return data.deferred;
  }

  async kill(id: string): Promise<void> {
    await this.#connection.request<'agent.kill'>({ type: 'agent.kill', agent_id: id });
  }

  /** What an agent may do unasked for good. */
  async grants(id: string): Promise<GrantInfo[]> {
    const data = await this.#connection.request<'grants.list'>({ type: 'grants.list', agent_id: id });
    return data.grants;
  }

  async revoke(id: string, grantId: string): Promise<void> {
    await this.#connection.request<'grants.revoke'>({
      type: 'grants.revoke',
      agent_id: id,
      grant_id: grantId
    });
  }

  #refreshSoon(): void {
    this.#refresh ??= setTimeout(() => {
      this.#refresh = undefined;
      if (this.#connection.isConnected) void this.load();
    }, REFRESH_AFTER);
  }

  #change(id: string, info: Partial<AgentInfo>, rest: Partial<FleetAgent>): void {
    const known = this.#agents[id];
    if (!known) {
      this.#refreshSoon();
      return;
    }
    this.#put(id, () => ({ ...known, ...rest, info: { ...known.info, ...info } }));
  }

  #put(id: string, make: (known: FleetAgent | undefined) => FleetAgent): void {
    this.#agents = { ...this.#agents, [id]: make(this.#agents[id]) };
  }
}

function modelOf(active: { provider: string; model: string }): Partial<AgentInfo> {
  return { provider: active.provider, model: active.model };
}

export function groupOf({ info }: FleetAgent): Group {
  if (info.status === 'waiting_for_permission' || info.status === 'waiting_for_ui') return 'needs-you';
  if (isFailed({ info })) return 'needs-you';
  if (info.runtime_state === 'stopped') return 'idle';
  return info.status === 'idle' && info.runtime_state !== 'starting' ? 'idle' : 'working';
}

export function isFailed({ info }: Pick<FleetAgent, 'info'>): boolean {
  return info.runtime_state === 'failed' || info.status === 'error';
}

export function nameOf(info: AgentInfo): string {
  if (info.name) return info.name;
  if (info.display_name ?? info.alias) return (info.display_name ?? info.alias)!;
  return info.cwd.split('/').filter(Boolean).at(-1) ?? info.cwd;
}
