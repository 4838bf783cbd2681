//! `shard new`: makes an agent.

use std::path::PathBuf;

use serde_json::json;
use shard_protocol::{AgentCreate, AgentCreated, DaemonCommand, ErrorBody};
use shard_types::{AgentId, HeadlessPolicy};

use super::{block_on, prompt, request_key};
use crate::args::NewArgs;
use crate::client::{Client, START};
use crate::failure::{Failure, print};
use crate::places::Places;

pub(crate) fn run(args: NewArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    let blank = |text: &String| text.trim().is_empty();
    if args.prompt.as_ref().is_some_and(blank) {
        // Before an agent is made that is not wanted without it.
        return Err(Failure::usage("the prompt is empty; say what to do"));
    }
    block_on(async {
        let mut client = Client::connect(&places).await?;
        let (json, text) = (args.json, args.prompt.clone());
        let wish = wish(args, &places)?;
        let create = async |client: &mut Client| {
            let wish = DaemonCommand::AgentCreate(wish.clone());
            let id = client.send(wish).await?;
            let answer = client.answer(&id, START).await?;
            Ok(serde_json::from_value(answer.map_err(explained)?)?)
        };
        let AgentCreated { agent_id, .. } = client.start(&places, create).await?;
        if json {
            print(&json!({ "agent_id": agent_id }).to_string())?;
        } else {
            print(agent_id.as_str())?;
        }
        if let Some(text) = text {
            prompt::send(&mut client, &places, &agent_id, text).await?;
        }
        Ok(())
    })
}

fn wish(args: NewArgs, places: &Places) -> Result<AgentCreate, Failure> {
    let folder = places.current_dir.join(args.folder.unwrap_or_default());
    let cwd = utf8(folder)?;
    Ok(AgentCreate {
        cwd,
        session_id: None,
        model: args.model,
        provider: None,
        mode: args.mode,
        tools: args.tools,
        skills: None,
        // Whoever makes an agent here comes back to it.
        headless_policy: Some(args.headless_policy.unwrap_or(HeadlessPolicy::Queue)),
        name: args.name,
        parent_agent_id: None,
        system_prompt: None,
        depth: None,
        launch_policy: None,
        alias: None,
        definition_name: None,
        display_name: None,
        names: None,
        request_key: Some(request_key()?),
    })
}

pub(super) fn utf8(path: PathBuf) -> Result<String, Failure> {
    path.into_os_string().into_string().map_err(|path| {
        let path = path.to_string_lossy().into_owned();
        Failure::usage(format!("the folder {path:?} is no UTF-8 text; rename it"))
    })
}

/// An agent whose process did not start is there all the same.
pub(super) fn explained(error: ErrorBody) -> Failure {
    let kept = error.data.as_ref().and_then(|data| data.get("agent_id"));
    let kept: Option<AgentId> = kept.and_then(|id| serde_json::from_value(id.clone()).ok());
    let mut failure = Failure::from_answer(error);
    if let Some(id) = kept {
        failure.message = format!("{}; {id} is kept, a prompt tries it again", failure.message);
    }
    failure
}
