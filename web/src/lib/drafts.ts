/** What stands in each agent's composer. It survives reloads, crashes and a lost connection. */
const PREFIX = 'shard.draft.';

export function readDraft(agentId: string): string {
  return localStorage.getItem(PREFIX + agentId) ?? '';
}

export function keepDraft(agentId: string, text: string): void {
  try {
    if (text) localStorage.setItem(PREFIX + agentId, text);
    else localStorage.removeItem(PREFIX + agentId);
  } catch {
    // The storage is full, or the text is larger than all of it: it can still be sent.
  }
}
