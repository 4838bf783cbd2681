/** Commands with the data of their answers, by type. */
import type { AgentCommand, DaemonCommand, Data } from './types';

export type Command = AgentCommand | DaemonCommand;
export type CommandType = Command['type'];
export type CommandOf<T extends CommandType> = Extract<Command, { type: T }> & { agent_id?: string };
export type DataOf<T extends CommandType> = T extends keyof Data ? Data[T] : unknown;

/** The server said no. `code` is for programs, the message for people. */
export class CommandFailed extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly data?: unknown
  ) {
    super(message);
    this.name = 'CommandFailed';
  }
}

/** The connection went away before an answer came; whether it was carried out is not known. */
export class ConnectionLost extends Error {
  constructor() {
    super('The connection to the daemon was lost before it answered. Try again once it is back.');
    this.name = 'ConnectionLost';
  }
}

/** No answer came in time. */
export class NoAnswer extends Error {
  constructor(command: string, seconds: number) {
    super(`The daemon has not answered \`${command}\` within ${seconds} s. Try again.`);
    this.name = 'NoAnswer';
  }
}

/** The daemon would end the connection over it, and again after each attempt. */
export class TooLarge extends Error {
  constructor() {
    super(
      'This is more than fits into one message (16 MB). Send less at once, or save it as a file and say its path.'
    );
    this.name = 'TooLarge';
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A random id; `crypto.randomUUID` is missing on a page that is not served securely. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
