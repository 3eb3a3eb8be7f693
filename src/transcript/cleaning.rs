//! Removes secrets and private passages from everything that is kept of a transcript, and cuts it.

use super::talk::MAX_UTTERANCE;
use super::{Transcript, TurnWork};
use crate::base::text;
use crate::guard::secrets;

// How long each may be, in characters.
const MAX_REQUEST: usize = 4_000;
const MAX_PATH: usize = 1_024;
const MAX_LINE: usize = 500;
const MAX_NAME: usize = 200;
const MAX_ERRORS: usize = 2_000;
/// How many bytes of a text are held until it is scanned for secrets: more than is shown.
const MAX_RAW: usize = 16 << 10;
/// Separates texts that are scanned together. It is a private-use character, which is removed from the texts before. An
/// invisible one would not separate them: a secret that invisible characters split is a secret, too.
const BETWEEN: char = '\u{f8fe}';
/// The first byte of [`BETWEEN`].
const BETWEEN_BYTE: u8 = 0xef;

/// The form of a text and how long it may be.
#[derive(Clone, Copy)]
enum Form {
    Lines(usize),
    OneLine(usize),
}

/// A text as it is held until [`clean`] scans all of them: printable, and cut between words.
pub(super) fn raw(text: &str) -> String {
    let kept = text::cut(text, MAX_RAW);
    let end = if kept.len() < text.len() { kept.rfind(char::is_whitespace) } else { None };
    text::without_sequences(&kept[..end.unwrap_or(kept.len())])
}

/// Removes private passages and secrets from all texts, then cuts them. All are scanned together, because one scan per text
/// would cost more than reading the file.
pub(super) fn clean(found: &mut Transcript) {
    let texts = texts(found);
    let mut together = String::with_capacity(texts.iter().map(|(text, _)| text.len() + BETWEEN.len_utf8() + 2).sum());
    for (number, (text, _)) in texts.iter().enumerate() {
        if number > 0 {
            together.extend(['\n', BETWEEN, '\n']);
        }
        // Most texts have nothing that is removed.
        if text::has_no_controls(text) && memchr::memchr2(b'<', BETWEEN_BYTE, text.as_bytes()).is_none() {
            together.push_str(text);
        } else {
            together.push_str(&text::without_private(&text::without_sequences(text)).replace(BETWEEN, ""));
        }
    }
    let cleaned = secrets::clean(&together);
    let mut cleaned = cleaned.split(BETWEEN);
    for (text, form) in texts {
        // There are as many as before: no secret reaches across the separator.
        let clean = cleaned.next().unwrap_or_default().trim();
        *text = match form {
            Form::Lines(max) if clean.len() <= max => clean.to_owned(),
            Form::Lines(max) => clean.chars().take(max).collect(),
            Form::OneLine(max) => text::kept_line(clean, max),
        };
    }
    drop_empty(found);
}

/// Every text of a transcript.
fn texts(found: &mut Transcript) -> Vec<(&mut String, Form)> {
    let line = |max: usize| move |text| (text, Form::OneLine(max));
    let mut texts = Vec::new();
    texts.extend([&mut found.first_request, &mut found.last_request].map(|text| (text, Form::Lines(MAX_REQUEST))));
    texts.extend([&mut found.cwd, &mut found.session].map(line(4096)));
    texts.extend([&mut found.branch, &mut found.model, &mut found.title].map(line(MAX_NAME)));
    texts.extend(found.edited.iter_mut().chain(&mut found.edited_by_subagents).map(line(MAX_PATH)));
    texts.extend(found.shell_writes.iter_mut().map(|(_, path)| path).map(line(MAX_PATH)));
    texts.extend(found.rate_limit.iter_mut().map(|limit| &mut limit.text).map(line(MAX_LINE)));
    texts.extend(
        found.commands.iter_mut().chain(&mut found.tests).map(|command| &mut command.command).map(line(MAX_LINE)),
    );
    texts.extend(found.todos.iter_mut().map(|todo| &mut todo.text).chain(&mut found.dropped_todos).map(line(MAX_LINE)));
    for said in &mut found.talk {
        texts.extend([(&mut said.text, Form::Lines(MAX_UTTERANCE)), (&mut said.about, Form::OneLine(MAX_LINE))]);
    }
    for ran in &mut found.ran {
        texts.extend([(&mut ran.command, Form::OneLine(MAX_LINE)), (&mut ran.errors, Form::Lines(MAX_ERRORS))]);
    }
    texts.extend(found.actions.iter_mut().map(|action| &mut action.what).map(line(MAX_PATH)));
    for work in &mut found.work {
        texts.extend(work.edited.iter_mut().chain(&mut work.reverted).map(line(MAX_PATH)));
        texts.extend(work.failed.iter_mut().map(line(MAX_LINE)));
    }
    texts
}

fn drop_empty(found: &mut Transcript) {
    found.edited.retain(|path| !path.is_empty());
    found.edited_by_subagents.retain(|path| !path.is_empty());
    found.shell_writes.retain(|(_, path)| !path.is_empty());
    found.commands.retain(|command| !command.command.is_empty());
    found.tests.retain(|command| !command.command.is_empty());
    found.todos.retain(|todo| !todo.text.is_empty());
    found.dropped_todos.retain(|todo| !todo.is_empty());
    found.talk.retain(|said| !said.text.is_empty());
    found.ran.retain(|ran| !ran.command.is_empty());
    for work in &mut found.work {
        for lines in [&mut work.edited, &mut work.failed, &mut work.reverted] {
            lines.retain(|line| !line.is_empty());
        }
    }
    found.work.retain(TurnWork::did_anything);
}

#[cfg(test)]
mod tests {
    use super::super::draft::Draft;
    use super::*;

    #[test]
    fn a_secret_never_reaches_from_one_text_into_another() {
        let key = ["-----BEGIN RSA ", "PRIVATE KEY-----"].concat();
        let mut draft = Draft::of("x");
        draft.asked(&format!("use {key}\nMIIEow"));
        draft.asked("and go on");
        draft.called_command("1", concat!("echo glp", "at-x9Kq2Lm4Np6Rs8Tv1Wy3"));
        draft.called_command("2", "ls <private>hidden");
        draft.called_command("3", "ls");
        let found = draft.finish();
        assert_eq!(found.first_request, "use [redacted:private-key]");
        assert_eq!(found.last_request, "and go on");
        let commands: Vec<&str> = found.commands.iter().map(|command| command.command.as_str()).collect();
        assert_eq!(commands, ["echo [redacted:gitlab-token]", "ls", "ls"]);
    }

    #[test]
    fn no_half_of_a_secret_is_left_where_a_text_is_cut() {
        let token = ["glpat-", "x9Kq2Lm4Np6Rs8Tv1Wy3"].concat();
        let mut draft = Draft::of("x");
        draft.title(&format!("{} {token}", "a".repeat(MAX_NAME - 9)), false);
        draft.called_command("1", &format!("{} {token}", "b ".repeat(MAX_LINE / 2 - 4)));
        let found = draft.finish();
        for text in [&found.title, &found.commands[0].command] {
            assert!(!text.contains("glpat") && text.contains("[redac"), "{text}");
        }
    }
}
