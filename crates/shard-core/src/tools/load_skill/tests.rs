use std::path::PathBuf;

use serde_json::json;
use shard_config::Permissions;
use shard_config::resources::{Resources, Roots};

use super::*;
use crate::tools::bench::{Bench, said};

struct World {
    dir: tempfile::TempDir,
    knowledge: Arc<Knowledge>,
}

impl World {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            knowledge: Arc::default(),
        }
    }

    fn skill(&self, name: &str, body: &str) -> PathBuf {
        let folder = self.dir.path().join("state/skills").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("---\nname: {name}\ndescription: About {name}.\n---\n{body}");
        std::fs::write(folder.join("SKILL.md"), text).unwrap();
        folder.canonicalize().unwrap()
    }

    fn know(&self, loads_skills: bool) -> Option<String> {
        let roots = Roots {
            cwd: self.dir.path().to_owned(),
            config_path: self.dir.path().join("config.json"),
            state_home: self.dir.path().join("state"),
            home: None,
            trust_project: false,
            agents_md: false,
        };
        let found = Resources::find(&roots, &Permissions::default());
        self.knowledge.replace(&found, loads_skills)
    }

    fn prompt(&self) -> String {
        let mut prompt = String::new();
        self.knowledge.write_prompt(&mut prompt);
        prompt
    }

    async fn load(&self, name: &str) -> ToolOutput {
        let tool = LoadSkill::new(Arc::clone(&self.knowledge));
        let context = Bench::new().context("ask_user", &json!({}));
        let Value::Object(input) = json!({ "name": name }) else {
            unreachable!()
        };
        tool.execute(input, &context).await
    }
}

#[tokio::test]
async fn a_skill_comes_whole_with_its_folder_and_the_names_of_its_files() {
    let world = World::new();
    let folder = world.skill("pdf", &format!("# Do\n\u{1b}[2J{}\n", "x".repeat(60_000)));
    std::fs::create_dir(folder.join("scripts")).unwrap();
    std::fs::write(folder.join("scripts/fill.py"), "").unwrap();
    world.know(true);
    let output = world.load("pdf").await;
    let text = said(&output);
    let start = format!("<skill name=\"pdf\">\nFolder: {}\n", folder.display());
    assert!(text.starts_with(&start), "{}", &text[..200]);
    assert!(
        text.contains("\n- scripts/fill.py\n\n# Do\n"),
        "{}",
        &text[..300]
    );
    assert!(
        text.ends_with("xxx\n</skill>"),
        "the bound of other tools does not cut it"
    );
    assert!(!text.contains('\u{1b}'), "no control sequence of a file");
    let kept = output.keep.as_ref().unwrap();
    assert_eq!(kept.kind, "skill_activation");
    assert_eq!(
        (&kept.details["name"], &kept.details["text"]),
        (&json!("pdf"), &json!(text))
    );
}

#[tokio::test]
async fn what_is_too_long_or_not_there_is_an_error_and_keeps_nothing() {
    let world = World::new();
    world.skill("long", &"x".repeat(128 * 1024 - 60));
    world.skill("wild", &"\u{1b}".repeat(60_000));
    let folder = world.skill("gone", "x");
    world.know(true);
    std::fs::remove_file(folder.join("SKILL.md")).unwrap();
    for (name, why) in [
        ("long", "131072 are the most"),
        ("wild", "131072 are the most"),
        ("gone", "SKILL.md cannot be found"),
        ("../gone", "there are: gone, long, wild"),
    ] {
        let output = world.load(name).await;
        assert!(output.is_error && output.keep.is_none(), "{name}");
        assert!(said(&output).len() <= 128 * 1024);
        assert!(said(&output).contains(why), "{}", said(&output));
    }
}

#[tokio::test]
async fn an_edited_text_is_loaded_as_it_is_now() {
    let world = World::new();
    world.skill("pdf", "before");
    world.know(true);
    world.skill("pdf", "after");
    assert!(said(&world.load("pdf").await).contains("\nafter\n"));
}

#[test]
fn the_list_of_skills_is_there_with_the_tool_and_has_a_bound() {
    let world = World::new();
    assert_eq!(world.know(true), None);
    assert_eq!(world.prompt(), "");
    assert!(!LoadSkill::new(Arc::clone(&world.knowledge)).available());
    let folder = world.skill("pdf", "x");
    world.know(true);
    let line = format!(
        "<available_skills>\npdf: About pdf. ({}/SKILL.md)\n</available_skills>\n",
        folder.display()
    );
    assert!(world.prompt().ends_with(&line), "{}", world.prompt());
    assert!(LoadSkill::new(Arc::clone(&world.knowledge)).available());
    world.know(false);
    assert_eq!(
        world.prompt(),
        "",
        "without the tool there is nothing to choose from"
    );
    for number in 0..100 {
        let folder = world.skill(&format!("s{number}"), "");
        let text = format!(
            "---\nname: s{number}\ndescription: {}\n---\n",
            "d".repeat(1000)
        );
        std::fs::write(folder.join("SKILL.md"), text).unwrap();
    }
    let told = world.know(true).unwrap();
    assert!(
        told.contains("65536 bytes") && told.contains("s99"),
        "{told}"
    );
    assert!(world.prompt().len() < 66 * 1024);
}
