//! Transcripts of Claude Code, made up record by record.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::support::*;

/// A transcript of Claude Code, written record by record.
pub struct Transcript {
    pub path: PathBuf,
    pub cwd: String,
    pub session: String,
    at: String,
    records: usize,
}

impl Transcript {
    pub fn of(world: &World, session: &str, at: &str) -> Transcript {
        let root = world.root().canonicalize().unwrap();
        let name: String =
            root.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let directory = world.home().join(".claude/projects").join(name);
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join(format!("{session}.jsonl"));
        // The ids of the records go on, because no client writes the same id for two of them.
        let records = std::fs::read_to_string(&path).unwrap_or_default().lines().count();
        Transcript { path, cwd: root.display().to_string(), session: session.to_owned(), at: at.to_owned(), records }
    }

    pub fn record(&mut self, kind: &str, content: Value) -> &mut Transcript {
        self.records += 1;
        let record = json!({
            "type": kind, "sessionId": self.session, "cwd": self.cwd, "isSidechain": false, "gitBranch": "main",
            "timestamp": self.at, "uuid": format!("{}-{}", self.session, self.records),
            "message": { "role": kind, "model": "m", "content": content },
        });
        let old = std::fs::read_to_string(&self.path).unwrap_or_default();
        std::fs::write(&self.path, format!("{old}{record}\n")).unwrap();
        self
    }

    pub fn asks(&mut self, text: &str) -> &mut Transcript {
        self.record("user", json!(text))
    }

    pub fn says(&mut self, text: &str) -> &mut Transcript {
        self.record("assistant", json!([{ "type": "text", "text": text }]))
    }

    pub fn tool(&mut self, name: &str, input: Value, output: &str, is_error: bool) -> &mut Transcript {
        let id = format!("tool-{}", self.records);
        self.record("assistant", json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]));
        let result = json!([{ "type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error }]);
        self.record("user", result)
    }

    pub fn runs(&mut self, command: &str, output: &str, is_error: bool) -> &mut Transcript {
        self.tool("Bash", json!({ "command": command }), output, is_error)
    }

    pub fn edits(&mut self, path: &str) -> &mut Transcript {
        let path = format!("{}/{path}", self.cwd);
        self.tool("Edit", json!({ "file_path": path }), "ok", false)
    }
}
