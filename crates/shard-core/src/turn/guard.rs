//! Stops a turn that repeats itself without getting anywhere.

use crate::agent::Call;

/// How often the same call may fail in a row.
const SAME_FAILURES: u32 = 5;

/// How a call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallOutcome {
    Worked,
    Failed,
}

/// Counts how often the same call has failed in a row.
#[derive(Default)]
pub(super) struct LoopGuard {
    last: Option<Call>,
    failures: u32,
}

impl LoopGuard {
    /// Looks at one call; gives an explanation when it is time to stop.
    pub(super) fn look_at(&mut self, call: &Call, outcome: CallOutcome) -> Option<String> {
        let same = self
            .last
            .as_ref()
            .is_some_and(|last| last.name == call.name && last.args == call.args);
        self.failures = match (outcome, same) {
            (CallOutcome::Worked, _) => 0,
            (CallOutcome::Failed, true) => self.failures + 1,
            (CallOutcome::Failed, false) => 1,
        };
        if !same {
            self.last = Some(call.clone());
        }
        (self.failures >= SAME_FAILURES).then(|| {
            format!(
                "the turn was stopped: the same call of `{}` failed {SAME_FAILURES} times in a row; \
                 say how to go on",
                call.name
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;

    fn call(path: &str) -> Call {
        let args = Map::from_iter([("path".to_owned(), Value::from(path))]);
        Call {
            id: path.to_owned(),
            name: "read".to_owned(),
            args: Ok(args),
        }
    }

    #[test]
    fn only_the_same_failure_in_a_row_counts() {
        let mut guard = LoopGuard::default();
        for round in 0..20 {
            let path = if round % 4 == 3 { "b" } else { "a" };
            assert_eq!(
                guard.look_at(&call(path), CallOutcome::Failed),
                None,
                "{round}"
            );
        }
        for round in 0..20 {
            let outcome = if round % 5 == 4 {
                CallOutcome::Worked
            } else {
                CallOutcome::Failed
            };
            assert_eq!(guard.look_at(&call("c"), outcome), None, "{round}");
        }
        let stops: Vec<_> = (0..5)
            .map(|_| guard.look_at(&call("d"), CallOutcome::Failed).is_some())
            .collect();
        assert_eq!(stops, [false, false, false, false, true]);
    }
}
