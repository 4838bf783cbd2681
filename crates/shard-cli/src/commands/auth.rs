//! `shard auth`: which browsers may come in.

use serde_json::Value;
use shard_protocol::{AuthApprove, AuthList, AuthRevoke, AuthToken, Enrollments, SetupToken};
use shard_types::time;

use super::block_on;
use super::show::{age, table};
use crate::args::{AuthArgs, AuthCommand};
use crate::client::{ANSWER, Client};
use crate::failure::{Failure, print, say};
use crate::places::Places;

pub(crate) fn run(args: AuthArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    block_on(async {
        let mut client = Client::connect(&places).await?;
        match args.command {
            AuthCommand::Token => {
                let token: SetupToken = client.call(AuthToken {}, ANSWER).await?;
                print(&token.url)?;
                let minutes = token
                    .expires_at
                    .saturating_sub(time::now_ms())
                    .div_ceil(60_000);
                say(&format!(
                    "open it in a browser; it works once, for {minutes} minutes"
                ));
            }
            AuthCommand::Ls(list) => {
                let data: Value = client.call(AuthList {}, ANSWER).await?;
                if list.json {
                    print(&serde_json::to_string_pretty(&data)?)?;
                } else {
                    show(&serde_json::from_value(data)?)?;
                }
            }
            AuthCommand::Approve { code } => {
                let _: Value = client.call(AuthApprove { code }, ANSWER).await?;
                print("the browser is let in")?;
            }
            AuthCommand::Revoke { principal } => {
                let revoke = AuthRevoke {
                    principal_id: principal,
                };
                let _: Value = client.call(revoke, ANSWER).await?;
                print("the browser is put out, and its connections are closed")?;
            }
        }
        Ok(())
    })
}

fn show(enrollments: &Enrollments) -> Result<(), Failure> {
    let Enrollments {
        pending,
        principals,
    } = enrollments;
    if pending.is_empty() && principals.is_empty() {
        say("no browser is let in, and none waits; `shard web` opens one");
        return Ok(());
    }
    let now = time::now_ms();
    if !pending.is_empty() {
        let rows: Vec<_> = pending
            .iter()
            .map(|it| [it.code.clone(), age(it.created_at, now)])
            .collect();
        print(&table(["WAITING", "AGE"], &rows))?;
    }
    if !principals.is_empty() {
        let rows: Vec<_> = principals
            .iter()
            .map(|it| {
                [
                    it.principal_id.to_string(),
                    age(it.created_at, now),
                    age(it.last_seen_at, now),
                    it.user_agent.clone().unwrap_or_else(|| "-".to_owned()),
                ]
            })
            .collect();
        print(&table(["PRINCIPAL", "AGE", "SEEN", "BROWSER"], &rows))?;
    }
    Ok(())
}
