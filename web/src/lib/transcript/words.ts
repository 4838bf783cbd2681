import type { Remark } from '$lib/protocol/view';

/** What a person can do about an error, by its code. */
const ADVICE: Record<string, string> = {
  PROVIDER_ERROR: 'Your message is kept. Send it again, or pick another model above.',
  RUNTIME_START_FAILED: 'The agent and its session are kept. Sending a message tries to start it again.',
  SESSION_CORRUPT: 'The rest of the session is intact. `shard doctor` says more.',
  TIMEOUT: 'Nobody answered in time. Send a message to go on.',
  INTERNAL_ERROR: 'Send the message again. If it happens once more, the log in `$SHARD_HOME/logs` says why.'
};

export function adviceFor(remark: Extract<Remark, { kind: 'notice' }>): string | undefined {
  if (remark.fatal)
    return 'This agent cannot go on. Its session is kept; make a new agent in the same folder.';
  return remark.code ? ADVICE[remark.code] : undefined;
}

/** “ by you”, “ from terminal”, “ because the turn was stopped” … */
export function byWhom(source: string | undefined): string {
  switch (source) {
    case undefined:
      return '';
    case 'you':
      return ' by you';
    case 'aborted':
      return ' because the turn was stopped';
    case 'timeout':
      return ' because nobody answered in time';
    case 'headless':
      return ' because nobody was there';
    default:
      return ` from ${source}`;
  }
}
