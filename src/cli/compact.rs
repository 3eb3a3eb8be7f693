//! `memory compact`, also `compact`: rolls the notes of finished months into layer 3. It suits cron: mostly it finds
//! nothing to do, and quickly.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::ui::Progress;
use super::{Context, render, run};
use crate::base::{clock, duration, signals, text};
use crate::engine;
use crate::error::{Error, Result};
use crate::guard::Stop;
use crate::memory::Memory;
use crate::memory::Month;
use crate::memory::compact::{Compaction, Selection, ended_before};
use crate::project::Project;

/// How long to wait for a handover that is going on.
const PATIENCE: Duration = Duration::from_secs(60);

/// Archive the notes of finished months in layer 3
#[derive(Args)]
pub(super) struct Compact {
    /// Only this month [default: every finished month]
    #[arg(long, value_name = "YYYY-MM", value_parser = parse_month, conflicts_with = "older_than")]
    month: Option<Month>,
    /// Only months that ended at least this long ago, such as `30d` or `2 months`
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    older_than: Option<Duration>,
    /// Only notes with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Keep the notes in layer 1, too
    #[arg(long)]
    keep_notes: bool,
    /// Print what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

fn parse_month(word: &str) -> Result<Month, String> {
    Month::parse(word).ok_or_else(|| "expected a month such as `2026-10`".to_owned())
}

fn parse_duration(word: &str) -> Result<Duration, String> {
    duration::parse(word).ok_or_else(|| format!("expected {}", duration::EXPECTED))
}

impl Compact {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        signals::listen();
        let project = context.project(None, None)?;
        let memory = Memory::at(&project.memory_root, project.memory_dir()?);
        let before = ended_before(&clock::now(), self.older_than);
        if let Some(month) = self.month.filter(|month| month.end() > before) {
            return Err(Error::usage(format!("{month} is not over yet")).hint("only finished months are compacted"));
        }
        let selection = Selection {
            month: self.month,
            before,
            tag: self.tag.clone(),
            keep_notes: self.keep_notes,
            dry_run: self.dry_run,
        };
        if let Some(stop) = project.brake().pressed() {
            return Err(stop.error());
        }
        if !self.dry_run {
            engine::finish_interrupted(&project, &mut |event| run::warn_of(context.ui, &event));
        }
        // Looking needs no lock, and on most days there is nothing to do.
        let done = match memory.has_notes(&selection)? {
            false => Compaction::default(),
            true if self.dry_run => memory.compact(&selection, &project.brake(), &mut |_, _| ())?,
            true => self.act(context, &project, &memory, &selection)?,
        };
        let trouble = done.stopped.as_ref().map(Stop::error).or_else(|| done.trouble());
        self.report(context, &project, &done, trouble.as_ref());
        match trouble {
            // The one JSON document holds the error already.
            Some(error) if self.json => {
                render::error(context.ui, &error, &context.cwd);
                Ok(error.category().exit_code())
            }
            Some(error) => Err(error),
            None => Ok(0),
        }
    }

    fn act(
        &self,
        context: &mut Context<'_>,
        project: &Project,
        memory: &Memory,
        selection: &Selection,
    ) -> Result<Compaction> {
        let bar: Progress = context.ui.progress("compacting");
        let ui = &*context.ui;
        let done = engine::between_runs(project, PATIENCE, &mut |event| run::warn_of(ui, &event), |_| {
            memory.compact(selection, &project.brake(), &mut |done, total| bar.show(done, total))
        });
        bar.end();
        done
    }

    fn report(&self, context: &mut Context<'_>, project: &Project, done: &Compaction, trouble: Option<&Error>) {
        let show =
            |path: &std::path::Path| path.strip_prefix(&project.memory_root).unwrap_or(path).display().to_string();
        if self.json {
            let archives: Vec<_> = done
                .rolled
                .iter()
                .map(|rolled| {
                    json!({
                        "month": rolled.month.to_string(), "tag": rolled.tag, "archive": show(&rolled.archive),
                        "files": rolled.files, "entries": rolled.entries,
                    })
                })
                .collect();
            let mut document =
                json!({ "schema": "agent-handover/memory-compact/1", "dry_run": self.dry_run, "archives": archives });
            if let Some(error) = trouble {
                document["error"] = render::parts(error);
            }
            context.ui.answer_json(&document);
            return;
        }
        for rolled in &done.rolled {
            let (entries, files) = (text::count(rolled.entries, "note"), text::count(rolled.files, "file"));
            let would = if self.dry_run { "would be: " } else { "" };
            context.ui.answer(&format!("{would}{entries} from {files} in {}", show(&rolled.archive)));
        }
        if done.rolled.is_empty() && trouble.is_none() {
            context.ui.tell("nothing to compact: no finished month has such notes in layer 1");
        }
    }
}
