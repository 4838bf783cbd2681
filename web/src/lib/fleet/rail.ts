/** The rail's order: groups by who waits for whom, children under their parents. */
import { groupOf, nameOf, type FleetAgent, type Group } from '$lib/protocol/fleet.svelte';

export interface Entry {
  id: string;
  /** Drawn below its parent, which stands right before it or its siblings. */
  indented: boolean;
  /** The names above it, where its parent is not in sight. */
  path: string[];
}

export type Rail = Record<Group, Entry[]>;

export const GROUPS: { group: Group; title: string }[] = [
  { group: 'needs-you', title: 'Needs you' },
  { group: 'working', title: 'Working' },
  { group: 'idle', title: 'Idle · stopped' }
];

export function railOf(agents: FleetAgent[]): Rail {
  const byId = new Map(agents.map((agent) => [agent.info.agent_id, agent]));
  const newest = agents.toSorted((a, b) => b.info.created_at - a.info.created_at);
  const rail: Rail = { 'needs-you': [], working: [], idle: [] };
  for (const agent of newest) {
    const parent = byId.get(agent.info.parent_agent_id ?? '');
    const group = groupOf(agent);
    // A child of the same group comes with its parent, below.
    if (parent && isRoot(parent, byId) && groupOf(parent) === group) continue;
    rail[group].push({ id: agent.info.agent_id, indented: false, path: pathOf(agent, byId) });
    if (!isRoot(agent, byId)) continue;
    for (const child of newest) {
      if (child.info.parent_agent_id !== agent.info.agent_id || groupOf(child) !== group) continue;
      rail[group].push({ id: child.info.agent_id, indented: true, path: [] });
    }
  }
  return rail;
}

function isRoot(agent: FleetAgent, byId: Map<string, FleetAgent>): boolean {
  return !byId.has(agent.info.parent_agent_id ?? '');
}

function pathOf(agent: FleetAgent, byId: Map<string, FleetAgent>): string[] {
  const path: string[] = [];
  let above = byId.get(agent.info.parent_agent_id ?? '');
  while (above && path.length < 8) {
    path.unshift(nameOf(above.info));
    above = byId.get(above.info.parent_agent_id ?? '');
  }
  return path;
}

/** What a row says about its agent in a word or two. */
export function describe({ info, activity, exit }: FleetAgent): string {
  if (info.status === 'waiting_for_permission')
    return activity?.tool ? `allow ${activity.tool}?` : 'permission?';
  if (info.status === 'waiting_for_ui') return 'question';
  if (info.runtime_state === 'failed') return exit ? `ended: ${exit}` : 'ended by itself';
  if (info.status === 'error') return 'failed';
  if (info.status === 'compacting') return 'compacting';
  if (info.runtime_state === 'starting') return 'starting';
  if (info.runtime_state === 'stopped') return 'stopped';
  if (info.status === 'idle') return 'idle';
  switch (activity?.phase) {
    case 'tool':
      return activity.tool ?? 'tool';
    case 'thinking':
      return 'thinking';
    case 'retrying':
      return 'retrying';
    default:
      return 'working';
  }
}

/** Agents by the folder they work in, for the board. */
export function byProject(agents: FleetAgent[]): { cwd: string; agents: FleetAgent[] }[] {
  const projects = new Map<string, FleetAgent[]>();
  for (const agent of agents.toSorted((a, b) => b.info.created_at - a.info.created_at)) {
    const known = projects.get(agent.info.cwd);
    if (known) known.push(agent);
    else projects.set(agent.info.cwd, [agent]);
  }
  return [...projects].map(([cwd, members]) => ({ cwd, agents: members }));
}
