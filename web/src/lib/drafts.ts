/** What stands in each agent's composer. It survives reloads, crashes and a lost connection. */
const PREFIX = 'shard.draft.';

export function readDraft(agentId: string): string {
  return localStorage.getItem(PREFIX + agentId) ?? '';
}

export function keepDraft(agentId: string, text: string): void {
  if (text) localStorage.setItem(PREFIX + agentId, text);
  else localStorage.removeItem(PREFIX + agentId);
}
