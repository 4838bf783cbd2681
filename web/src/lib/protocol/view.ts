/**
 * What a client knows of one agent's conversation: plain values, replaced and never changed in
 * place, so that a part that stayed the same is the same object.
 */
import type {
  AgentStatus,
  AllowedBy,
  ContentBlock,
  Message,
  ModelDescriptor,
  PendingRequest,
  QueuedPrompt,
  RenderDescriptor,
  ToolResultContent,
  Usage
} from './types';

/** One tool call, from the first piece of its arguments to its result. */
export interface Call {
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** The arguments' JSON as far as it has come, while the message streams. */
  argsText: string;
  /** It passed the gate and runs, or ran. */
  started: boolean;
  startedAt?: number;
  readOnly?: boolean;
  allowedBy?: AllowedBy;
  /** The preview that came with the start. */
  preview?: RenderDescriptor;
  /** The newest part of its live output. */
  progress: string;
  result?: CallResult;
}

export interface CallResult {
  content: ToolResultContent;
  isError: boolean;
  exitCode?: number;
  durationMs?: number;
  render?: RenderDescriptor;
  /** Pictures that belong to the content. */
  images: Picture[];
}

/** A picture, or that there is one whose data was left out. */
export type Picture = Pick<Extract<ContentBlock, { type: 'image' }>, 'data' | 'mime_type' | 'omitted'>;

export type Tone = 'info' | 'warn' | 'error';

/** One entry of the transcript. All but messages are this client's own memory of events. */
export type Item =
  | { kind: 'message'; id: string; message: Message }
  | { kind: 'compaction'; id: string; after?: string; tokensBefore: number; tokensAfter: number }
  | { kind: 'notice'; id: string; after?: string; tone: Tone; code?: string; text: string; fatal?: boolean }
  | { kind: 'answer'; id: string; after?: string; answer: Answer };

export type Remark = Exclude<Item, { kind: 'message' }>;

/** How a question was closed. */
export interface Answer {
  /** What was asked about, in a few words. */
  about: string;
  /** `allowed`, `denied`, `answered: yes` … */
  outcome: string;
  denied: boolean;
  /** `you`, another client, or `aborted`, `timeout`, `headless`. */
  by?: string;
  at: number;
}

/** A question that waits for a person. */
export interface OpenAsk {
  request: PendingRequest;
  /** This client has sent an answer that is not confirmed yet. */
  sending: boolean;
  /** Why the last answer was not taken. */
  failure?: string;
}

export interface View {
  /** A `sync` has come. */
  loaded: boolean;
  status: AgentStatus;
  /** More about the status, such as a retry that waits. */
  detail?: string;
  mode: string;
  capabilities: string[];
  epoch?: number;
  model?: ModelDescriptor;
  /** The reasoning effort, once it was changed here: a sync does not tell. */
  effort?: string;
  usage?: Usage;
  turn?: string;
  items: Item[];
  calls: Record<string, Call>;
  asks: OpenAsk[];
  queue: QueuedPrompt[];
  /** The session has messages before the first one here. */
  hasMore: boolean;
  /** The first message that is known, which pages of older ones end before. */
  oldest?: string;
  /** Numbers this client's own entries. */
  serial: number;
}

export function emptyView(): View {
  return {
    loaded: false,
    status: 'idle',
    mode: '',
    capabilities: [],
    items: [],
    calls: {},
    asks: [],
    queue: [],
    hasMore: false,
    serial: 0
  };
}

/** Whether a turn is under way, in whatever phase. */
export function isBusy(status: AgentStatus): boolean {
  return status === 'streaming' || status === 'waiting_for_permission' || status === 'waiting_for_ui';
}

const READ_ONLY = new Set([
  'read',
  'ls',
  'find',
  'grep',
  'recall',
  'load_skill',
  'ask_user',
  'code_outline',
  'code_symbol'
]);

/** After a re-attachment the event that said so may be gone; the built-in tools are known by name. */
export function isReadOnly(call: Call): boolean {
  return call.readOnly ?? READ_ONLY.has(call.name);
}

/** A tool is at work right now. */
export function toolRuns(view: View): boolean {
  return isBusy(view.status) && Object.values(view.calls).some((call) => call.started && !call.result);
}
