//! `history status` and `history validate`: where a history stands, and what is wrong with it.

use serde_json::{Value as Json, json};

use super::super::Context;
use super::super::provenance::{CAME_ALONG, claim, mark, mark_of_handoff, marked, warn_of_strange};
use super::{HistoryPlace, answer, leaks};
use crate::error::{Category, Error, Result};
use crate::handoff::Handoff;
use crate::history::{self, ByHand, Findings, HistoryStatus, Origin, without_standing};

/// What `history validate` looks at.
pub(super) struct Extent {
    /// Every archived session.
    pub sessions: bool,
    /// How the repository has moved since the latest handoff.
    pub git: bool,
    /// Personal paths, also where nothing is under git.
    pub strict: bool,
}

pub(super) fn validate(context: &mut Context<'_>, place: &HistoryPlace, extent: &Extent, as_json: bool) -> Result<u8> {
    if !as_json && !place.history.exists()? {
        let why = format!("there is nothing to validate: no history at {}", place.history.directory.display());
        return Err(Error::new(Category::NotGood, why).hint("a handover or `agent-handover history create` makes one"));
    }
    let Findings { problems, warnings, by_hand } = place.history.validate(extent.sessions)?;
    let provenance = place.provenance();
    // Problems quote the files, and a file that fits together with no archive of ours has nobody else who vouches for it.
    let is_ours = problems.is_empty() && warnings.is_empty() || provenance.of_history().vouches_for_all();
    // `validate` has reported a LATEST.md that cannot be read.
    let latest = place.history.latest_text().ok().flatten().unwrap_or_default();
    let warnings: Vec<String> = warnings
        .iter()
        .map(|warning| marked(is_ours, warning))
        .chain(leaks::found(place, &latest, extent.strict))
        .collect();
    let drift = if extent.git {
        let handoff = Handoff::parse(&latest).unwrap_or_default();
        let is_ours = provenance.owns_handoff(&history::own_keys::of_document(&latest, &handoff));
        let drift = history::drift(&place.root, handoff.text("current_branch"), handoff.text("head_commit"));
        drift.iter().map(|line| marked(is_ours, line)).collect()
    } else {
        Vec::new()
    };
    for line in warnings.iter().chain(&drift) {
        context.ui.warn(line);
    }
    let document = json!({
        "ok": problems.is_empty(),
        "problems": problems,
        "warnings": warnings,
        "ours": is_ours,
        "drift": drift,
    });
    if problems.is_empty() {
        answer(context, as_json, "validate", &["history validate: OK"], document);
        return Ok(0);
    }
    if as_json {
        answer(context, true, "validate", &[], document);
        return Ok(Category::NotGood.exit_code());
    }
    let list: String = problems.iter().map(|problem| format!("\n  - {}", marked(is_ours, problem))).collect();
    let error = Error::new(Category::NotGood, format!("history validate: found problems:{list}"));
    let error = by_hand.into_iter().fold(error, |error, what| error.hint(first_by_hand(what)));
    Err(error
        .hint("if the changes are yours, `agent-handover history accept` accepts them and rebuilds the other files")
        .hint("if they are not, restore the files from a backup"))
}

/// What a person has to do before the rest can be accepted.
fn first_by_hand(what: ByHand) -> &'static str {
    match what {
        ByHand::Replace => {
            "first correct each archive that is not valid, and replace each link or special file, or move it away"
        }
        ByHand::KeepOne => "first move all archives of a session away but one, out of `sessions`",
        ByHand::Supersedes => {
            "first correct `supersedes` in the archive: an id of `agent-handover history list`, or nothing"
        }
    }
}

pub(super) fn status(context: &mut Context<'_>, place: &HistoryPlace, git: bool, as_json: bool) -> Result<u8> {
    let is_present = place.history.exists()?;
    if !is_present && !as_json {
        let at = place.memory_root.display();
        let line = format!(".agent-history: none at {at} yet; `agent-handover history create` makes one");
        answer(context, false, "status", &[&line], Json::Null);
        return Ok(0);
    }
    let status = if is_present { place.history.status()? } else { HistoryStatus::default() };
    let provenance = place.provenance();
    let latest = place.history.latest()?;
    let is_ours = provenance.owns_head(&place.history, &status, latest.as_ref());
    let origin = latest.and_then(|latest| provenance.origin_of_entry(&place.history, &latest));
    let lead = mark_of_handoff(is_ours, origin.is_some());
    let has_findings = !status.problems.is_empty() || !status.warnings.is_empty();
    let are_problems_ours = !has_findings || provenance.of_history().vouches_for_all();
    let (newest, older) = status.rulings.newest(|line| provenance.owns_decision(line));
    let rulings = newest.into_iter().map(|(line, is_ours)| (line.to_owned(), is_ours));
    let (standing, standing_ours): (Vec<String>, Vec<bool>) =
        history::older_line(older).map(|line| (line, true)).into_iter().chain(rulings).unzip();
    // Nobody of this machine made a ruling in what was imported.
    let plain = |text: &str| if origin.is_some() { without_standing(text) } else { text.to_owned() };
    let value = |text: &str| if text.is_empty() { "(unknown)".to_owned() } else { format!("{lead}{}", plain(text)) };
    let is_finished = status.first_next_action.is_empty() && history::is_done(&status.status.now);
    let action = if is_finished { "none (session DONE)".to_owned() } else { value(&status.first_next_action) };
    let claimed_status = status.status.claimed.as_deref().map(claim).unwrap_or_default();
    let mut lines = vec![
        ".agent-history: present".to_owned(),
        format!("latest session: {}", value(&status.latest_session)),
        format!("latest file: {}", value(&status.latest_file)),
        format!("current branch: {}", value(&status.current_branch)),
        format!("head commit: {}", value(&status.head_commit)),
        format!("first next action: {action}"),
        format!("status: {}{claimed_status}", value(&status.status.now)),
        format!("sessions: {}", status.sessions),
        format!("decisions: {}", status.decisions),
    ];
    if !status.supersedes.is_empty() {
        let lineage = format!("{} <- supersedes {}", status.latest_session, status.supersedes);
        lines.push(format!("lineage: {}", value(&lineage)));
    }
    if !standing.is_empty() {
        lines.push("standing:".to_owned());
        let rulings = standing.iter().zip(&standing_ours);
        lines.extend(rulings.map(|(line, is_ours)| format!("  {}{line}", mark(*is_ours, "decision"))));
    }
    // Session Glue ends with the verdict.
    lines.extend(status.warnings.iter().map(|warning| format!("warning: {}", marked(are_problems_ours, warning))));
    match status.problems.len() {
        0 => lines.push("validation: OK".to_owned()),
        count => {
            lines.push(format!("validation: {count} problem(s)"));
            lines.extend(status.problems.iter().map(|problem| format!("  - {}", marked(are_problems_ours, problem))));
        }
    }
    let drift = if git { history::drift(&place.root, &status.current_branch, &status.head_commit) } else { Vec::new() };
    lines.extend(drift.iter().map(|line| format!("git: {}", marked(is_ours, line))));
    let document = json!({
        "present": is_present,
        "latest_session": status.latest_session,
        "latest_file": status.latest_file,
        "current_branch": status.current_branch,
        "head_commit": status.head_commit,
        "first_next_action": status.first_next_action,
        "status": status.status.now,
        "claimed_status": status.status.claimed,
        "supersedes": status.supersedes,
        "sessions": status.sessions,
        "decisions": status.decisions,
        "standing": standing,
        "standing_ours": standing_ours,
        "ours": is_ours,
        "origin": origin.as_ref().map(Origin::voucher),
        "problems": status.problems,
        "warnings": status.warnings,
        "problems_ours": are_problems_ours,
        "drift": drift,
    });
    if !as_json {
        warn_of_strange(context.ui, lines.iter().filter(|line| line.contains(CAME_ALONG)).count());
    }
    answer(context, as_json, "status", &lines.iter().map(String::as_str).collect::<Vec<_>>(), document);
    Ok(0)
}
