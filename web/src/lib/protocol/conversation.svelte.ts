/** One agent's conversation: feeds the reducer, and sends what a person wants of the agent. */
import type { Connection, Incoming } from './connection.svelte';
import { CommandFailed, messageOf, newKey } from './commands';
import { reduce, type LocalEvent } from './reduce';
import type { Image, ModeDescriptor, ModelDescriptor, ReasoningLevels, UiValue } from './types';
import { emptyView, isBusy, type View } from './view';

/** How often a stream is drawn, in milliseconds. Faster than this nobody reads. */
const DRAW_EVERY = 40;
/** Starting a process and restoring a long session takes its time. */
const ATTACH_WITHIN = 60_000;
const PAGE = 50;

/** A message of this person that the daemon has not confirmed yet. */
export interface Outgoing {
  key: string;
  text: string;
}

export class Conversation {
  readonly agentId: string;
  readonly #connection: Connection;
  /** What is known; `#shown` follows it at the pace of drawing. */
  #view: View = emptyView();
  #shown = $state.raw<View>(emptyView());
  #failure = $state<string>();
  #outgoing = $state.raw<Outgoing[]>([]);
  #loadingOlder = $state(false);
  #draw?: ReturnType<typeof setTimeout>;
  #attaching?: Promise<void>;
  #isAttached = false;

  constructor(connection: Connection, agentId: string) {
    this.#connection = connection;
    this.agentId = agentId;
  }

  get view(): View {
    return this.#shown;
  }

  /** Why the agent cannot be shown. */
  get failure(): string | undefined {
    return this.#failure;
  }

  get outgoing(): Outgoing[] {
    return this.#outgoing;
  }

  get loadingOlder(): boolean {
    return this.#loadingOlder;
  }

  receive(event: Incoming | LocalEvent): void {
    const before = this.#view;
    this.#view = reduce(before, event as Parameters<typeof reduce>[1], Date.now());
    if (this.#view === before) return;
    const streams = event.type === 'message_delta' || event.type === 'tool_progress';
    if (!streams) this.#publish();
    else this.#draw ??= setTimeout(() => this.#publish(), DRAW_EVERY);
  }

  /** Subscribes to the agent's events; a `sync` follows. Several callers share one attempt. */
  attach(): Promise<void> {
    if (this.#isAttached) return Promise.resolve();
    this.#attaching ??= this.#attach().finally(() => (this.#attaching = undefined));
    return this.#attaching;
  }

  /** The connection is gone, and the subscription with it. */
  lost(): void {
    this.#isAttached = false;
  }

  detach(): void {
    clearTimeout(this.#draw);
    if (!this.#isAttached) return;
    this.#isAttached = false;
    this.#connection
      .request<'agent.detach'>({ type: 'agent.detach', agent_id: this.agentId })
      .catch(() => {});
  }

  /** Sends a message: a prompt to an idle agent, else a follow-up or a steer. */
  async send(text: string, how: 'follow_up' | 'steer', images: Image[] = []): Promise<void> {
    const key = newKey();
    this.#outgoing = [...this.#outgoing, { key, text }];
    const busy = () => isBusy(this.#view.status) || this.#view.status === 'compacting';
    const prompt = (behavior?: 'follow_up' | 'steer', again = '') =>
      this.#connection.start<'prompt'>(
        {
          type: 'prompt',
          agent_id: this.agentId,
          message: text,
          ...(images.length > 0 ? { images } : {}),
          ...(behavior ? { streaming_behavior: behavior } : {})
        },
        { ready: () => this.attach(), within: ATTACH_WITHIN, key: key + again }
      );
    try {
      await this.#reattaching(() => prompt(busy() ? how : undefined));
    } catch (error) {
      // A turn began while the message was on its way. That it is refused means it did not happen.
      const late = error instanceof CommandFailed && error.code === 'CONFLICT' && busy();
      if (!late) throw error;
      await prompt(how, '.late');
    } finally {
      this.#outgoing = this.#outgoing.filter((one) => one.key !== key);
    }
  }

  /** Ends the turn; gives back the messages that waited, to be put into the field again. */
  async abort(): Promise<string[]> {
    const data = await this.#reattaching(() =>
      this.#connection.request<'abort'>({ type: 'abort', agent_id: this.agentId })
    );
    return (data.cleared ?? []).map((one) => one.message);
  }

  answerPermission(
    requestId: string,
    answer: { choice_id: string } | { decision: 'allow' | 'allow_always' | 'deny' },
    reason?: string
  ): Promise<void> {
    return this.#answer(requestId, () =>
      this.#connection.request<'permission_response'>({
        type: 'permission_response',
        agent_id: this.agentId,
        request_id: requestId,
        ...answer,
        ...(reason ? { reason } : {})
      })
    );
  }

  answerUi(requestId: string, value: UiValue | null): Promise<void> {
    return this.#answer(requestId, () =>
      this.#connection.request<'ui_response'>({
        type: 'ui_response',
        agent_id: this.agentId,
        request_id: requestId,
        value
      })
    );
  }

  async models(): Promise<{ models: ModelDescriptor[]; active: ModelDescriptor }> {
    return this.#connection.request<'list_models'>({ type: 'list_models', agent_id: this.agentId });
  }

  async modes(): Promise<{ modes: ModeDescriptor[]; active: string }> {
    return this.#connection.request<'list_modes'>({ type: 'list_modes', agent_id: this.agentId });
  }

  async setModel(model: string): Promise<void> {
    await this.#reattaching(() =>
      this.#connection.request<'set_model'>({ type: 'set_model', agent_id: this.agentId, model })
    );
  }

  async setMode(mode: string): Promise<void> {
    await this.#reattaching(() =>
      this.#connection.request<'set_mode'>({ type: 'set_mode', agent_id: this.agentId, mode })
    );
  }

  async efforts(): Promise<ReasoningLevels> {
    return this.#connection.request<'list_reasoning_levels'>({
      type: 'list_reasoning_levels',
      agent_id: this.agentId
    });
  }

  /** `model` is the one that the choice was made for; if another is active by now, it is refused. */
  async setEffort(model: string, effort: string): Promise<void> {
    await this.#connection.request<'set_reasoning_level'>({
      type: 'set_reasoning_level',
      agent_id: this.agentId,
      model,
      effort
    });
  }

  async compact(): Promise<boolean> {
    const command = { type: 'session_op', op: 'compact', agent_id: this.agentId } as const;
    const data = (await this.#connection.request<'session_op'>(command, 120_000)) as { compacted: boolean };
    return data.compacted;
  }

  /** Loads a page before what is there; `measure` runs right before it is shown. */
  async loadOlder(sessionId: string, measure: () => void): Promise<void> {
    const before = this.#view.oldest;
    if (this.#loadingOlder || !this.#view.hasMore || !before) return;
    this.#loadingOlder = true;
    try {
      const page = await this.#connection.request<'session.messages'>({
        type: 'session.messages',
        session_id: sessionId,
        before,
        limit: PAGE
      });
      // A sync may have put another beginning in place meanwhile; the page would not join it.
      if (this.#view.oldest === before) {
        measure();
        this.receive({ type: 'local.older', messages: page.messages, has_more: page.has_more });
      }
    } finally {
      this.#loadingOlder = false;
    }
  }

  /** Attaches again if the daemon has let go of this connection, as it may when a process ends. */
  async #reattaching<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof CommandFailed && error.code === 'NOT_ATTACHED')) throw error;
      this.#isAttached = false;
      await this.attach();
      return run();
    }
  }

  async #attach(): Promise<void> {
    try {
      await this.#connection.request<'agent.attach'>(
        { type: 'agent.attach', agent_id: this.agentId },
        ATTACH_WITHIN
      );
      this.#isAttached = true;
      this.#failure = undefined;
    } catch (error) {
      this.#failure = messageOf(error);
      throw error;
    }
  }

  async #answer(requestId: string, send: () => Promise<unknown>): Promise<void> {
    this.receive({ type: 'local.answering', request_id: requestId });
    try {
      await send();
    } catch (error) {
      this.receive({ type: 'local.answer_failed', request_id: requestId, failure: messageOf(error) });
    }
  }

  #publish(): void {
    clearTimeout(this.#draw);
    this.#draw = undefined;
    this.#shown = this.#view;
  }
}
