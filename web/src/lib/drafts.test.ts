import { expect, it, vi } from 'vitest';
import { keepDraft, readDraft } from './drafts';

it('keeps a draft, and lets one be that does not fit into the storage', () => {
  keepDraft('agent-1', 'half a thought');
  expect(readDraft('agent-1')).toBe('half a thought');
  const full = vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
    throw new DOMException('full', 'QuotaExceededError');
  });
  expect(() => keepDraft('agent-1', 'x')).not.toThrow();
  full.mockRestore();
  keepDraft('agent-1', '');
  expect(readDraft('agent-1')).toBe('');
});
