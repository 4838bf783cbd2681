// Generated from the Rust types by `cargo xtask schema`. Do not edit.
//
// An optional field is left out rather than null. A union that ends in `string & {}` has the
// values of this build and may get more.

/** Ends the turn. The answer comes after `turn_end`. */
export interface Abort {}

/** Of `abort`. */
export interface Aborted {
  /** Prompts that waited and were not started. */
  cleared: QueuedPrompt[];
}

/** Of `prompt` and `steer`. */
export interface Accepted {
  /** The same request key was carried out before; nothing was done now. */
  duplicate?: boolean;
  /** The id that the message has, or will have. */
  message_id?: EntryId;
}

/** One run of a job that was just accepted. */
export interface AcceptedRun {
  /** The agent that will carry it out. */
  agent_id: AgentId;
  /** Friendly name of that agent. */
  alias: string;
  /** The definition of that agent. */
  definition_name?: string;
  /** `definition · alias`. */
  display_name?: string;
  /** Its place in the job, from 0. */
  index: number;
  /** The agent definition. */
  name: string;
  /** The run. */
  run_id: RunId;
  /** `queued`. */
  state: RunState;
}

/** Coarse activity, for overviews. Never a text, an argument or a path. */
export interface AgentActivity {
  /** Which agent. */
  agent_id: AgentId;
  /** What it is at. */
  phase: Phase;
  /** Its status. */
  status: AgentStatus;
  /** Milliseconds since the epoch. */
  timestamp: number;
  /** The tool that runs. */
  tool_name?: string;
}

/** Subscribes to an agent's events, starting its process if none runs. */
export interface AgentAttach {
  /** Which agent. */
  agent_id: AgentId;
  /** In which role; interactive if left out. */
  role?: AttachRole;
}

/** A command to one agent. */
export type AgentCommand =
  /** `prompt` */
  | Prompt & {
    type: "prompt";
  }
  /** `steer` */
  | Steer & {
    type: "steer";
  }
  /** `abort` */
  | Abort & {
    type: "abort";
  }
  /** `set_mode` */
  | SetMode & {
    type: "set_mode";
  }
  /** `list_modes` */
  | ListModes & {
    type: "list_modes";
  }
  /** `list_models` */
  | ListModels & {
    type: "list_models";
  }
  /** `set_model` */
  | SetModel & {
    type: "set_model";
  }
  /** `list_reasoning_levels` */
  | ListReasoningLevels & {
    type: "list_reasoning_levels";
  }
  /** `set_reasoning_level` */
  | SetReasoningLevel & {
    type: "set_reasoning_level";
  }
  /** `session_op` */
  | SessionOp & {
    type: "session_op";
  }
  /** `permission_response` */
  | PermissionResponse & {
    type: "permission_response";
  }
  /** `ui_response` */
  | UiResponse & {
    type: "ui_response";
  };

/** Makes an agent; with `session_id` it adopts a session that no agent owns yet. */
export interface AgentCreate {
  /** Friendly name of a managed child. Set by the daemon. */
  alias?: string;
  /** The folder to work in. */
  cwd: string;
  /** Definition of a managed child. Set by the daemon. */
  definition_name?: string;
  /** Depth of a managed child; 0 for a root. Set by the daemon. */
  depth?: number;
  /** `definition · alias`. Set by the daemon. */
  display_name?: string;
  /** What happens to questions when nobody is there; else as the configuration says. */
  headless_policy?: HeadlessPolicy;
  /** What a managed child may launch. Set by the daemon. */
  launch_policy?: LaunchPolicy;
  /** The mode's name. */
  mode?: string;
  /** `provider/model`, or the model's name beside `provider`. */
  model?: string;
  /** What to call it. */
  name?: string;
  /** Friendly names for what the child launches. Set by the daemon. */
  names?: string[];
  /** The agent that launches it. */
  parent_agent_id?: AgentId;
  /** The provider's name. */
  provider?: string;
  /** Against doing it twice after a lost answer. */
  request_key?: RequestKey;
  /** A session to adopt. */
  session_id?: SessionId;
  /** Exactly these skills. */
  skills?: string[];
  /** System prompt of a managed child. Set by the daemon. */
  system_prompt?: string;
  /** Exactly these tools. */
  tools?: string[];
}

/** Of `agent.create` and `session.activate`. */
export interface AgentCreated {
  /** The agent. */
  agent_id: AgentId;
  /** The same request key was carried out before; nothing was done now. */
  duplicate?: boolean;
}

/** Ends the subscription. The agent goes on. */
export interface AgentDetach {
  /** Which agent. */
  agent_id: AgentId;
}

/** One event of one agent. */
export type AgentEvent =
  /** `hello` */
  | Hello & {
    type: "hello";
  }
  /** `sync` */
  | Sync & {
    type: "sync";
  }
  /** `status` */
  | Status & {
    type: "status";
  }
  /** `turn_start` */
  | TurnStart & {
    type: "turn_start";
  }
  /** `message_delta` */
  | MessageDelta & {
    type: "message_delta";
  }
  /** `message_complete` */
  | MessageComplete & {
    type: "message_complete";
  }
  /** `tool_call` */
  | ToolCall & {
    type: "tool_call";
  }
  /** `tool_progress` */
  | ToolProgress & {
    type: "tool_progress";
  }
  /** `tool_result` */
  | ToolResult & {
    type: "tool_result";
  }
  /** `turn_end` */
  | TurnEnd & {
    type: "turn_end";
  }
  /** `usage` */
  | Usage & {
    type: "usage";
  }
  /** `compaction` */
  | Compaction & {
    type: "compaction";
  }
  /** `error` */
  | Error & {
    type: "error";
  }
  /** `permission_request` */
  | PermissionRequest & {
    type: "permission_request";
  }
  /** `permission_resolved` */
  | PermissionResolved & {
    type: "permission_resolved";
  }
  /** `ui_request` */
  | UiRequest & {
    type: "ui_request";
  }
  /** `ui_resolved` */
  | UiResolved & {
    type: "ui_resolved";
  }
  /** `model_changed` */
  | ModelChanged & {
    type: "model_changed";
  }
  /** `mode_changed` */
  | ModeChanged & {
    type: "mode_changed";
  }
  /** `reasoning_level_changed` */
  | ReasoningLevelChanged & {
    type: "reasoning_level_changed";
  }
  /** `queue_changed` */
  | QueueChanged & {
    type: "queue_changed";
  }
  /** `resources_changed` */
  | ResourcesChanged & {
    type: "resources_changed";
  };

/** An agent's process ended by itself. */
export interface AgentExited {
  /** Which agent. */
  agent_id: AgentId;
  /** The exit code, if it had one. */
  exit_code?: number;
  /** Why, as far as it is known. */
  reason: string;
  /** Always `failed`. */
  runtime_state: RuntimeState;
}

/** A durable agent, whether or not a process serves it just now. */
export type AgentId = string;

/** One agent as the registry lists it. */
export interface AgentInfo {
  /** Which agent. */
  agent_id: AgentId;
  /** Friendly name within the parent; for display, never an id. */
  alias?: string;
  /** Milliseconds since the epoch. */
  created_at: number;
  /** The folder it works in. */
  cwd: string;
  /** The definition that it was launched from. */
  definition_name?: string;
  /** `definition · alias`. */
  display_name?: string;
  /** The active mode. */
  mode?: string;
  /** The model's name. */
  model?: string;
  /** What its owner calls it. */
  name?: string;
  /** The agent that launched it, if one did. */
  parent_agent_id?: AgentId;
  /** The model's provider. */
  provider?: string;
  /** Whether a process serves it. */
  runtime_state: RuntimeState;
  /** Its session. */
  session_id?: SessionId;
  /** What it is doing. */
  status: AgentStatus;
  /** What it has used so far. */
  usage?: Usage;
}

/** Stops an agent's process now. */
export interface AgentKill {
  /** Which agent. */
  agent_id: AgentId;
  /** Without a chance to wind up. */
  force?: boolean;
}

/** Lists all agents. */
export interface AgentList {}

/** Gives an agent another name. */
export interface AgentRename {
  /** Which agent. */
  agent_id: AgentId;
  /** The name. */
  name: string;
}

/** An agent was made. */
export interface AgentSpawned {
  /** Which agent. */
  agent_id: AgentId;
  /** The agent. */
  info: AgentInfo;
}

/** What an agent is doing. */
export type AgentStatus = "idle" | "streaming" | "waiting_for_permission" | "waiting_for_ui" | "compacting" | "error";

/** An agent does something else now, or its process started or stopped. */
export interface AgentStatusChanged {
  /** Which agent. */
  agent_id: AgentId;
  /** More about it. */
  detail?: string;
  /** Whether a process serves it. */
  runtime_state: RuntimeState;
  /** What it is doing. */
  status: AgentStatus;
}

/** Asks after one agent, or after all. */
export interface AgentStatusQuery {
  /** Which agent; all if left out. */
  agent_id?: AgentId;
}

/** Stops an agent's process once it is inactive. */
export interface AgentTerminate {
  /** Which agent. */
  agent_id: AgentId;
}

/** Of `agent.list` and `agent.status`. */
export interface Agents {
  /** The agents. */
  agents: AgentInfo[];
}

/** A state that several jobs share. */
export type AggregateState =
  /** All have this one. */
  | JobState
  /** They differ. */
  | MixedState;

/** What let a call run. */
export interface AllowedBy {
  /** Which grant. */
  id?: string;
  /** What sort of thing. */
  kind: AllowedByKind;
  /** Where it stands. */
  source?: string;
}

/** What sort of thing let a call run. */
export type AllowedByKind = "rule" | "grant" | "mode" | "default";

/** Of an answer to a question that is closed already. */
export interface Answered {
  /** The answer came too late, or for a question that never was; nothing happened. */
  late?: boolean;
}

/** What an attached client may do. */
export type AttachRole = "interactive" | "observer";

/** Of `agent.attach`. A `sync` follows. */
export interface Attached {
  /** The agent. */
  info: AgentInfo;
  /** What the agent is doing. */
  status: AgentStatus;
}

/** Lets a browser in that shows this code. On the unix socket only. */
export interface AuthApprove {
  /** The code. */
  code: string;
}

/** Lists enrollments and enrolled browsers. */
export interface AuthList {}

/** Puts a browser out, closing its connections. */
export interface AuthRevoke {
  /** Which. */
  principal_id: PrincipalId;
}

/** Makes a setup token. On the unix socket only. */
export interface AuthToken {}

/** What becomes of a retired workspace's branch. */
export type BranchDisposition = "delete_if_merged" | "keep" | "delete_confirmed";

/** One run that was cancelled. */
export interface CancelledRun {
  /** The agent that carried it out. */
  agent_id?: AgentId;
  /** The run. */
  run_id: RunId;
  /** Where it stands. */
  state: RunState;
}

/** One child. */
export interface ChildAgent {
  /** Which agent. */
  agent_id: AgentId;
  /** Its friendly name. */
  alias?: string;
  /** Its definition. */
  definition_name?: string;
  /** `definition · alias`. */
  display_name?: string;
  /** Who launched it. */
  parent_agent_id?: AgentId;
  /** What it runs, or ran last. */
  run?: RunSnapshot;
}

/** What sort of answer a choice is. */
export type ChoiceIntent = "allow" | "persist" | "deny";

/** Of `session_op: compact`. */
export type Compacted =
  /** A compaction was written. */
  | {
    /** Always true. */
    compacted: boolean;
    /** The first entry that stayed. */
    first_kept_entry_id: EntryId;
    /** Its number in the session. */
    index: number;
    /** First and last entry of what was summarized. */
    message_range: [EntryId, EntryId];
    /** Size of the window after, in tokens. */
    tokens_after: number;
    /** Size of the window before, in tokens. */
    tokens_before: number;
  }
  /** There was nothing to compact. */
  | {
    /** Always false. */
    compacted: boolean;
    /** `no_safe_cut`. */
    reason: string;
  };

/** The history was compacted. */
export interface Compaction {
  /** The first entry that stayed. */
  first_kept_entry_id: EntryId;
  /** Its number in the session, from 0. */
  index: number;
  /** First and last entry of what was summarized. */
  message_range: [EntryId, EntryId];
  /** Size of the window after, in tokens. */
  tokens_after: number;
  /** Size of the window before, in tokens. */
  tokens_before: number;
}

/** One part of a message. */
export type ContentBlock =
  /** Plain text, markdown by habit. */
  | {
    /** The text. */
    text: string;
    type: "text";
  }
  /** The model asks for a tool. */
  | {
    /** The arguments, by the tool's input schema. */
    args: Record<string, unknown>;
    /** Pairs the call with its result; made by the provider, or by Shard where it made none. */
    id: string;
    /** The tool's name. */
    name: string;
    type: "tool_call";
  }
  /** What a tool answered. */
  | {
    /** What the model reads. */
    content: ToolResultContent;
    /** Wall-clock time in milliseconds. */
    duration_ms?: number;
    /** Exit code of the process, where the tool ran one. */
    exit_code?: number;
    /** The call failed, was refused or did not start. */
    is_error?: boolean;
    /** What a client may draw instead of the text. */
    render?: RenderDescriptor;
    /** The id of the call. */
    tool_call_id: string;
    type: "tool_result";
  }
  /** What the model thought before it answered. */
  | {
    /** The id of the model that made the block, `provider/model`. */
    model?: string;
    /** The provider's proof of origin. A signed block goes back only to the model that made it. */
    signature?: string;
    /** The text; empty when the provider hides it. */
    text: string;
    type: "thinking";
  }
  /** A picture. */
  | {
    /** Base64; empty when `omitted`. */
    data: string;
    /** Such as `image/png`. */
    mime_type: string;
    /** The data was left out of this copy to keep it small; the session holds it. */
    omitted?: boolean;
    type: "image";
  };

/** A command to the daemon. */
export type DaemonCommand =
  /** `agent.list` */
  | AgentList & {
    type: "agent.list";
  }
  /** `agent.create` */
  | AgentCreate & {
    type: "agent.create";
  }
  /** `agent.attach` */
  | AgentAttach & {
    type: "agent.attach";
  }
  /** `agent.detach` */
  | AgentDetach & {
    type: "agent.detach";
  }
  /** `agent.terminate` */
  | AgentTerminate & {
    type: "agent.terminate";
  }
  /** `agent.kill` */
  | AgentKill & {
    type: "agent.kill";
  }
  /** `agent.status` */
  | AgentStatusQuery & {
    type: "agent.status";
  }
  /** `agent.rename` */
  | AgentRename & {
    type: "agent.rename";
  }
  /** `daemon.shutdown` */
  | DaemonShutdown & {
    type: "daemon.shutdown";
  }
  /** `session.list` */
  | SessionList & {
    type: "session.list";
  }
  /** `session.activate` */
  | SessionActivate & {
    type: "session.activate";
  }
  /** `session.messages` */
  | SessionMessages & {
    type: "session.messages";
  }
  /** `workspace.create` */
  | WorkspaceCreate & {
    type: "workspace.create";
  }
  /** `workspace.attach` */
  | WorkspaceAttach & {
    type: "workspace.attach";
  }
  /** `workspace.list` */
  | WorkspaceList & {
    type: "workspace.list";
  }
  /** `workspace.status` */
  | WorkspaceStatus & {
    type: "workspace.status";
  }
  /** `workspace.retire` */
  | WorkspaceRetire & {
    type: "workspace.retire";
  }
  /** `subagent.create` */
  | SubagentCreate & {
    type: "subagent.create";
  }
  /** `subagent.wait` */
  | SubagentWait & {
    type: "subagent.wait";
  }
  /** `subagent.steer` */
  | SubagentSteer & {
    type: "subagent.steer";
  }
  /** `subagent.relaunch` */
  | SubagentRelaunch & {
    type: "subagent.relaunch";
  }
  /** `subagent.status` */
  | SubagentStatus & {
    type: "subagent.status";
  }
  /** `subagent.stop` */
  | SubagentStop & {
    type: "subagent.stop";
  }
  /** `grants.list` */
  | GrantsList & {
    type: "grants.list";
  }
  /** `grants.revoke` */
  | GrantsRevoke & {
    type: "grants.revoke";
  }
  /** `fs.complete` */
  | FsComplete & {
    type: "fs.complete";
  }
  /** `usage.query` */
  | UsageQuery & {
    type: "usage.query";
  }
  /** `resources.list` */
  | ResourcesList & {
    type: "resources.list";
  }
  /** `auth.token` */
  | AuthToken & {
    type: "auth.token";
  }
  /** `auth.approve` */
  | AuthApprove & {
    type: "auth.approve";
  }
  /** `auth.list` */
  | AuthList & {
    type: "auth.list";
  }
  /** `auth.revoke` */
  | AuthRevoke & {
    type: "auth.revoke";
  };

/** One event of the daemon. An `agent_id` in it is payload, not routing. */
export type DaemonEvent =
  /** `agent_spawned` */
  | AgentSpawned & {
    type: "agent_spawned";
  }
  /** `agent_exited` */
  | AgentExited & {
    type: "agent_exited";
  }
  /** `agent_status_changed` */
  | AgentStatusChanged & {
    type: "agent_status_changed";
  }
  /** `agent_activity` */
  | AgentActivity & {
    type: "agent_activity";
  }
  /** `workspace_created` */
  | WorkspaceCreated & {
    type: "workspace_created";
  }
  /** `workspace_attached` */
  | WorkspaceAttached & {
    type: "workspace_attached";
  }
  /** `workspace_retired` */
  | WorkspaceRetired & {
    type: "workspace_retired";
  }
  /** `workspace_conflict` */
  | WorkspaceConflict & {
    type: "workspace_conflict";
  }
  /** `subagent_run_changed` */
  | SubagentRunChanged & {
    type: "subagent_run_changed";
  };

/** Ends the daemon. */
export interface DaemonShutdown {
  /** Without waiting for turns to end. */
  force?: boolean;
}

/**
 * What `data` of a successful `response` holds, by the command that it answers. Commands that are
 * not listed answer without `data`.
 */
export interface Data {
  abort: Aborted;
  "agent.attach": Attached;
  "agent.create": AgentCreated;
  "agent.list": Agents;
  "agent.rename": Renamed;
  "agent.status": Agents;
  "agent.terminate": Terminated;
  "auth.list": Enrollments;
  "auth.token": SetupToken;
  "fs.complete": PathCompletions;
  "grants.list": Grants;
  list_models: Models;
  list_modes: Modes;
  list_reasoning_levels: ReasoningLevels;
  permission_response: Answered;
  prompt: Accepted;
  "resources.list": Resources;
  "session.activate": AgentCreated;
  "session.list": Sessions;
  "session.messages": MessagePage;
  "session_op: compact": Compacted;
  "session_op: fork": Forked;
  "session_op: list": Sessions;
  set_mode: ModeSet;
  set_model: ModelSet;
  set_reasoning_level: ReasoningLevelSet;
  steer: Accepted;
  "subagent.create": JobAccepted;
  "subagent.relaunch": Relaunched;
  "subagent.status": SubagentOverview;
  "subagent.steer": Steered;
  "subagent.stop": Stopped;
  "subagent.wait": Waited;
  ui_response: Answered;
  "usage.query": UsageRows;
  "workspace.attach": WorkspaceData;
  "workspace.create": WorkspaceData;
  "workspace.list": Workspaces;
  "workspace.retire": WorkspaceData;
  "workspace.status": WorkspaceData;
}

/** The sort of block that a delta belongs to. */
export type DeltaKind = "text" | "tool_call" | "thinking";

/** How a detail is set. */
export type DetailFormat = "text" | "command" | "path" | "code";

/** When a change takes effect. */
export type Effective = "next_provider_call";

/** Of `auth.list`. */
export interface Enrollments {
  /** Browsers that wait to be let in. */
  pending: PendingEnrollment[];
  /** Browsers that are in. */
  principals: PrincipalInfo[];
}

/** One entry of a session. A message's id is the id of its entry. */
export type EntryId = string;

/** Something failed while nobody waited for an answer. */
export interface Error {
  /** What sort of failure. */
  code: ErrorCode;
  /** Facts for programs, such as the number of a damaged line. */
  data?: unknown;
  /** The agent cannot go on. */
  fatal?: boolean;
  /** What was tried, on what, and what to do next. */
  message: string;
}

/** Why a command was not carried out. */
export interface ErrorBody {
  /** What a program may branch on. */
  code: ErrorCode;
  /** Facts for programs. */
  data?: unknown;
  /** What was tried, on what, and what to do next. */
  message: string;
}

/** What a client may branch on (`docs/PROTOCOL.md`, "Errors"). Codes are only ever added. */
export type ErrorCode =
  /** The message is malformed or does not validate. */
  | "INVALID_REQUEST"
  /** No such agent, session, model, mode, effort, entry, handle or workspace. */
  | "NOT_FOUND"
  /** A per-agent command on a connection that is not attached to the agent. */
  | "NOT_ATTACHED"
  /** The server refused the operation. */
  | "PERMISSION_DENIED"
  /** Versions differ, or a message came out of sequence. */
  | "PROTOCOL_ERROR"
  /** A question ran into its timeout. */
  | "TIMEOUT"
  /** The agent exists but its process did not become ready; trying again is safe. */
  | "RUNTIME_START_FAILED"
  /** The session exists but cannot be restored safely. */
  | "SESSION_CORRUPT"
  /** A failure that nobody expected. */
  | "INTERNAL_ERROR"
  /** A provider call failed. */
  | "PROVIDER_ERROR"
  /** A tool failed. */
  | "TOOL_ERROR"
  /** The operation does not fit the present state. */
  | "CONFLICT"
  /** A code of a later build. */
  | string;

/** Of `session_op: fork`. */
export interface Forked {
  /** The same request key was carried out before; nothing was done now. */
  duplicate?: boolean;
  /** The fork. */
  fork_id: string;
  /** The newest entry of the new session. */
  head_entry_id: EntryId;
  /** The new session. */
  session_id: SessionId;
}

/** Where a fork comes from. */
export interface ForkedFrom {
  /** The entry. */
  entry_id: EntryId;
  /** The session. */
  session_id: SessionId;
}

/** Completes a path: below an agent's folder, or any folder for the new-agent dialog. */
export interface FsComplete {
  /** The agent whose folder it is about; without one, only folders are listed. */
  agent_id?: AgentId;
  /** The folder that a relative prefix starts from. */
  cwd?: string;
  /** How many at most. */
  limit?: number;
  /** What has been typed. */
  prefix: string;
}

/** One standing permission that a person gave. */
export type GrantId = string;

/** One standing permission. */
export interface GrantInfo {
  /** Milliseconds since the epoch. */
  created_at: number;
  /** Which grant. */
  grant_id: GrantId;
  /** What sort it is. */
  kind?: GrantKind;
  /** Milliseconds since the epoch. */
  last_used_at?: number;
  /** The client that gave it. */
  source?: string;
  /** What it covers, in words. */
  summary: string;
  /** The tool. */
  tool: string;
  /** How many calls it has let through. */
  used: number;
}

/** How a grant decides what it covers. */
export type GrantKind = "exact" | "bash_signature" | "not_understood";

/** Of `grants.list`. */
export interface Grants {
  /** The grants. */
  grants: GrantInfo[];
}

/** Lists what an agent may do unasked. */
export interface GrantsList {
  /** Which agent. */
  agent_id: AgentId;
}

/** Takes a standing permission back. */
export interface GrantsRevoke {
  /** Which agent. */
  agent_id: AgentId;
  /** Which grant. */
  grant_id: GrantId;
}

/** What happens to a question that nobody is there to answer. */
export type HeadlessPolicy = "deny" | "allow_if_rule_matches" | "queue";

/** First on every connection. */
export interface Hello {
  /** What the other side can do. Never infer a capability from a version. */
  capabilities: string[];
  /** Version of the protocol, semver. */
  protocol_version: string;
  /** Version of the program. */
  server_version: string;
}

/** One changed place of a file, as in a unified diff. Line numbers start at 1. */
export interface Hunk {
  /** The lines, in order. */
  lines: HunkLine[];
  /** Lines of the new file. */
  new_lines: number;
  /** First line in the new file; 0 when the new side is empty. */
  new_start: number;
  /** Lines of the old file. */
  old_lines: number;
  /** First line in the old file; 0 when the old side is empty. */
  old_start: number;
}

/** One line of a [`Hunk`]. */
export interface HunkLine {
  /** On which side it stands. */
  kind: LineKind;
  /** The line without its line ending. */
  text: string;
}

/** A picture that a person attaches to a prompt, or that a tool gives. */
export interface Image {
  /** Base64. */
  data: string;
  /** Such as `image/png`. */
  mime_type: string;
  /** Always `image`. */
  type: ImageTag;
}

/** The constant `image`. */
export type ImageTag = "image";

/** Of `subagent.create`. */
export interface JobAccepted {
  /** The same request key was carried out before; nothing was done now. */
  duplicate?: boolean;
  /** The job. */
  job_id: JobId;
  /** Its runs. */
  runs: AcceptedRun[];
  /** How its tasks follow each other. */
  strategy: JobStrategy;
}

/** One durable background job. */
export type JobId = string;

/** One job as its owner sees it. */
export interface JobSnapshot {
  /** The step of a chain that runs now. */
  chain_step?: number;
  /** Milliseconds since the epoch. */
  created_at: number;
  /** Milliseconds since the epoch. */
  ended_at?: number;
  /** Which job. */
  job_id: JobId;
  /** Who launched it. */
  parent_agent_id: AgentId;
  /** Its runs, in order. */
  runs: RunSnapshot[];
  /** Where it stands. */
  state: JobState;
  /** The step at which a chain broke off. */
  stopped_at?: number;
  /** How its tasks follow each other. */
  strategy: JobStrategy;
}

/** Where a job stands. */
export type JobState = "queued" | "running" | "completed" | "failed" | "cancelled";

/** How the tasks of a job follow each other. */
export type JobStrategy = "single" | "parallel" | "chain";

/** What an agent may launch. */
export interface LaunchPolicy {
  /** Levels of agents below the root. */
  maxDepth: number;
  /** Tasks in one launch. */
  maxTasks: number;
}

/** On which side of a diff a line stands. */
export type LineKind = "context" | "add" | "del";

/** Lists the models. */
export interface ListModels {}

/** Lists the modes. */
export interface ListModes {}

/** Lists the reasoning efforts of the active model. */
export interface ListReasoningLevels {}

/** One entry of [`RenderDescriptor::PathList`] and of path completion. */
export interface ListedPath {
  /** A remark, such as the line that matched. */
  hint?: string;
  /** File or folder. */
  kind: PathKind;
  /** The path. */
  path: string;
}

/** The newest part of the conversation, at most 1 MiB of it. */
export interface LiveWindow {
  /** The compaction that the window starts with. */
  compaction_index?: number;
  /** Older messages were left out; `session.messages` pages them. */
  has_more?: boolean;
  /** Oldest first. A message that is being streamed is the last one, `partial`. */
  messages: Message[];
}

/** One message of a conversation. */
export interface Message {
  /** What is said, in order. */
  content: ContentBlock[];
  /** The id of the session entry that holds the message. */
  id: EntryId;
  /**
   * The message is still being streamed, or its stream broke off: what stands here is what
   * had come.
   */
  partial?: boolean;
  /** Who speaks. */
  role: Role;
}

/** A message is whole, and on disk. */
export interface MessageComplete {
  /** The message. */
  message: Message;
  /** Its id. */
  message_id: EntryId;
}

/** A piece of a message that is being streamed. `message_complete` settles the whole. */
export interface MessageDelta {
  /** A piece of the arguments' JSON: join, then parse once the block is complete. */
  args_delta?: string;
  /** Which of its blocks. */
  block_index: number;
  /** What sort of block. */
  kind: DeltaKind;
  /** The message. */
  message_id: EntryId;
  /** On the first piece of a `tool_call`. */
  name?: string;
  /** Text to append, for `text` and `thinking`. */
  text_delta?: string;
  /** On the first piece of a `tool_call`. */
  tool_call_id?: string;
}

/** Of `session.messages`. */
export interface MessagePage {
  /** There are older ones. */
  has_more: boolean;
  /** Oldest first, pictures included. */
  messages: Message[];
}

/** The constant `mixed`. */
export type MixedState = "mixed";

/** Another mode is active. */
export interface ModeChanged {
  /** The mode from now on. */
  mode: string;
  /** The mode until now. */
  previous_mode: string;
}

/** A mode as clients see it. */
export interface ModeDescriptor {
  /** What it is for. */
  description: string;
  /** Its name. */
  name: string;
}

/** Of `set_mode`. */
export interface ModeSet {
  /** The mode from now on. */
  mode: string;
  /** The mode until now. */
  previous_mode: string;
}

/** Another model was picked. */
export interface ModelChanged {
  /** The model from the next provider call on. */
  active: ModelDescriptor;
  /** What the runtime can do with it. */
  capabilities?: string[];
  /** When. */
  effective: Effective;
  /** The model until now. */
  previous: ModelDescriptor;
}

/** One model of the catalog. It holds no secret. */
export interface ModelDescriptor {
  /** How many tokens fit, where that is known. */
  context_window?: number;
  /** `provider/model`. */
  id: string;
  /** The model's name at the provider. */
  model: string;
  /** The provider's name in the configuration. */
  provider: string;
}

/** Of `set_model`. */
export interface ModelSet {
  /** The model from the next provider call on. */
  active: ModelDescriptor;
  /** When. */
  effective: Effective;
  /** The model until now. */
  previous: ModelDescriptor;
}

/** Of `list_models`. */
export interface Models {
  /** The active one. */
  active: ModelDescriptor;
  /** All of them. */
  models: ModelDescriptor[];
}

/** Of `list_modes`. */
export interface Modes {
  /** The active one's name. */
  active: string;
  /** All of them, in the order of their registration. */
  modes: ModeDescriptor[];
}

/** How a notice is meant. */
export type NotifyType = "info" | "warning" | "error";

/** One row of [`RenderDescriptor::Kv`]. */
export interface Pair {
  /** The name. */
  k: string;
  /** The value. */
  v: string;
}

/** Of `fs.complete`. */
export interface PathCompletions {
  /** Names only, never contents. */
  paths: ListedPath[];
}

/** File or folder. */
export type PathKind = "file" | "dir";

/** A browser that waits to be let in. */
export interface PendingEnrollment {
  /** The code that it shows. */
  code: string;
  /** Milliseconds since the epoch. */
  created_at: number;
  /** Milliseconds since the epoch. */
  expires_at: number;
}

/** A question that is open. */
export type PendingRequest = {
  /**
   * Who asks, if it is not the agent itself but a descendant with nobody of its own to answer;
   * only on daemon connections. The answer goes to that agent.
   */
  agent_id?: AgentId;
} & (PermissionRequest & {
  type: "permission_request";
} | UiRequest & {
  type: "ui_request";
});

/** One answer that the server offers. What it stands for is the server's to know. */
export interface PermissionChoice {
  /** A key that picks it. */
  accelerator?: string;
  /** What it means. */
  description?: string;
  /** What `permission_response` takes as `choice_id`. */
  id: string;
  /** What sort of answer it is. */
  intent: ChoiceIntent;
  /** What a person reads. */
  label: string;
}

/** The plain answers. */
export type PermissionDecision = "allow" | "allow_always" | "deny";

/** One thing that a person should see before they answer. */
export interface PermissionDetail {
  /** How to set it. */
  format?: DetailFormat;
  /** What it is. */
  label?: string;
  /** The value, with control characters made visible. */
  value: string;
}

/** May this call run? Goes to every client; the first answer counts. */
export interface PermissionRequest {
  /** Finer answers. */
  choices?: PermissionChoice[];
  /** What a person should see first. */
  details?: PermissionDetail[];
  /** What applies if nobody can answer. Between a runtime and its daemon only; never sent on. */
  headless_decision?: PermissionDecision;
  /** Its arguments. */
  input: unknown;
  /** The plain answers that are offered. */
  options: PermissionDecision[];
  /** The question in words, control characters made visible. */
  prompt: string;
  /** What an answer refers to. */
  request_id: RequestId;
  /** The tool. */
  tool_name: string;
}

/** A permission request is closed. Exactly one of `decision` and `choice_id` is there. */
export interface PermissionResolved {
  /** The finer answer. */
  choice_id?: string;
  /** The plain answer. */
  decision?: PermissionDecision;
  /** Which request. */
  request_id: RequestId;
  /** Who answered, or `aborted`, `timeout`, `headless` when nobody did. */
  source?: string;
}

/** Answers a permission request, in exactly one of the two forms. */
export interface PermissionResponse {
  /** One of the offered choices. */
  choice_id?: string;
  /** A plain answer. */
  decision?: PermissionDecision;
  /** Why; reaches the model when the answer is no. */
  reason?: string;
  /** Which request. */
  request_id: RequestId;
  /** Who answers. Set by the daemon, such as `headless`. */
  source?: string;
}

/** Coarse activity, for overviews. It never says what about. */
export type Phase = "idle" | "thinking" | "streaming" | "tool" | "waiting" | "compacting" | "retrying" | "error";

/** One enrolled browser. */
export type PrincipalId = string;

/** A browser that is in. */
export interface PrincipalInfo {
  /** Milliseconds since the epoch. */
  created_at: number;
  /** Milliseconds since the epoch. */
  last_seen_at: number;
  /** Which. */
  principal_id: PrincipalId;
  /** What it calls itself. */
  user_agent?: string;
}

/**
 * Sends a user message. The answer says that it is accepted, and is given once it is on disk; the
 * turn itself comes as events.
 */
export interface Prompt {
  /** Pictures. */
  images?: Image[];
  /** The text. */
  message: string;
  /** Against doing it twice after a lost answer. */
  request_key?: RequestKey;
  /** Needed while a turn runs: when to deliver. */
  streaming_behavior?: StreamingBehavior;
}

/** What waits has changed. */
export interface QueueChanged {
  /** All that waits, in order. */
  queue: QueuedPrompt[];
}

/** How a prompt that waits will be delivered. */
export type QueuedKind = "steer" | "follow_up" | "prompt";

/** One prompt that waits. */
export interface QueuedPrompt {
  /** The pictures. Left out of events, whole in `abort`'s `cleared`. */
  images?: Image[];
  /** How it will be delivered. */
  kind: QueuedKind;
  /** The text. */
  message: string;
  /** The sender's key, if it gave one. */
  request_key?: string;
}

/** One step of a model's reasoning effort. */
export interface ReasoningLevel {
  /** What it means. */
  description?: string;
  /** What `set_reasoning_level` takes. */
  id: string;
  /** What a person reads. */
  label: string;
}

/** Another reasoning effort was picked. */
export interface ReasoningLevelChanged {
  /** The effort from the next provider call on. */
  active: string;
  /** When. */
  effective: Effective;
  /** The model that it is for. */
  model: ModelDescriptor;
  /** The effort until now. */
  previous: string;
}

/** Of `set_reasoning_level`. */
export interface ReasoningLevelSet {
  /** The effort from the next provider call on. */
  active: string;
  /** When. */
  effective: Effective;
  /** The model that it is for. */
  model: ModelDescriptor;
  /** The effort until now. */
  previous: string;
}

/** Of `list_reasoning_levels`. */
export interface ReasoningLevels {
  /** The active one's id. */
  active: string;
  /** When a change takes effect. */
  effective: Effective;
  /** All of them, from least to most. */
  levels: ReasoningLevel[];
  /** The model that they are for. */
  model: ModelDescriptor;
}

/** Of `subagent.relaunch`. */
export interface Relaunched {
  /** The same agent as before. */
  agent_id: AgentId;
  /** Its friendly name. */
  alias: string;
  /** Its definition. */
  definition_name?: string;
  /** `definition · alias`. */
  display_name?: string;
  /** The same request key was carried out before; nothing was done now. */
  duplicate?: boolean;
  /** The new job. */
  job_id: JobId;
  /** Its run. */
  run_id: RunId;
  /** `queued`. */
  state: RunState;
}

/** Of `agent.rename`. */
export interface Renamed {
  /** The agent with its new name. */
  agent: AgentInfo;
}

/**
 * A drawing instruction without any client's technique. New kinds may be added; a client that
 * does not know one shows the plain content instead.
 */
export type RenderDescriptor =
  /** Plain text. */
  | {
    kind: "text";
    /** The text. */
    text: string;
  }
  /** A short table. */
  | {
    kind: "kv";
    /** Its rows. */
    pairs: Pair[];
  }
  /** A change to one file. */
  | {
    /** The changed places, top to bottom. */
    hunks: Hunk[];
    kind: "diff";
    /** The file, as the tool was given it. */
    path: string;
  }
  /** A nested list. */
  | {
    kind: "tree";
    /** Its root. */
    root: TreeNode;
  }
  /** Something on its way. */
  | {
    /** How far it has come. */
    current: number;
    kind: "progress";
    /** What is going on. */
    label: string;
    /** How far it goes, where that is known. */
    total?: number;
  }
  /** One line with a tone. */
  | {
    kind: "status";
    /** The line. */
    label: string;
    /** How it is meant. */
    tone: Tone;
  }
  /** A shell command. */
  | {
    /** The command line. */
    command: string;
    /** Wall-clock time in milliseconds. */
    durationMs?: number;
    /** Its exit code, once it ended. */
    exitCode?: number;
    kind: "command";
  }
  /** A flat list of paths. */
  | {
    kind: "path_list";
    /** The paths, in the tool's order. */
    paths: ListedPath[];
  }
  /** The body of a file. */
  | {
    kind: "code";
    /** Language, by its usual short name. */
    lang?: string;
    /** Where it is from. */
    path?: string;
    /** The body. */
    text: string;
  };

/** One open question to a person: a permission or a dialog. */
export type RequestId = string;

/**
 * A client's own key for a command that starts something: 1 to 64 of `A-Z a-z 0-9 _ . : -`. The
 * same key again does nothing and gets the first answer again.
 */
export type RequestKey = string;

/** One thing that an agent may know. */
export interface ResourceInfo {
  /** Whether it is in force. */
  active: boolean;
  /** What it says that it is for. */
  description?: string;
  /** What else its front matter says. For people: nothing of it is believed. */
  details?: Record<string, unknown>;
  /** Why not, and whatever else is worth saying. */
  diagnostics?: string[];
  /** What it is: `context`, `skill`, `agent`, `rules`, `extension` or `mcp`. */
  kind: string;
  /** Whose it is: `bundled`, `user` or `project`. */
  layer: string;
  /** What it calls itself; of what was not read, the name of its file or folder. */
  name: string;
  /** Where it stands. */
  path: string;
}

/** Of `resources.list`. */
export interface Resources {
  /** All that was found. */
  resources: ResourceInfo[];
}

/**
 * What people wrote down for agents changed, and is in force from this turn on: configuration,
 * context files, skills, definitions, rules. Between `turn_start` and the first call to the model.
 */
export interface ResourcesChanged {
  /** The files that are new, gone or not the same. */
  changed: string[];
  /** What a person should know about them, such as what is broken and what stays in force. */
  diagnostics?: string[];
}

/** Lists what an agent knows at its start: context files, skills, definitions, rules, extensions. */
export interface ResourcesList {
  /** For this agent. */
  agent_id?: AgentId;
  /** For this folder. */
  cwd?: string;
}

/** Answers the command whose `id` it carries. A command without an `id` gets none. */
export interface Response {
  /** The command's `type`. */
  command: string;
  /** What it gave; its shape depends on the command. */
  data?: unknown;
  /** Why not. */
  error?: ErrorBody;
  /** The command's `id`. */
  id: string;
  /** Whether it was carried out, or accepted. */
  success: boolean;
}

/** An answer with its `type`. */
export type ResponseMessage = Response & {
  type: "response";
};

/** Who speaks. Tool results travel as messages of the user. */
export type Role = "user" | "assistant";

/** One run of a job. */
export type RunId = string;

/** One run as its owner sees it. */
export interface RunSnapshot {
  /** The agent that carries it out. */
  agent_id?: AgentId;
  /** Friendly name of that agent. */
  alias?: string;
  /** When it will be stopped, in milliseconds since the epoch. */
  deadline?: number;
  /** The definition of that agent. */
  definition_name?: string;
  /** `definition · alias`. */
  display_name?: string;
  /** Milliseconds since the epoch. */
  ended_at?: number;
  /** Why it failed. */
  error?: string;
  /** What it answered; given to its owner alone. */
  final_text?: string;
  /** Its place in the job, from 0. */
  index: number;
  /** The job it belongs to. */
  job_id: JobId;
  /** The name of the agent definition that it runs. */
  name: string;
  /** Which run. */
  run_id: RunId;
  /** Milliseconds since the epoch. */
  started_at?: number;
  /** Where it stands. */
  state: RunState;
  /** Tokens so far. */
  usage?: RunUsage;
}

/** Where a run stands. */
export type RunState = "queued" | "starting" | "active" | "completed" | "failed" | "timed_out" | "cancelled" | "interrupted";

/** Tokens of a run. */
export interface RunUsage {
  /** Tokens read. */
  input: number;
  /** Tokens written. */
  output: number;
}

/** Whether a process serves the agent. */
export type RuntimeState = "stopped" | "starting" | "running" | "failed";

/** Attaches to the agent that owns a session; adopts the session if none does. */
export interface SessionActivate {
  /** In which role; interactive if left out. */
  role?: AttachRole;
  /** Which session. */
  session_id: SessionId;
}

/** One session. It is also the stem of the session's file, hence the narrow alphabet. */
export type SessionId = string;

/** One stored session. */
export interface SessionInfo {
  /** The agent that owns it, if one does. */
  agent_id?: AgentId;
  /** Milliseconds since the epoch. */
  created_at: number;
  /** The folder that it works in. */
  cwd: string;
  /** Where it was split off. */
  forked_from?: ForkedFrom;
  /** How many messages it has. */
  message_count: number;
  /** Which session. */
  session_id: SessionId;
  /** What it is about. */
  title?: string;
  /** Milliseconds since the epoch. */
  updated_at: number;
}

/** Lists stored sessions, newest first. */
export interface SessionList {
  /** Only those of this folder. */
  cwd?: string;
  /** Forks too. */
  include_forks?: boolean;
}

/** Pages through the messages of a session, whether or not its agent runs. */
export interface SessionMessages {
  /** Only messages before this one; the newest if left out. */
  before?: EntryId;
  /** How many at most. */
  limit?: number;
  /** Which session. */
  session_id: SessionId;
}

/** Works on the session as a whole. */
export interface SessionOp {
  /** How. Which fields count depends on `op`; they are validated when it is carried out. */
  args?: SessionOpArgs;
  /** What to do. */
  op: SessionOpKind;
  /** Against forking twice after a lost answer. */
  request_key?: RequestKey;
}

/** Arguments of `session_op`. */
export interface SessionOpArgs {
  /** `fork`: the entry to split at. */
  from_entry_id?: EntryId;
  /** `compact`: how many of the newest tokens stay, a positive integer. */
  keep_recent_tokens?: number;
}

/** What `session_op` does. */
export type SessionOpKind = "list" | "compact" | "fork";

/** Of `session.list` and `session_op: list`. */
export interface Sessions {
  /** Newest first. */
  sessions: SessionInfo[];
}

/** Switches the mode. */
export interface SetMode {
  /** The mode's name. */
  mode: string;
}

/** Picks a model, from the next provider call on. */
export interface SetModel {
  /** `provider/model`. */
  model: string;
}

/** Picks a reasoning effort, from the next provider call on. */
export interface SetReasoningLevel {
  /** The effort. */
  effort: string;
  /** The active model as the sender knows it; another one is a conflict. */
  model: string;
}

/** Of `auth.token`. */
export interface SetupToken {
  /** Milliseconds since the epoch. */
  expires_at: number;
  /** Works once. */
  token: string;
  /** The page that takes it. */
  url: string;
}

/** The agent does something else now. */
export interface Status {
  /** More about it, such as a retry that waits. */
  detail?: string;
  /** What. */
  status: AgentStatus;
}

/** Like a prompt with `streaming_behavior: "steer"`. */
export interface Steer {
  /** Only into this turn, or not at all. Between a daemon and its runtime only. */
  expect?: SteerExpect;
  /** Pictures. */
  images?: Image[];
  /** The text. */
  message: string;
  /** Against doing it twice after a lost answer. */
  request_key?: RequestKey;
}

/** The turn that a strict steer is for. */
export interface SteerExpect {
  /** Pairs the answer with the wish. */
  correlation_id: string;
  /** The run that the turn belongs to. */
  run_id: RunId;
  /** The turn. */
  turn_id: TurnId;
}

/** Whether a strict steer went in. */
export type SteerOutcome = "injected" | "conflict";

/** Of `subagent.steer`. */
export interface Steered {
  /** Pairs the answer with the wish. */
  correlation_id: string;
  /** The run. */
  run_id: RunId;
  /** Whether it went in. */
  status: SteerOutcome;
  /** The turn. */
  turn_id?: TurnId;
}

/** Of `subagent.stop`. */
export interface Stopped {
  /** What was cancelled. */
  cancelled: CancelledRun[];
  /** The job, when a job was named. */
  job_id?: JobId;
}

/** When a prompt that meets a running turn is delivered. */
export type StreamingBehavior = "steer" | "follow_up";

/** Accepts a job: one task (`name`, `task`), or several (`tasks`, `strategy`). */
export interface SubagentCreate {
  /** The children's mode. */
  mode?: string;
  /** The children's model. */
  model?: string;
  /** The agent definition, for one task. */
  name?: string;
  /** Who launches it. */
  parent_agent_id: AgentId;
  /** The model's provider. */
  provider?: string;
  /** Against doing it twice after a lost answer. */
  request_key?: RequestKey;
  /** Proof of that, for a tool; a person's client needs none. */
  runtime_token?: string;
  /** How they follow each other. */
  strategy?: JobStrategy;
  /** The task, for one task. */
  task?: string;
  /** The tasks, for several. */
  tasks?: SubagentTask[];
}

/** Of `subagent.status`. */
export interface SubagentOverview {
  /** The children. */
  agents: ChildAgent[];
  /** The jobs; left out when targets were named. */
  jobs?: JobSnapshot[];
}

/** Gives an idle child another task. */
export interface SubagentRelaunch {
  /** Who launched it. */
  parent_agent_id: AgentId;
  /** Against doing it twice after a lost answer. */
  request_key?: RequestKey;
  /** Proof of that, for a tool. */
  runtime_token?: string;
  /** An agent, a run or an alias. */
  target: string;
  /** The task. */
  task: string;
}

/** A run of a background job moved on. */
export interface SubagentRunChanged {
  /** The agent that carries it out. */
  agent_id?: AgentId;
  /** Friendly name of that agent. */
  alias?: string;
  /** The definition of that agent. */
  definition_name?: string;
  /** `definition · alias`. */
  display_name?: string;
  /** Milliseconds since the epoch. */
  ended_at?: number;
  /** Why it failed. */
  error?: string;
  /** The job. */
  job_id: JobId;
  /** Who launched the job. */
  parent_agent_id: AgentId;
  /** Where it stood. */
  previous_state?: RunState;
  /** The run. */
  run_id: RunId;
  /** Where it stands now. */
  state: RunState;
}

/** Asks after jobs, runs and children. */
export interface SubagentStatus {
  /** Who launched them. */
  parent_agent_id: AgentId;
  /** Proof of that, for a tool. */
  runtime_token?: string;
  /** Which; the latest jobs if left out. */
  targets?: string[];
}

/** Speaks into a run that is active. */
export interface SubagentSteer {
  /** What to say. */
  message: string;
  /** Who launched it. */
  parent_agent_id: AgentId;
  /** Proof of that, for a tool. */
  runtime_token?: string;
  /** A run, an agent or an alias. */
  target: string;
}

/** Cancels a job or a run. */
export interface SubagentStop {
  /** A job, a run or an alias. */
  handle: string;
  /** Who launched it. */
  parent_agent_id: AgentId;
  /** Proof of that, for a tool. */
  runtime_token?: string;
}

/** One task of a job. */
export interface SubagentTask {
  /** The agent definition. */
  name: string;
  /** The task. */
  task: string;
}

/** Waits until jobs or runs have ended. */
export interface SubagentWait {
  /** Jobs, runs, agents or aliases; at least one. */
  handles: string[];
  /** For any of them or for all; all if left out. */
  mode?: WaitMode;
  /** Who launched them. */
  parent_agent_id: AgentId;
  /** Proof of that, for a tool. */
  runtime_token?: string;
  /** How long, in seconds; 0 does not wait, left out waits for ever. Work goes on after it. */
  timeout?: number;
}

/** Everything that a client needs to draw the present state without replaying history. */
export interface Sync {
  /** What this runtime can do. */
  capabilities?: string[];
  /** The conversation as the model sees it. */
  live_window: LiveWindow;
  /** The active mode. */
  mode: string;
  /** The active model. */
  model?: ModelDescriptor;
  /** Questions that are open; not sent again as events. */
  pending_requests: PendingRequest[];
  /** Prompts that wait. */
  queue?: QueuedPrompt[];
  /** Which generation of the process this is; only on daemon connections. */
  runtime_epoch?: number;
  /** What the agent is doing. */
  status: AgentStatus;
  /** What the session has used so far; `context_tokens` is the last call's. */
  usage?: Usage;
}

/** Of `agent.terminate`. */
export interface Terminated {
  /** Active work ends first. */
  deferred: boolean;
}

/** How a status line is meant. */
export type Tone = "info" | "warn" | "error";

/** A call passed the gate and starts. */
export interface ToolCall {
  /** What let it run without an ask. */
  allowed_by?: AllowedBy;
  /** Its arguments. */
  args: Record<string, unknown>;
  /** The tool. */
  name: string;
  /** Whether the tool only reads. Absent means that it may change things. */
  read_only?: boolean;
  /** A preview. */
  render?: RenderDescriptor;
  /** Pairs it with its block and its result. */
  tool_call_id: string;
}

/** Live output of a tool. Bounded, and never stored. */
export interface ToolProgress {
  /** Text to append. */
  text_delta: string;
  /** The call. */
  tool_call_id: string;
}

/** A call is answered, and the answer is on disk. */
export interface ToolResult {
  /** What the model reads. */
  content: ToolResultContent;
  /** Wall-clock time in milliseconds. */
  duration_ms?: number;
  /** Exit code of the process, where the tool ran one. */
  exit_code?: number;
  /** Pictures that belong to the content. */
  images?: Image[];
  /** The call failed, was refused or did not start. */
  is_error: boolean;
  /** What a client may draw instead of the content. */
  render?: RenderDescriptor;
  /** The call. */
  tool_call_id: string;
}

/** What a tool gives back to the model. */
export type ToolResultContent =
  /** Text. */
  | {
    kind: "text";
    /** The text. */
    text: string;
  }
  /** A value. */
  | {
    kind: "json";
    /** The value. */
    value: unknown;
  }
  /** Why it did not work. */
  | {
    kind: "error";
    /** What was tried, on what, and what to do next. */
    message: string;
  };

/** One node of [`RenderDescriptor::Tree`]. */
export interface TreeNode {
  /** What is below it. */
  children?: TreeNode[];
  /** A remark. */
  hint?: string;
  /** What sort of thing it is. */
  kind?: string;
  /** What it is called. */
  label: string;
}

/** A turn is over. Last of its events. */
export interface TurnEnd {
  /** How it ended. */
  reason: TurnEndReason;
  /** Which turn. */
  turn_id: TurnId;
  /** The sum of its provider calls; `context_tokens` is the last call's. */
  usage?: Usage;
}

/** How a turn ended. */
export type TurnEndReason = "done" | "aborted" | "error" | "limit";

/** One turn: from a prompt to the end of the answer. */
export type TurnId = string;

/** A turn begins. */
export interface TurnStart {
  /** Which turn. */
  turn_id: TurnId;
}

/** What sort of dialog. */
export type UiKind = "select" | "confirm" | "input" | "editor" | "notify";

/** A dialog. Goes to every client; the first answer counts. */
export interface UiRequest {
  /** What sort of dialog. */
  kind: UiKind;
  /** What it says. */
  message?: string;
  /** For `select`: several may be picked. */
  multiple?: boolean;
  /** For `notify`: how it is meant. */
  notify_type?: NotifyType;
  /** For `select`: what can be picked. */
  options?: string[];
  /** For `input` and `editor`: a hint in the empty field. */
  placeholder?: string;
  /** For `input` and `editor`: what already stands there. */
  prefill?: string;
  /** What an answer refers to. */
  request_id: RequestId;
  /** Its heading. */
  title?: string;
}

/** A dialog is closed. */
export interface UiResolved {
  /** Which dialog. */
  request_id: RequestId;
  /** Who answered, or `aborted`, `timeout`, `headless` when nobody did. */
  source?: string;
  /** The answer; null when there was none. */
  value: UiValue | null;
}

/** Answers a dialog. */
export interface UiResponse {
  /** Which dialog. */
  request_id: RequestId;
  /** Who answers. Set by the daemon, such as `headless`. */
  source?: string;
  /** The answer; null to close the dialog without one. */
  value: UiValue | null;
}

/** What a person answered to a dialog. */
export type UiValue =
  /** One text. */
  | string
  /** Several picks. */
  | string[];

/** Tokens that provider calls took, and what they cost. */
export interface Usage {
  /** Tokens served from the provider's cache. */
  cache_read?: number;
  /** Tokens put into the provider's cache. */
  cache_write?: number;
  /** How full the context window is after the call, in tokens. */
  context_tokens?: number;
  /** US dollars, where the catalog knows the model's prices. */
  cost?: number;
  /** Tokens read and not served from a cache. */
  input: number;
  /** The model's id, `provider/model`. */
  model?: string;
  /** Tokens written. */
  output: number;
}

/** What a row of usage stands for. */
export type UsageGroup = "day" | "model" | "agent" | "project";

/** Sums tokens and cost. */
export interface UsageQuery {
  /** One row for each what. */
  group_by: UsageGroup;
  /** From when, in milliseconds since the epoch. */
  since?: number;
  /** Until when, in milliseconds since the epoch. */
  until?: number;
}

/** One sum. */
export interface UsageRow {
  /** Tokens served from a cache. */
  cache_read: number;
  /** Tokens put into a cache. */
  cache_write: number;
  /** Provider calls. */
  calls: number;
  /** US dollars. */
  cost: number;
  /** Tokens read and not served from a cache. */
  input: number;
  /** What the row stands for. */
  key: string;
  /** Tokens written. */
  output: number;
}

/** Of `usage.query`. */
export interface UsageRows {
  /** The rows. */
  rows: UsageRow[];
}

/** What to wait for. */
export type WaitMode = "any" | "all";

/** Of `subagent.wait`. */
export interface Waited {
  /** The state that all share, else `mixed`. */
  aggregate_state: AggregateState;
  /** The runs, in order. */
  runs: RunSnapshot[];
  /** The time ran out first. */
  timed_out: boolean;
}

/** One workspace. */
export interface Workspace {
  /** How many agents it has had. */
  agent_count: number;
  /** Those agents; in details only. */
  agent_ids?: AgentId[];
  /** Where the branch started. */
  base_ref?: string;
  /** Its branch. */
  branch?: string;
  /** What became of it, or how it differs from what it should be; in details only. */
  conflict?: string;
  /** Milliseconds since the epoch. */
  created_at: number;
  /** The worktree. */
  cwd: string;
  /** The branch that the work is meant to reach. */
  integration_target?: string;
  /** What it is called. */
  label?: string;
  /** Where it stands in its life. */
  lifecycle: WorkspaceLifecycle;
  /** Who made it: `managed`. */
  ownership: string;
  /** The root of the project that it belongs to. */
  repository_cwd?: string;
  /** Tells this repository from others without naming a path. */
  repository_fingerprint?: string;
  /** Milliseconds since the epoch. */
  retired_at?: number;
  /** Milliseconds since the epoch. */
  updated_at: number;
  /** Which workspace. */
  workspace_id: WorkspaceId;
  /** Tells this worktree from others without naming a path. */
  worktree_fingerprint?: string;
}

/** Starts another agent in a workspace. */
export interface WorkspaceAttach {
  /** The agent's mode. */
  mode?: string;
  /** The agent's model. */
  model?: string;
  /** What to call the agent. */
  name?: string;
  /** The model's provider. */
  provider?: string;
  /** Against doing it twice after a lost answer. */
  request_key?: RequestKey;
  /** What the session is about. */
  title?: string;
  /** Version of the command; 1. */
  version?: number;
  /** Which workspace. */
  workspace_id: WorkspaceId;
}

/** An agent was started in a workspace. */
export interface WorkspaceAttached {
  /** The new agent. */
  agent_id: AgentId;
  /** Its session. */
  session_id: SessionId;
  /** The workspace. */
  workspace: Workspace;
}

/** A workspace does not look as it was left. */
export interface WorkspaceConflict {
  /** How, without paths. */
  reason: string;
  /** The workspace. */
  workspace: Workspace;
}

/** Makes a worktree and an agent in it. */
export interface WorkspaceCreate {
  /** Where the branch starts. */
  base_ref?: string;
  /** The branch to make. */
  branch?: string;
  /** A folder of the repository. */
  cwd: string;
  /** The branch that the work is meant to reach. */
  integration_target?: string;
  /** What to call the workspace. */
  label?: string;
  /** The agent's mode. */
  mode?: string;
  /** The agent's model. */
  model?: string;
  /** What to call the agent. */
  name?: string;
  /** The model's provider. */
  provider?: string;
  /** Against doing it twice after a lost answer. */
  request_key?: RequestKey;
  /** What the session is about. */
  title?: string;
  /** Version of the command; 1. */
  version?: number;
}

/** A workspace was made. */
export interface WorkspaceCreated {
  /** The workspace. */
  workspace: Workspace;
}

/** Of `workspace.create`, `workspace.attach`, `workspace.status` and `workspace.retire`. */
export interface WorkspaceData {
  /** The agent that was started, by `create` and `attach`. */
  agent_id?: AgentId;
  /** The same request key was carried out before; nothing was done now. */
  duplicate?: boolean;
  /** The session of that agent. */
  session_id?: SessionId;
  /** The workspace. */
  workspace: Workspace;
}

/** One managed worktree. */
export type WorkspaceId = string;

/** Where a workspace stands in its life. */
export type WorkspaceLifecycle = "creating" | "active" | "retiring" | "retired" | "conflict";

/** Lists workspaces. */
export interface WorkspaceList {
  /** Only those of the repository of this folder. */
  cwd?: string;
  /** Retired ones too. */
  include_retired?: boolean;
  /** Version of the command; 1. */
  version?: number;
}

/** Removes a workspace's worktree, and its branch if that is safe. */
export interface WorkspaceRetire {
  /** What becomes of its branch. */
  branch_disposition?: BranchDisposition;
  /** Version of the command; 1. */
  version?: number;
  /** Which workspace. */
  workspace_id: WorkspaceId;
}

/** A workspace was retired. */
export interface WorkspaceRetired {
  /** The workspace. */
  workspace: Workspace;
}

/** Asks after one workspace. */
export interface WorkspaceStatus {
  /** Version of the command; 1. */
  version?: number;
  /** Which workspace. */
  workspace_id: WorkspaceId;
}

/** Of `workspace.list`. */
export interface Workspaces {
  /** The workspaces. */
  workspaces: Workspace[];
}
