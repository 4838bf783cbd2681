/** Waits between attempts to connect: 1, 2, 4 … 30 s, spread so that clients do not come all at once. */
const LONGEST = 30_000;

export function backoff(attempt: number, random: () => number = Math.random): number {
  const full = Math.min(1000 * 2 ** attempt, LONGEST);
  return Math.round(full * (0.75 + 0.25 * random()));
}

/** `0.1.0` and `0.2.3` understand each other, `1.0.0` does not. */
export function sameMajor(ours: string, theirs: string): boolean {
  return ours.split('.', 1)[0] === theirs.split('.', 1)[0];
}
