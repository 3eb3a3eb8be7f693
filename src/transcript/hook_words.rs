//! A transcript made of what an agent passed to its hooks, for a session whose own transcript cannot be used.

use super::draft::Draft;
use super::talk::{MAX_UTTERANCE, cut_at_sentence};
use super::{Transcript, Utterance, UtteranceKind, human_text};
use crate::base::text;
use crate::checkpoint::{Word, WordKind};
use crate::guard::secrets;

/// How much of a text is examined.
const MAX_EXAMINED: usize = 64 << 10;
/// How long a path, a command or a reason may be.
const MAX_LINE: usize = 1_000;
/// How much of an answer is compared with the transcript.
const MAX_COMPARED: usize = 500;

/// A text of an agent or a person as it may be kept: without secrets, without what is private, cut. `None` if nothing is left.
pub fn word(kind: WordKind, said: &str) -> Option<Word> {
    let said = text::cut(said, MAX_EXAMINED);
    let said = match kind {
        WordKind::Request => human_text::of_person(said)?,
        _ => text::without_private(said),
    };
    let clean = secrets::clean(&text::without_controls(&said));
    let text = match kind {
        WordKind::Request | WordKind::Answer => cut_at_sentence(clean.trim(), MAX_UTTERANCE).to_owned(),
        WordKind::Edited | WordKind::Command | WordKind::Error | WordKind::Reason => text::kept_line(&clean, MAX_LINE),
    };
    (!text.is_empty()).then_some(Word { kind, text })
}

/// The transcript that the words of a session make. Whether its commands passed is not known.
pub fn of_words(words: &[Word]) -> Transcript {
    let mut draft = Draft::of("hooks");
    for (number, word) in words.iter().enumerate() {
        match word.kind {
            WordKind::Request => draft.asked(&word.text),
            WordKind::Answer => draft.said(&word.text),
            WordKind::Edited => draft.edited(word.text.clone()),
            WordKind::Command => draft.called_command(&number.to_string(), &word.text),
            WordKind::Error => draft.found.notices.push(format!("the agent reported an error: {}", word.text)),
            WordKind::Reason => {}
        }
    }
    draft.finish()
}

/// Adds the last answer that the agent passed to a hook, unless the transcript has it. An agent may write its transcript after
/// it has called the hook, or be killed before it does.
pub fn add_last_answer(found: &mut Transcript, words: &[Word]) {
    let Some(answer) = words.iter().rev().find(|word| word.kind == WordKind::Answer) else { return };
    let Some(turn) = found.talk.last().map(|last| last.turn) else { return };
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = plain(&answer.text);
    // A hook may get several texts as one, and a text may be shortened in a long transcript.
    let is_told = |said: &Utterance| {
        let said = plain(&said.text);
        told.contains(&said) || said.contains(text::cut(&told, MAX_COMPARED))
    };
    let mut texts = found.talk.iter().filter(|said| said.kind == UtteranceKind::AgentText);
    if !texts.any(is_told) {
        let text = answer.text.clone();
        found.talk.push(Utterance { turn, kind: UtteranceKind::AgentText, text, about: String::new(), at: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_make_the_talk_of_a_transcript() {
        let said = [
            word(WordKind::Request, "Port the lexer <private>for the boss</private>"),
            word(WordKind::Answer, concat!("Ported. The token is glp", "at-x9Kq2Lm4Np6Rs8Tv1Wy3")),
            word(WordKind::Edited, "/p/src/lexer.rs"),
            word(WordKind::Request, "/model opus"),
            word(WordKind::Request, "No, keep the old names"),
            word(WordKind::Error, "rate_limit"),
            word(WordKind::Request, "<system-reminder>nobody said this</system-reminder>"),
        ];
        assert_eq!(said.last(), Some(&None));
        let found = of_words(&said.into_iter().flatten().collect::<Vec<_>>());
        let talk: Vec<(usize, &str)> = found.talk.iter().map(|said| (said.turn, said.text.as_str())).collect();
        let expected =
            [(1, "Port the lexer"), (1, "Ported. The token is [redacted:gitlab-token]"), (2, "No, keep the old names")];
        assert_eq!(talk, expected);
        assert_eq!((found.requests, found.edited.as_slice()), (2, &["/p/src/lexer.rs".to_owned()][..]));
        assert_eq!(found.notices, ["the agent reported an error: rate_limit"]);
    }

    #[test]
    fn an_answer_that_the_transcript_lacks_is_added_once() {
        let words: Vec<Word> =
            ["Done.", "Stage two\nis open."].iter().filter_map(|answer| word(WordKind::Answer, answer)).collect();
        let texts = |requests: &[&str], answers: &[&str]| {
            let mut draft = Draft::of("claude-code");
            for (number, request) in requests.iter().enumerate() {
                draft.asked(request);
                answers.get(number).iter().for_each(|answer| draft.said(answer));
            }
            let mut found = draft.finish();
            add_last_answer(&mut found, &words);
            found.talk.into_iter().map(|said| (said.turn, said.text)).collect::<Vec<_>>()
        };
        let last = (2, "Stage two\nis open.".to_owned());
        assert_eq!(texts(&["one", "two"], &["Done."]).last(), Some(&last));
        assert_eq!(texts(&["one", "two"], &["Done.", "Stage two is open."]).len(), 4);
        assert_eq!(texts(&["one", "two", "killed"], &["Done.", "Stage two is open."]).len(), 5);
        assert_eq!(texts(&[], &[]), []);
    }
}
