import { flushSync, mount, unmount } from 'svelte';
import { afterEach, expect, it, vi } from 'vitest';
import type { GrantInfo } from '$lib/protocol/types';
import Permissions from './permissions.svelte';

const grant = (id: string, more: Partial<GrantInfo> = {}): GrantInfo => ({
  grant_id: id,
  tool: 'bash',
  summary: `Run ${id}`,
  created_at: 0,
  used: 0,
  ...more
});

let shown: ReturnType<typeof mount> | undefined;

function show(kept: GrantInfo[]) {
  const fleet = {
    grants: vi.fn(() => Promise.resolve([...kept])),
    revoke: vi.fn((_: string, id: string) => {
      kept = kept.filter((one) => one.grant_id !== id);
      return Promise.resolve();
    })
  };
  shown = mount(Permissions, { target: document.body, props: { agentId: 'agent-1', fleet, open: true } });
  flushSync();
  return fleet;
}

const rows = () =>
  [...document.querySelectorAll('[data-testid="grant"]')].map((row) => row.textContent ?? '');

afterEach(() => {
  if (shown) void unmount(shown);
  document.body.replaceChildren();
});

it('lists what is allowed, and what becomes of it when it is revoked', async () => {
  const fleet = show([
    grant('one', { kind: 'bash_signature', used: 2, last_used_at: 1 }),
    grant('two', { kind: 'not_understood' })
  ]);
  await vi.waitFor(() => expect(rows()).toHaveLength(2));
  expect(rows()[0]).toContain('By its form. Given on');
  expect(rows()[0]).toContain('used 2 times');
  expect(rows()[1]).toContain('it allows nothing');
  document.querySelector<HTMLElement>('[aria-label="Revoke: Run one"]')!.click();
  await vi.waitFor(() => expect(rows()).toHaveLength(1));
  expect(fleet.revoke).toHaveBeenCalledExactlyOnceWith('agent-1', 'one');
  expect(rows()[0]).toContain('Run two');
});

it('says why it cannot say', async () => {
  const fleet = show([]);
  await vi.waitFor(() => expect(document.body.textContent).toContain('Nothing is allowed for good.'));
  await unmount(shown!);
  shown = undefined;
  fleet.grants.mockRejectedValue(new Error('no daemon'));
  shown = mount(Permissions, { target: document.body, props: { agentId: 'agent-1', fleet, open: true } });
  await vi.waitFor(() => expect(document.querySelector('[role="alert"]')?.textContent).toBe('no daemon'));
});
