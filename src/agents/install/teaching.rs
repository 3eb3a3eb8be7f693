//! What agents learn from us: the skill that writes a good handoff, and a few lines for agents without skills or hooks.

use std::path::Path;

use super::agent_file::{AgentFile, WholeFile};
use super::seal;

pub(crate) const INSTRUCTIONS: &str = include_str!("instructions.md");
const SKILL: &str = include_str!("skill.md");

/// The skill, as a file in this directory of skills.
pub(crate) fn skill(skills: &Path) -> AgentFile {
    AgentFile::whole(
        skills.join("handover/SKILL.md"),
        WholeFile::Skill,
        seal::sealed(&format!("{SKILL}\n"), "<!-- ", " -->"),
    )
}

/// The instructions, as a block in this file.
pub(crate) fn instructions(path: &Path) -> AgentFile {
    AgentFile::block(path.to_path_buf(), INSTRUCTIONS.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skill_keeps_to_the_common_format() {
        let (head, body) = SKILL.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
        let value = |key: &str| head.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        assert_eq!(value("name: "), "handover", "the name of its directory");
        assert!((1..=1024).contains(&value("description: ").len()));
        assert!(!value("description: ").contains(": "), "plain YAML");
        assert!(body.lines().count() < 500);
        for word in ["handoff", "checkpoint", "freeze"] {
            assert!(head.contains(word) && INSTRUCTIONS.contains(word), "{word}");
        }
        for command in ["check", "history create", "run --resume", "memory capture", "memory add", "memory done"] {
            assert!(SKILL.contains(&format!("agent-handover {command}")), "{command}");
        }
    }
}
