/** Addresses within the client. */
export function agentPath(id: string): string {
  return `/agent/${encodeURIComponent(id)}`;
}
