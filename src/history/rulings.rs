//! Standing rulings: decisions that bind later sessions until somebody revokes them.
//!
//! DECISIONS.md is append-only, so LIFECYCLE.yaml keeps the lines that were revoked. A revocation covers the lines that
//! exist when it is made: whoever states the same ruling in a later session puts it in force again. Revoked lines only
//! accumulate, so machines that exchange their files agree, whatever the order.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::claims::{Revocations, sort_revoked};
use super::derived::Order;
use super::lifecycle::Lifecycle;
use super::{History, NotChanged, decisions, own_keys};
use crate::base::text;
use crate::error::{Error, Result};
use crate::guard::Voucher;
use crate::handoff::{Handoff, Value};

/// What marks a decision as standing, as Session Glue writes it.
pub(super) const MARK: &str = "[standing]";
/// How many standing rulings are shown.
const SHOWN: usize = 20;
/// The shortest part of an id that selects a ruling. A shorter one is more likely to be a word.
const SHORTEST_ID: usize = 4;
/// How many rulings a message lists.
const LISTED: usize = 20;

/// A standing ruling. Several sessions may have stated it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ruling {
    /// The decision, with its mark.
    pub text: String,
    /// The lines of DECISIONS.md that state it, oldest first.
    pub lines: Vec<String>,
}

/// The standing rulings of a history, ordered by when each was last stated, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rulings {
    pub in_force: Vec<Ruling>,
    pub revoked: Vec<Ruling>,
    /// The texts of revoked rulings that this user revoked.
    revoked_here: BTreeSet<String>,
    /// Lines of rulings in force that a file revokes which came along.
    claimed: BTreeSet<String>,
}

impl Ruling {
    /// The short name of a ruling: the same on every machine.
    pub(crate) fn id(&self) -> String {
        text::digest(self.text.as_bytes(), 5)
    }

    /// The decision without its mark.
    pub(crate) fn words(&self) -> &str {
        words(&self.text)
    }

    /// The newest line that is this user's own, or else the newest line; and whether it is this user's own.
    pub(crate) fn line(&self, is_ours: impl Fn(&str) -> bool) -> (&str, bool) {
        let own = self.lines.iter().rev().find(|line| is_ours(line));
        let line = own.or(self.lines.last()).map(String::as_str).unwrap_or_default();
        (line, own.is_some())
    }

    fn row(&self) -> String {
        format!("\n  {}  {}", self.id(), text::one_line(self.words(), 160))
    }
}

impl Rulings {
    pub(super) fn of(log: &str, revoked: &BTreeSet<String>) -> Rulings {
        let (gone, stated): (Vec<&str>, Vec<&str>) = standing_lines(log).partition(|line| revoked.contains(*line));
        let in_force = grouped(&stated);
        let mut revoked = grouped(&gone);
        revoked.retain(|ruling| in_force.iter().all(|other| other.text != ruling.text));
        Rulings { in_force, revoked, ..Rulings::default() }
    }

    pub(super) fn after(log: &str, revocations: Revocations) -> Rulings {
        let rulings = Rulings::of(log, &revocations.count);
        let is_own = |ruling: &&Ruling| ruling.lines.iter().any(|line| revocations.own.contains(line));
        let revoked_here = rulings.revoked.iter().filter(is_own).map(|ruling| ruling.text.clone()).collect();
        Rulings { claimed: revocations.claimed, revoked_here, ..rulings }
    }

    /// Whether a file that came along revokes this ruling of ours, which nobody here has accepted.
    pub(crate) fn is_claimed_revoked(&self, ruling: &Ruling) -> bool {
        ruling.lines.iter().any(|line| self.claimed.contains(line))
    }

    /// The newest rulings, oldest first, each with its line and whether this user made it, and the number of rulings that are
    /// left out. Those of this user go before others: however many a stranger adds, they hide none of ours.
    pub(crate) fn newest(&self, is_ours: impl Fn(&str) -> bool) -> (Vec<(&str, bool)>, usize) {
        let all: Vec<(&str, bool)> = self.in_force.iter().map(|ruling| ruling.line(&is_ours)).collect();
        let ours = all.iter().filter(|(_, is_ours)| *is_ours).count();
        let mut too_many = [ours.saturating_sub(SHOWN), (all.len() - ours).saturating_sub(SHOWN.saturating_sub(ours))];
        let left_out = too_many.iter().sum();
        let is_shown = |(_, is_ours): &(&str, bool)| {
            let left = &mut too_many[usize::from(!*is_ours)];
            let is_shown = *left == 0;
            *left = left.saturating_sub(1);
            is_shown
        };
        (all.into_iter().filter(is_shown).collect(), left_out)
    }

    /// Whether this text is a ruling that was revoked, with or without its mark. What this user said is revoked only by this
    /// user: a stranger may state the same ruling, and revoke that.
    pub(crate) fn is_revoked(&self, text: &str, is_ours: bool) -> bool {
        let text = words(text.trim());
        let revoked = self.revoked.iter().filter(|ruling| ruling.words() == text);
        revoked.into_iter().any(|ruling| !is_ours || self.revoked_here.contains(&ruling.text))
    }

    /// Whether a ruling in force has this text, with or without its mark.
    pub(crate) fn is_in_force(&self, text: &str) -> bool {
        let text = words(text.trim());
        self.in_force.iter().any(|ruling| ruling.words() == text)
    }

    /// The only ruling in force that fits: by its id or the beginning of it, by its line, or by a part of its text.
    ///
    /// A ruling that is named exactly is meant, even if others have its text as a part, and even if it is revoked already.
    pub(crate) fn find(&self, wanted: &str) -> Result<&Ruling, NotChanged> {
        let shown = text::one_line(wanted, 80);
        for is_meant in [is_named, is_like] {
            let fitting = |rulings: &[Ruling]| -> Vec<usize> {
                (0..rulings.len()).filter(|at| is_meant(&rulings[*at], wanted)).collect()
            };
            match (fitting(&self.in_force).as_slice(), fitting(&self.revoked).as_slice()) {
                ([one], _) => return Ok(&self.in_force[*one]),
                ([], []) => {}
                ([], [first, ..]) => {
                    let words = text::one_line(self.revoked[*first].words(), 160);
                    return Err(NotChanged::DoesNotFit(Error::failed(format!("`{words}` is revoked already"))));
                }
                (several, _) => {
                    let rows: String = several.iter().take(LISTED).map(|at| self.in_force[*at].row()).collect();
                    let what = format!("`{shown}` fits {} standing rulings; none was revoked:{rows}", several.len());
                    return Err(NotChanged::DoesNotFit(Error::failed(what).hint("name one of them by its id")));
                }
            }
        }
        let error = Error::failed(format!("no standing ruling fits `{shown}`"));
        Err(NotChanged::DoesNotFit(error.hint("`agent-handover history revoke --list` lists them")))
    }
}

impl History {
    /// The standing rulings, each once.
    pub(crate) fn rulings(&self) -> Result<Rulings> {
        let (log, lifecycle, voucher) = (self.decisions_log()?, self.lifecycle()?, self.voucher());
        let log = self.backed_log(&log, &lifecycle, &voucher).text;
        Ok(Rulings::after(&log, sort_revoked(lifecycle.revoked, standing_lines(&log), &voucher)))
    }

    /// The revoked lines of DECISIONS.md: those that count, and those that are only claimed.
    pub(super) fn revocations(&self) -> Result<Revocations> {
        Ok(self.sorted_revocations(self.lifecycle()?.revoked, &self.decisions_log()?))
    }

    pub(super) fn sorted_revocations(&self, revoked: BTreeSet<String>, log: &str) -> Revocations {
        if revoked.is_empty() && standing_lines(log).next().is_none() {
            return Revocations::default();
        }
        sort_revoked(revoked, standing_lines(log), &self.voucher())
    }

    /// Like [`History::rulings`], for a reader that must not miss a ruling: a file that cannot be read is reported in
    /// `problems`, and then revokes nothing.
    pub(crate) fn readable_rulings(&self, voucher: &Voucher, problems: &mut Vec<Error>) -> Rulings {
        let log = self.decisions_log().map_err(|error| problems.push(error.into())).unwrap_or_default();
        let lifecycle = self.lifecycle().map_err(|error| problems.push(error.into())).unwrap_or_default();
        let backed = self.backed_log(&log, &lifecycle, voucher);
        problems.extend(backed.error());
        let log = backed.text;
        Rulings::after(&log, sort_revoked(lifecycle.revoked, standing_lines(&log), voucher))
    }

    /// The lines of the standing rulings as RESUME_PROMPT.txt may have them: see [`prompt_listings`].
    pub(crate) fn prompt_listings(&self) -> Result<[Vec<String>; 2]> {
        let lifecycle = self.lifecycle()?;
        let log = self.backed_log(&self.decisions_log()?, &lifecycle, &self.voucher()).text;
        Ok(prompt_listings(&log, &self.sorted_revocations(lifecycle.revoked, &log).count))
    }

    /// The lines of the standing rulings that RESUME_PROMPT.txt lists, if DECISIONS.md and LIFECYCLE.yaml have this content.
    pub(super) fn standing_for_prompt(&self, log: &str, lifecycle: Lifecycle) -> Result<Vec<String>> {
        if standing_lines(log).next().is_none() {
            return Ok(Vec::new());
        }
        let voucher = self.voucher();
        let log = self.backed_log(log, &lifecycle, &voucher).text;
        let revoked = sort_revoked(lifecycle.revoked, standing_lines(&log), &voucher).count;
        Ok(prompt_lines(&log, &revoked))
    }

    /// Revokes these lines of DECISIONS.md, which keeps them.
    pub(crate) fn revoke(&self, lines: &[String]) -> Result<(), NotChanged> {
        if !self.exists()? {
            let what = format!("no DECISIONS.md at {}", self.decisions_path().display());
            return Err(NotChanged::DoesNotFit(Error::failed(what)));
        }
        let _lock = self.lock_for_writing()?;
        own_keys::remember_revocations(lines);
        let mut lifecycle = self.lifecycle()?;
        lifecycle.revoked.extend(lines.iter().cloned());
        self.write_if_changed(&self.lifecycle_path(), &lifecycle.render())?;
        Ok(self.bring_up_to_date(Order::OfArrival)?)
    }

    /// The handoff without the decisions that were revoked.
    pub(crate) fn without_revoked(&self, handoff: &Handoff) -> Result<Handoff> {
        let revoked = self.revocations()?.count;
        let (texts, lines) = (handoff.texts("decisions"), decisions::lines(handoff));
        let mut handoff = handoff.clone();
        if lines.iter().any(|line| revoked.contains(line)) {
            let stated = texts.iter().zip(&lines).filter(|(_, line)| !revoked.contains(*line));
            let kept = stated.map(|(text, _)| Value::from(*text)).collect();
            handoff.set("decisions", Value::List(kept));
        }
        Ok(handoff)
    }
}

/// The lines of the newest rulings in force for RESUME_PROMPT.txt, oldest first, after a line with the number of the others.
/// A ruling that several sessions stated is listed once, by its newest line.
pub(super) fn prompt_lines(log: &str, revoked: &BTreeSet<String>) -> Vec<String> {
    let in_force: Vec<&str> = standing_lines(log).filter(|line| !revoked.contains(*line)).collect();
    let rulings = grouped(&in_force);
    listed(rulings.iter().filter_map(|ruling| ruling.lines.last().map(String::as_str)).collect())
}

/// The listings with which RESUME_PROMPT.txt counts as unchanged: ours, then that of Session Glue and of older versions, which
/// list a ruling once for each session that stated it.
pub(super) fn prompt_listings(log: &str, revoked: &BTreeSet<String>) -> [Vec<String>; 2] {
    let by_session = listed(standing_lines(log).filter(|line| !revoked.contains(*line)).collect());
    [prompt_lines(log, revoked), by_session]
}

fn listed(lines: Vec<&str>) -> Vec<String> {
    let older = lines.len().saturating_sub(SHOWN);
    older_line(older).into_iter().chain(lines[older..].iter().map(|line| (*line).to_owned())).collect()
}

/// The line that stands for older rulings, in Session Glue's words.
pub(crate) fn older_line(older: usize) -> Option<String> {
    (older > 0).then(|| format!("(+{older} older standing lines in DECISIONS.md)"))
}

fn standing_lines(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter(|line| line.contains(MARK))
}

fn grouped(lines: &[&str]) -> Vec<Ruling> {
    let mut rulings: Vec<Ruling> = Vec::new();
    for line in lines {
        let text = text_of(line);
        let known = rulings.iter().position(|ruling| ruling.text == text).map(|at| rulings.remove(at));
        let mut ruling = known.unwrap_or_else(|| Ruling { text: text.to_owned(), lines: Vec::new() });
        ruling.lines.push((*line).to_owned());
        rulings.push(ruling);
    }
    rulings
}

/// The decision in a line `- [date][session] text`. A line that somebody wrote by hand is the decision.
fn text_of(line: &str) -> &str {
    let rest = line.trim();
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let sessions = rest.strip_prefix('[').and_then(|rest| rest.split_once("][")).map(|(_, rest)| rest);
    let text = sessions.and_then(|rest| rest.split_once("] ")).map(|(_, text)| text.trim());
    text.filter(|text| text.contains(MARK)).unwrap_or(rest)
}

fn words(text: &str) -> &str {
    text.strip_prefix(MARK).map_or(text, str::trim_start)
}

/// Whether these words are the id, a line or the whole text of a ruling.
fn is_named(ruling: &Ruling, wanted: &str) -> bool {
    ruling.id() == wanted.trim().to_lowercase()
        || ruling.words().to_lowercase() == words(text_of(wanted)).to_lowercase()
}

/// Whether these words are the beginning of the id or a part of the text of a ruling.
fn is_like(ruling: &Ruling, wanted: &str) -> bool {
    let wanted = wanted.trim().to_lowercase();
    let is_id = wanted.len() >= SHORTEST_ID && ruling.id().starts_with(&wanted);
    is_id || !wanted.is_empty() && ruling.text.to_lowercase().contains(&wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "# Decisions\n\n\
        - [2026-11-14][one] [standing] No force pushes\n\
        - [2026-11-14][one] Use nom\n\
        - [2026-11-15][two] [standing] No force pushes to main\n\
        - [2026-11-15][two] [standing] No force pushes\n\
        [standing] by hand\n";

    fn revoked(lines: &[&str]) -> BTreeSet<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    fn texts(rulings: &[Ruling]) -> Vec<&str> {
        rulings.iter().map(Ruling::words).collect()
    }

    #[test]
    fn a_ruling_of_two_sessions_is_one() {
        let rulings = Rulings::of(LOG, &BTreeSet::new());
        assert_eq!(texts(&rulings.in_force), ["No force pushes to main", "No force pushes", "by hand"]);
        assert_eq!(rulings.in_force[1].lines.len(), 2);
        assert_eq!(rulings.in_force[1].line(|line| line.contains("[one]")), (LOG.lines().nth(2).unwrap(), true));
        assert_eq!(rulings.in_force[1].line(|_| false), (LOG.lines().nth(5).unwrap(), false));
        let lines = |at: &[usize]| at.iter().map(|at| LOG.lines().nth(*at).unwrap().to_owned()).collect::<Vec<_>>();
        assert_eq!(prompt_listings(LOG, &BTreeSet::new()), [lines(&[4, 5, 6]), lines(&[2, 4, 5, 6])]);
    }

    #[test]
    fn a_ruling_is_found_by_its_id_its_line_its_text_or_a_part_of_it() {
        let rulings = Rulings::of(LOG, &BTreeSet::new());
        let short = &rulings.in_force[1];
        let id = short.id();
        for wanted in [id.as_str(), &id[..6], "no FORCE pushes", "[standing] No force pushes", &short.lines[0]] {
            assert_eq!(rulings.find(wanted).unwrap(), short, "{wanted}");
        }
        assert_eq!(rulings.find("to main").unwrap().words(), "No force pushes to main");
        for (wanted, part) in [("force", "fits 2 standing rulings"), ("nom", "no standing ruling fits"), ("", "no ")] {
            let error = Error::from(rulings.find(wanted).unwrap_err()).one_line();
            assert!(error.contains(part), "{wanted}: {error}");
        }
    }

    #[test]
    fn a_ruling_that_is_stated_again_is_in_force_again() {
        let first = "- [2026-11-14][one] [standing] No force pushes";
        let again = "- [2026-11-15][two] [standing] No force pushes";
        let rulings = Rulings::of(LOG, &revoked(&[first]));
        assert_eq!(rulings.find("No force pushes").unwrap().lines, [again]);
        assert!(!rulings.is_revoked("No force pushes", false));
        let both = revoked(&[first, again]);
        let rulings = Rulings::of(LOG, &both);
        assert!(rulings.is_revoked("[standing] No force pushes", false));
        assert!(rulings.is_revoked("No force pushes", false) && !rulings.is_revoked("No force pushes", true));
        assert!(!rulings.is_revoked("No force pushes to main", false));
        let own = Rulings::after(LOG, Revocations { own: both.clone(), count: both, ..Revocations::default() });
        assert!(own.is_revoked("No force pushes", true) && own.is_in_force("No force pushes to main"));
        assert!(Error::from(rulings.find(first).unwrap_err()).one_line().contains("is revoked already"));
    }

    #[test]
    fn a_forged_date_does_not_hide_the_ruling_that_it_holds() {
        let line = "- [2026-11-01] [standing] Always pipe it [x][id] harmless";
        assert!(text_of(line).contains("Always pipe it"));
    }
}
