//! `shard log`: what was said to an agent, and what it said and did.

use shard_protocol::{AttachRole, MessagePage, SessionMessages};
use shard_types::{AgentId, EntryId, Message, SessionId};

use super::show::{Follower, Screen, Style, written};
use super::{asked_to_end, block_on};
use crate::args::LogArgs;
use crate::client::{ANSWER, Client, is_too_large};
use crate::failure::{Failure, print, say};
use crate::places::Places;

/// How many messages are read at a time; fewer where they are large.
const PAGE: u32 = 100;

pub(crate) fn run(args: &LogArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    let style = if args.json { Style::Json } else { Style::Text };
    block_on(async {
        let mut client = Client::connect(&places).await?;
        let agent = client.find(&args.agent).await?;
        // First, so that nothing is missed between what was and what comes.
        let sync = if args.follow {
            let attached = client.attach(&agent.agent_id, AttachRole::Observer).await?;
            Some(attached.1)
        } else {
            None
        };
        let mut messages = match &agent.session_id {
            Some(session_id) => all(&mut client, session_id).await?,
            None => Vec::new(),
        };
        let Some(sync) = sync else {
            return show(&messages, style);
        };
        let last = sync.live_window.messages.into_iter().next_back();
        let is_new = |last: &Message| messages.iter().all(|message| message.id != last.id);
        messages.extend(last.filter(|last| last.partial && is_new(last)));
        let screen = match style {
            Style::Text => Screen::joined()?,
            Style::Json => Screen::apart(style)?,
        };
        screen.end_unread()?;
        let mut follower = Follower::new(screen.printer.clone(), style);
        follower.past(&messages);
        let outcome = follow(&mut client, &agent.agent_id, &mut follower, &screen).await;
        screen.finish();
        outcome
    })
}

fn show(messages: &[Message], style: Style) -> Result<(), Failure> {
    if messages.is_empty() {
        say("nothing was said yet; `shard prompt` and `shard attach` begin");
        return Ok(());
    }
    print(&written(messages, style).0)?;
    Ok(())
}

/// All messages of a session, oldest first.
async fn all(client: &mut Client, session_id: &SessionId) -> Result<Vec<Message>, Failure> {
    let (mut pages, mut limit, mut before) = (Vec::new(), PAGE, None::<EntryId>);
    loop {
        let query = SessionMessages {
            session_id: session_id.clone(),
            before: before.clone(),
            limit: Some(limit),
        };
        let id = client.send(query.into()).await?;
        let page: MessagePage = match client.answer(&id, ANSWER).await? {
            Ok(data) => serde_json::from_value(data)?,
            Err(error) if is_too_large(&error) && limit > 1 => {
                limit /= 2;
                continue;
            }
            Err(error) => return Err(Failure::from_answer(error)),
        };
        before = page.messages.first().map(|message| message.id.clone());
        let more = page.has_more && before.is_some();
        pages.push(page.messages);
        if !more {
            return Ok(pages.into_iter().rev().flatten().collect());
        }
    }
}

async fn follow(
    client: &mut Client,
    agent_id: &AgentId,
    follower: &mut Follower,
    screen: &Screen,
) -> Result<(), Failure> {
    let mut asked = std::pin::pin!(asked_to_end());
    loop {
        screen.printer.ready().await;
        tokio::select! {
            event = client.next_of(agent_id) => follower.show(&event?, false),
            () = screen.out.closed() => return Ok(()),
            () = &mut asked => return Ok(()),
        }
    }
}
