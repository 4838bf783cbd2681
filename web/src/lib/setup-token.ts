/**
 * The one-time token of `/#setup=…`. It is taken out of the address at once, so that it stays neither
 * in the history nor on the screen.
 */
export function takeSetupToken(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get('setup');
  if (token === null) return undefined;
  history.replaceState(history.state, '', location.pathname + location.search);
  return token || undefined;
}
