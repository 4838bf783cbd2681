//! The keys of the configuration file. Their comments become the descriptions of its JSON
//! Schema, which is also what unknown keys are told apart by.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shard_types::HeadlessPolicy;

use crate::{McpConfig, ProviderConfig, RuleEntry};

/// Configuration of Shard. Every key may be left out. Keys that begin with `//` are remarks.
///
/// Serializing is for showing: secrets come out as `***`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Where this file's JSON Schema is, for editors.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The model to begin with, as `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The providers by name. Names consist of `a-z`, `0-9`, `_` and `-`.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// What agents may do unasked.
    pub permissions: Permissions,
    /// How long conversations are made shorter.
    pub compaction: Compaction,
    /// Limits of the tools.
    pub tools: Tools,
    /// Confinement of the programs that agents start.
    pub sandbox: Sandbox,
    /// Agents that agents start.
    pub subagents: Subagents,
    /// Servers of the Model Context Protocol.
    pub mcp: McpConfig,
    /// The daemon and its listener.
    pub daemon: Daemon,
}

/// What agents may do unasked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Permissions {
    /// Rules for all projects. Any deny wins; else the first allow or ask that matches.
    #[serde(deserialize_with = "crate::rules::read_each")]
    #[schemars(with = "Vec<shard_types::Rule>")]
    pub rules: Vec<RuleEntry>,
    /// Seconds that a question waits for its answer before the headless policy decides. With a
    /// daemon, they count from when the last person has left.
    pub ask_timeout_secs: u64,
    /// What happens to a question that nobody is there to answer.
    pub headless_policy: HeadlessPolicy,
}

impl Default for Permissions {
    fn default() -> Self {
        let headless_policy = HeadlessPolicy::Deny;
        Self {
            rules: Vec::new(),
            ask_timeout_secs: 60,
            headless_policy,
        }
    }
}

/// How long conversations are made shorter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Compaction {
    /// Whether it happens by itself.
    pub enabled: bool,
    /// The share of the context window that is kept free, between 0 and 1.
    pub reserve_ratio: f64,
    /// How many of the newest tokens are kept as they are.
    pub keep_recent_tokens: u64,
}

impl Default for Compaction {
    fn default() -> Self {
        Self {
            enabled: true,
            reserve_ratio: 0.2,
            keep_recent_tokens: 20_000,
        }
    }
}

/// Limits of the tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tools {
    /// Seconds that a command may run when the model names no limit.
    pub bash_timeout_secs: u64,
    /// How many bytes of a tool's output the model gets to read.
    pub max_output_bytes: u64,
    /// How many calls to the model one turn may make.
    pub max_rounds: u32,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            bash_timeout_secs: 120,
            max_output_bytes: 50_000,
            max_rounds: 200,
        }
    }
}

/// Confinement of the programs that agents start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Sandbox {
    /// Whether programs are confined.
    pub mode: SandboxMode,
    /// Further files and folders that programs may write to: absolute, or beginning with `~/`.
    pub write: Vec<String>,
}

/// Whether programs are confined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// As far as the system can do it.
    #[default]
    Auto,
    /// Wholly: where the system cannot do all of it, programs do not start.
    On,
    /// No file is restricted. Processes outside stay hidden, where the system can do it.
    Off,
}

/// Agents that agents start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Subagents {
    /// The names that they are given for display.
    pub names: Vec<String>,
    /// How many tasks one launch may have.
    pub max_tasks: u32,
    /// How many generations of agents there may be below the first; 0 allows none.
    pub max_depth: u32,
    /// How many may run at the same time.
    pub max_running: u32,
}

impl Default for Subagents {
    fn default() -> Self {
        let names = DEFAULT_NAMES.map(str::to_owned).to_vec();
        Self {
            names,
            max_tasks: 8,
            max_depth: 3,
            max_running: 8,
        }
    }
}

/// Short, easy to tell apart, and no one's first name in most rooms.
const DEFAULT_NAMES: [&str; 16] = [
    "Juniper", "Alder", "Bramble", "Cedar", "Clover", "Fennel", "Hazel", "Larch", "Maple",
    "Nettle", "Poplar", "Quince", "Rowan", "Sorrel", "Tansy", "Yarrow",
];

/// The daemon and its listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Daemon {
    /// The port on the loopback address; 0 takes any free one.
    pub port: u16,
    /// Seconds after which an idle agent's process is stopped; work restores it.
    pub idle_timeout_secs: u64,
    /// Further web origins that may talk to the daemon, such as `https://shard.example`.
    pub allowed_origins: Vec<String>,
    /// How many bytes may wait for one slow client before it is cut off.
    pub client_queue_bytes: u64,
}

impl Default for Daemon {
    fn default() -> Self {
        Self {
            port: 7411,
            idle_timeout_secs: 1800,
            allowed_origins: Vec::new(),
            client_queue_bytes: 8 << 20,
        }
    }
}

/// The JSON Schema of the configuration file.
#[must_use]
pub fn schema() -> Value {
    generated().clone()
}

pub(crate) fn generated() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = schemars::schema_for!(Config).into();
        allow_remarks(&mut schema);
        schema
    })
}

/// Exempts remarks from what an object demands of keys that it has no description for.
fn allow_remarks(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(allow_remarks);
            if map.contains_key("additionalProperties") {
                map.insert("patternProperties".to_owned(), json!({ "^//": true }));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(allow_remarks),
        _ => {}
    }
}
