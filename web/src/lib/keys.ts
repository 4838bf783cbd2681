/** How keys are called on this machine. */
const isMac = /Mac|iP(hone|ad)/.test(navigator.platform);

export const MOD = isMac ? '⌘' : 'Ctrl';

/** A key together with the one for commands, as short as can be. */
export function withMod(key: string): string {
  return isMac ? `⌘${key}` : `Ctrl ${key}`;
}
