//! Which reasoning effort a model is asked for.
//!
//! A session has one wish, and each model answers to it as far as it can: one that lacks the
//! effort works with its provider's default. So a wish outlives a model that does not have it.

use shard_types::{ModelSpec, ReasoningLevel};

/// The level of a model that is asked for nothing: its provider decides.
const DEFAULT: &str = "default";

/// The effort that was asked for in a session; nothing is what providers do by themselves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Effort(Option<String>);

impl Effort {
    /// The wish for a level.
    pub(crate) fn named(level: &str) -> Self {
        Self((level != DEFAULT).then(|| level.to_owned()))
    }

    /// The effort, if it was asked for and this model does not have it.
    pub(crate) fn lacked_by(&self, model: &ModelSpec) -> Option<&str> {
        let effort = self.0.as_deref()?;
        self.asked_of(model).is_none().then_some(effort)
    }

    /// What a call of this model says.
    pub(super) fn asked_of(&self, model: &ModelSpec) -> Option<&str> {
        let effort = self.0.as_deref()?;
        names(model).any(|name| name == effort).then_some(effort)
    }

    /// The level of this model that is active.
    pub(super) fn of(&self, model: &ModelSpec) -> &str {
        match &self.0 {
            Some(effort) if self.asked_of(model).is_some() => effort,
            _ => DEFAULT,
        }
    }
}

/// The model's own names, each once. One that names the default has no second one.
fn names(model: &ModelSpec) -> impl Iterator<Item = &str> {
    let all = &model.reasoning;
    let once = |(at, name): (usize, &String)| !all[..at].contains(name);
    let names = all.iter().enumerate().filter(move |entry| once(*entry));
    names
        .map(|(_, name)| name.as_str())
        .filter(|name| !name.trim().is_empty() && *name != DEFAULT)
}

/// Whether there is anything to choose.
pub(super) fn has_levels(model: &ModelSpec) -> bool {
    names(model).next().is_some()
}

/// The levels of a model: its provider's default, then its own, from least to most.
pub(super) fn levels(model: &ModelSpec) -> Vec<ReasoningLevel> {
    let default = ReasoningLevel {
        id: DEFAULT.to_owned(),
        label: label(DEFAULT),
        description: Some("What the provider does when nothing is asked for".to_owned()),
    };
    let own = names(model).map(|name| ReasoningLevel {
        id: name.to_owned(),
        label: label(name),
        description: None,
    });
    std::iter::once(default).chain(own).collect()
}

/// The name as a heading has it.
fn label(name: &str) -> String {
    let mut letters = name.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(reasoning: &[&str]) -> ModelSpec {
        ModelSpec {
            reasoning: reasoning.iter().map(|&name| name.to_owned()).collect(),
            ..ModelSpec::default()
        }
    }

    #[test]
    fn levels_are_the_default_and_each_name_once() {
        let check = |names: &[&str], want: &[(&str, &str)]| {
            let model = model(names);
            let levels = levels(&model);
            let got: Vec<_> = levels
                .iter()
                .map(|level| (level.id.as_str(), level.label.as_str()))
                .collect();
            assert_eq!(got, want);
            assert_eq!(has_levels(&model), want.len() > 1);
        };
        check(&[], &[("default", "Default")]);
        check(&["default", " "], &[("default", "Default")]);
        check(
            &["low", "xhigh", "low", "default"],
            &[("default", "Default"), ("low", "Low"), ("xhigh", "Xhigh")],
        );
    }

    #[test]
    fn a_model_that_lacks_the_effort_has_its_default() {
        let high = Effort::named("high");
        let (with, without) = (model(&["low", "high"]), model(&["low"]));
        assert_eq!(
            (high.of(&with), high.asked_of(&with)),
            ("high", Some("high"))
        );
        assert_eq!(
            (high.of(&without), high.asked_of(&without)),
            ("default", None)
        );
        assert_eq!(
            (high.lacked_by(&with), high.lacked_by(&without)),
            (None, Some("high"))
        );
        for named in [Effort::default(), Effort::named("default")] {
            assert_eq!((named.of(&with), named.asked_of(&with)), ("default", None));
        }
    }
}
