/** The page has one dialog that makes agents; whoever wants it opened asks for it here. */
import { getContext, setContext } from 'svelte';

const KEY = Symbol('new agent');

export function provideNewAgent(open: () => void): void {
  setContext(KEY, open);
}

export function useNewAgent(): () => void {
  return getContext(KEY);
}
