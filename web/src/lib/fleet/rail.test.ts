import { expect, it } from 'vitest';
import type { AgentInfo } from '$lib/protocol/types';
import { byProject, describe, railOf } from './rail';

const agent = (id: string, more: Partial<AgentInfo> = {}) => ({
  info: {
    agent_id: id,
    name: id,
    cwd: '/w',
    status: 'idle',
    runtime_state: 'running',
    created_at: 0,
    ...more
  } as AgentInfo
});

it('who waits comes first, and children stand under their parents', () => {
  const rail = railOf([
    agent('old', { created_at: 1 }),
    agent('busy', { created_at: 2, status: 'streaming' }),
    agent('child', { created_at: 3, status: 'streaming', parent_agent_id: 'busy' }),
    agent('asks', { created_at: 4, status: 'waiting_for_permission', parent_agent_id: 'busy' }),
    agent('gone', { created_at: 5, runtime_state: 'stopped' })
  ]);
  expect(rail['needs-you']).toEqual([{ id: 'asks', indented: false, path: ['busy'] }]);
  expect(rail.working.map((entry) => [entry.id, entry.indented])).toEqual([
    ['busy', false],
    ['child', true]
  ]);
  expect(rail.idle.map((entry) => entry.id)).toEqual(['gone', 'old']);
});

it('nobody is left out, however deep', () => {
  const rail = railOf([
    agent('a'),
    agent('b', { parent_agent_id: 'a' }),
    agent('c', { parent_agent_id: 'b' }),
    agent('d', { parent_agent_id: 'gone' })
  ]);
  expect(rail.idle.map((entry) => entry.id).sort()).toEqual(['a', 'b', 'c', 'd']);
  expect(rail.idle.find((entry) => entry.id === 'c')?.path).toEqual(['a', 'b']);
});

it('a row says what its agent is at', () => {
  const ask = agent('x', { status: 'waiting_for_permission' });
  expect(describe({ ...ask, activity: { phase: 'waiting', tool: 'bash', at: 0 } })).toBe('allow bash?');
  expect(describe({ ...agent('x', { runtime_state: 'failed' }), exit: 'killed' })).toBe('ended: killed');
});

it('the board is by project', () => {
  const projects = byProject([agent('a'), agent('b', { cwd: '/v' }), agent('c')]);
  expect(projects.map((project) => [project.cwd, project.agents.length])).toEqual([
    ['/w', 2],
    ['/v', 1]
  ]);
});
