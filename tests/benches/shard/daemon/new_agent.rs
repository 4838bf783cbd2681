//! From nothing to the first token of an answer.

use std::time::Instant;

use anyhow::Result;
use shard_testkit::{Home, ScriptedModel, reply};

use super::peer::{Bare, Daemon};
use crate::samples::Samples;
use crate::{ROUNDS, WARM_UPS};

/// Times with a process of one's own, and with an agent of a daemon.
#[derive(Default)]
pub(crate) struct NewAgent {
    pub(crate) bare: Samples,
    pub(crate) daemon: Samples,
}

pub(crate) fn times() -> Result<NewAgent> {
    let model = ScriptedModel::answering(|_| reply!["Hello."]);
    let home = Home::new(&model);
    let daemon = Daemon::start(&home)?;
    let mut times = NewAgent::default();
    for round in 0..WARM_UPS + ROUNDS {
        let began = Instant::now();
        let mut bare = Bare::start(&home)?;
        bare.peer.prompt("hi")?;
        bare.peer.until("message_delta")?;
        let by_itself = began.elapsed();
        drop(bare);

        let mut peer = daemon.connect()?;
        let began = Instant::now();
        let agent = daemon.create(&mut peer)?;
        daemon.attach(&mut peer, &agent)?;
        peer.prompt("hi")?;
        peer.until("message_delta")?;
        let supervised = began.elapsed();
        if round >= WARM_UPS {
            times.bare.push(by_itself);
            times.daemon.push(supervised);
        }
    }
    Ok(times)
}
