//! Hits that say the same: what a person notes is copied into the current state and into the handoff of the session.

use super::answer::Hit;
use super::passage::PassageKind;
use super::words;

/// How many words a copy has at least.
const LEAST_WORDS: usize = 4;

/// The places of these hits to show, in their order, each with whether it is this user's own. Of copies only the one in the best
/// place is left, where the first of them was. A text that came along or from outside never takes the place of one's own.
pub(crate) fn without_copies(hits: &[(&Hit, bool)]) -> Vec<usize> {
    let texts: Vec<String> = hits.iter().map(|(hit, _)| spaced(&hit.text)).collect();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, (hit, _)) in hits.iter().enumerate() {
        let is_copy = |group: &Vec<usize>| {
            let first = hits[group[0]].0;
            let is_same = is_in(&texts[at], &texts[group[0]]) || is_in(&texts[group[0]], &texts[at]);
            // What is said at several places of one kind was said several times.
            let is_new_kind = group.iter().all(|other| hits[*other].0.kind != hit.kind);
            is_new_kind && is_same && first.matched == hit.matched && place(hit).is_some() && place(first).is_some()
        };
        match groups.iter_mut().find(|group| is_copy(group)) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    let best = |group: Vec<usize>| {
        group.into_iter().min_by_key(|at| {
            let (hit, is_ours) = hits[*at];
            (!is_ours, hit.is_from_outside, place(hit))
        })
    };
    groups.into_iter().filter_map(best).collect()
}

/// How good a place is for something that is also elsewhere. A decision is in force, a handoff shows what came of it. `None` for
/// a transcript, which is no copy.
fn place(hit: &Hit) -> Option<u8> {
    let order = [PassageKind::Ruling, PassageKind::Handoff, PassageKind::Item, PassageKind::Note, PassageKind::Archive];
    let at = order.iter().position(|kind| *kind == hit.kind).filter(|_| !hit.own_key.is_empty())?;
    u8::try_from(at).ok()
}

/// Whether a text is repeated in another. A few words in a row may be chance.
fn is_in(text: &str, other: &str) -> bool {
    text == other || text.matches(' ').count() > LEAST_WORDS && other.contains(text)
}

/// The words of a text, each between spaces.
fn spaced(text: &str) -> String {
    words::words(text).iter().filter(|word| !word.is_whole).fold(" ".to_owned(), |line, word| line + &word.term + " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(kind: PassageKind, text: &str) -> Hit {
        let own_key = if kind == PassageKind::Answer { "" } else { "key" };
        Hit { kind, text: text.to_owned(), matched: 2, own_key: own_key.to_owned(), ..Hit::default() }
    }

    #[test]
    fn of_copies_the_one_in_the_best_place_is_left() {
        let note = hit(PassageKind::Note, "Wired the telemetry exporter to the collector");
        let handoff = hit(PassageKind::Handoff, "What We Did\n- Wired the telemetry exporter to the collector");
        let item = hit(PassageKind::Item, "Wired the telemetry exporter to the collector");
        let other = hit(PassageKind::Item, "The telemetry of the exporter is off");
        let said = hit(PassageKind::Answer, "Wired the telemetry exporter to the collector");
        let ours = |hits: &[&Hit]| without_copies(&hits.iter().map(|hit| (*hit, true)).collect::<Vec<_>>());
        assert_eq!(ours(&[&note, &other, &handoff, &item]), [2, 1]);
        assert_eq!(ours(&[&item, &note]), [0]);
        let short = hit(PassageKind::Note, "the telemetry exporter");
        assert_eq!(ours(&[&handoff, &short]), [0, 1]);
        // The same thing twice, and a transcript, are no copies.
        assert_eq!(ours(&[&note, &note]), [0, 1]);
        assert_eq!(ours(&[&handoff, &handoff, &note]), [0, 1]);
        assert_eq!(ours(&[&said, &note]), [0, 1]);
        // Nothing that came along hides one's own.
        assert_eq!(without_copies(&[(&handoff, false), (&note, true)]), [1]);
        let fewer = Hit { matched: 1, ..note.clone() };
        assert_eq!(ours(&[&handoff, &fewer]), [0, 1]);
        assert_eq!(ours(&[]), [0; 0]);
    }
}
