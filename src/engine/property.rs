//! Property tests. After any plan, crashes, pauses, failures and concurrent recorders, a resume leaves the files that
//! uninterrupted runs would have left. If runs are also replanned and abandoned, each note stands there once, and what is
//! recorded as done was done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::queue::{Goal, drain};
use super::{Carrier, Drained, HowToRun, RecordOutcome, Request, Task, abandon, hand_over, record};
use crate::base::fault::inject::crashing_at;
use crate::checkpoint::{RunStatus, StepState, Store};
use crate::config::Config;
use crate::memory::note::{self, Piece};
use crate::memory::{self, ChangeVerb};
use crate::project::{Options, Project};
use crate::steps;

/// A step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Collect,
    Note,
    Command,
    State,
    History,
    Compact,
    Publish,
}

/// Something that happens to a project.
#[derive(Clone, Debug)]
enum Happening {
    /// This many processes record at the same time.
    Record(usize),
    /// A process runs the queue, and crashes at the n-th fault point.
    Drain {
        asked: bool,
        crash: Option<u32>,
    },
    /// While a process runs the queue, others record.
    DrainAndRecord {
        crash: Option<u32>,
        recorders: usize,
    },
    Pause,
    Unpause,
    /// Commands fail from here on.
    Break,
    Repair,
    /// New runs get this plan.
    Configure(Vec<Kind>),
    /// A process continues the unfinished runs with the present plan, and crashes at the n-th fault point.
    Replan {
        crash: Option<u32>,
    },
    /// The oldest unfinished run is abandoned.
    Abandon,
    /// Everything unfinished is abandoned, and a new run is recorded and run.
    Restart {
        crash: Option<u32>,
    },
}

fn kinds() -> impl Strategy<Value = Vec<Kind>> {
    let kind = prop_oneof![
        1 => Just(Kind::Collect),
        3 => Just(Kind::Note),
        2 => Just(Kind::Command),
        2 => Just(Kind::State),
        1 => Just(Kind::History),
        1 => Just(Kind::Compact),
        1 => Just(Kind::Publish)
    ];
    proptest::collection::vec(kind, 1..5)
}

fn happening() -> impl Strategy<Value = Happening> {
    let crash = proptest::option::of(0..25u32);
    prop_oneof![
        3 => (1..4usize).prop_map(Happening::Record),
        6 => (any::<bool>(), crash.clone()).prop_map(|(asked, crash)| Happening::Drain { asked, crash }),
        2 => (crash, 1..3usize).prop_map(|(crash, recorders)| Happening::DrainAndRecord { crash, recorders }),
        1 => Just(Happening::Pause),
        1 => Just(Happening::Unpause),
        2 => Just(Happening::Break),
        1 => Just(Happening::Repair),
        1 => kinds().prop_map(Happening::Configure),
    ]
}

/// Also what changes runs that are on record.
fn any_happening() -> impl Strategy<Value = Happening> {
    let crash = proptest::option::of(0..25u32);
    prop_oneof![
        8 => happening(),
        3 => crash.clone().prop_map(|crash| Happening::Replan { crash }),
        1 => Just(Happening::Abandon),
        1 => crash.prop_map(|crash| Happening::Restart { crash }),
    ]
}

fn config(plan: &[Kind]) -> String {
    let mut text = String::new();
    for (number, kind) in plan.iter().enumerate() {
        let rest = match kind {
            Kind::Collect => "kind = \"collect\"",
            Kind::Note => "kind = \"note\"\ncontent = \"{{ note }} in {{ step }}\"",
            // Only every other session fails, so that younger runs overtake older ones.
            Kind::Command => {
                "kind = \"command\"\nenv = { NOTE = \"{{ note }}\" }\n\
                 shell = 'case \"$NOTE\" in *[02468]) test ! -e broken || exit 1;; esac; echo \"$AGENT_HANDOVER_RUN $AGENT_HANDOVER_STEP\" >> effects'"
            }
            Kind::State => "kind = \"state\"",
            Kind::History => "kind = \"history\"",
            Kind::Compact => "kind = \"compact\"",
            Kind::Publish => "kind = \"publish\"",
        };
        text.push_str(&format!("[[step]]\nname = \"s{number}\"\n{rest}\n"));
    }
    text
}

const AT_ONCE: HowToRun = HowToRun { wait: Duration::from_secs(60), carrier: Carrier::ThisProcess };

/// What was recorded: the note, and the plan it was recorded with.
type Said = BTreeMap<String, (String, Vec<Kind>)>;

struct World {
    directory: tempfile::TempDir,
    plan: Vec<Kind>,
    said: Said,
}

impl World {
    fn root(&self) -> &Path {
        self.directory.path()
    }

    fn project(&self) -> Project {
        Project::open(self.root(), &Options::default(), &steps::vocabulary()).unwrap()
    }

    fn configure(&mut self, plan: &[Kind]) {
        self.plan = plan.to_vec();
        std::fs::write(self.root().join("handover.toml"), config(plan)).unwrap();
    }

    /// Records a note, as a process of its own would.
    fn say(project: &Project, note: &str) -> String {
        let mut store = Store::open(&project.checkpoint_file()).unwrap();
        let request = Request { note: Some(note.to_owned()), ..Request::default() };
        match record(project, &mut store, &request).unwrap() {
            RecordOutcome::Recorded(recorded) => recorded.id,
            RecordOutcome::AlreadyHandedOver => panic!("no session is handed over"),
        }
    }

    fn drain(project: &Project, asked: bool) -> Option<Drained> {
        let mut store = Store::open(&project.checkpoint_file()).unwrap();
        let newest = store.unfinished(u32::MAX).unwrap().pop()?;
        let goal = if asked { Goal::Resume } else { Goal::Run(newest.seq) };
        Some(drain(project, &mut store, goal, Duration::from_secs(60), &mut |_| ()).unwrap())
    }

    fn happen(&mut self, happening: &Happening) {
        let project = self.project();
        project.prepare().unwrap();
        let next = self.said.len();
        let flag = |name: &str| self.root().join(name);
        let mut said = Vec::new();
        match happening {
            Happening::Record(count) => {
                std::thread::scope(|scope| {
                    let say = |n: usize| {
                        scope.spawn({
                            let project = &project;
                            move || (Self::say(project, &format!("note {n}")), n)
                        })
                    };
                    let threads: Vec<_> = (next..next + count).map(say).collect();
                    said.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
                });
            }
            Happening::Drain { asked, crash } => {
                crashing_at(*crash, || Self::drain(&project, *asked));
            }
            Happening::DrainAndRecord { crash, recorders } => {
                std::thread::scope(|scope| {
                    let say = |n: usize| {
                        scope.spawn({
                            let project = &project;
                            move || (Self::say(project, &format!("note {n}")), n)
                        })
                    };
                    let threads: Vec<_> = (next..next + recorders).map(say).collect();
                    crashing_at(*crash, || Self::drain(&project, false));
                    said.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
                });
            }
            Happening::Pause => std::fs::write(flag("PAUSE"), "").unwrap(),
            Happening::Unpause => drop(std::fs::remove_file(flag("PAUSE"))),
            Happening::Break => std::fs::write(flag("broken"), "").unwrap(),
            Happening::Repair => drop(std::fs::remove_file(flag("broken"))),
            Happening::Configure(plan) => self.configure(plan),
            Happening::Replan { crash } => {
                let replan = || hand_over(&project, Task::Replan, AT_ONCE, &mut |_| ());
                crashing_at(*crash, || replan().unwrap());
            }
            Happening::Abandon => {
                let mut store = Store::open(&project.checkpoint_file()).unwrap();
                drop(abandon(&project, &mut store, None).unwrap());
            }
            Happening::Restart { crash } => {
                let request = Request { note: Some(format!("note {next}")), ..Request::default() };
                // While paused, nothing is abandoned and nothing recorded.
                crashing_at(*crash, || drop(hand_over(&project, Task::Restart(&request), AT_ONCE, &mut |_| ())));
                let newest = Store::read(&project.checkpoint_file()).unwrap().and_then(|store| store.latest().unwrap());
                said.extend(newest.filter(|run| !self.said.contains_key(&run.id)).map(|run| (run.id, next)));
            }
        }
        for (id, n) in said {
            self.said.insert(id, (format!("note {n}"), self.plan.clone()));
        }
    }

    /// Removes every obstacle and resumes without a crash: every run must complete.
    fn settle(&mut self) {
        self.happen(&Happening::Unpause);
        self.happen(&Happening::Repair);
        match Self::drain(&self.project(), true) {
            None => {}
            Some(Drained::Tried { failures, .. }) => assert!(failures.is_empty(), "{failures:?}"),
            Some(other) => panic!("{other:?}"),
        }
    }

    /// The notes of runs in layer 1: run, step and content. Notes about replaced states are left out.
    fn notes(&self) -> Vec<(String, String, String)> {
        let pieces = |file: &std::path::PathBuf| note::parse(&std::fs::read(file).unwrap());
        let mut found = Vec::new();
        for piece in files(&self.root().join("memory/layer1")).iter().flat_map(pieces) {
            if let Piece::Note { note, .. } = piece
                && note.changes.is_empty()
            {
                found.push((note.run, note.step, String::from_utf8(note.content).unwrap()));
            }
        }
        found
    }

    /// Compares the files with what the checkpoint says that each run has done.
    fn check_record(&self) {
        let store = Store::open(&self.project().checkpoint_file()).unwrap();
        assert!(store.unfinished(u32::MAX).unwrap().is_empty());
        let notes = self.notes();
        let effects = std::fs::read_to_string(self.root().join("effects")).unwrap_or_default();
        for (id, (said, _)) in &self.said {
            let run = store.run_by_id(id).unwrap().unwrap();
            let steps = store.steps(run.seq).unwrap();
            let count = |kind: &str, state: StepState| {
                steps.iter().filter(|step| step.kind == kind && step.state == state).count()
            };
            let is_completed = run.status == RunStatus::Completed;
            let is_settled = |state: StepState| matches!(state, StepState::Done | StepState::Skipped);
            assert!(!is_completed || steps.iter().all(|step| is_settled(step.state)), "{steps:?}");
            let own: BTreeSet<_> = notes.iter().filter(|(run, ..)| run == id).collect();
            assert_eq!(own.len(), notes.iter().filter(|(run, ..)| run == id).count(), "a note stands there twice");
            for (_, step, content) in &own {
                assert_eq!(*content, format!("{said} in {step}"));
            }
            // An abandoned run may have been interrupted after it wrote and before that was recorded.
            let done = count("note", StepState::Done);
            let begun = if is_completed { 0 } else { count("note", StepState::Intended) };
            assert!((done..=done + begun).contains(&own.len()), "{own:?} of {steps:?}");
            let ran: BTreeSet<&str> = effects.lines().filter(|line| line.starts_with(id.as_str())).collect();
            assert!(ran.len() >= count("command", StepState::Done), "{ran:?} of {steps:?}");
        }
    }

    /// Compares the files with those of uninterrupted runs, computed from the notes and plans alone.
    fn check(&self) {
        let store = Store::open(&self.project().checkpoint_file()).unwrap();
        assert!(store.unfinished(u32::MAX).unwrap().is_empty());
        let mut notes: BTreeMap<(String, String), String> = BTreeMap::new();
        let mut effects = BTreeSet::new();
        let mut archived = BTreeSet::new();
        let mut state = None;
        // In the order of the queue, which concurrent recorders decide among themselves.
        let mut order: Vec<(i64, &String)> = Vec::new();
        for id in self.said.keys() {
            let run = store.run_by_id(id).unwrap().unwrap();
            assert_eq!(run.status, RunStatus::Completed);
            for step in store.steps(run.seq).unwrap() {
                assert!(matches!(step.state, StepState::Done | StepState::Skipped), "{step:?}");
            }
            order.push((run.seq, id));
        }
        order.sort_unstable();
        for (_, id) in order {
            let (note, plan) = &self.said[id];
            for (number, kind) in plan.iter().enumerate() {
                let step = format!("s{number}");
                match kind {
                    Kind::Note => drop(notes.insert((id.clone(), step.clone()), format!("{note} in {step}"))),
                    Kind::Command => drop(effects.insert(format!("{id} {step}"))),
                    Kind::State => state = Some(note.clone()),
                    // Two such steps in one plan archive the same document.
                    Kind::History => drop(archived.insert(id[id.len() - 6..].to_lowercase())),
                    Kind::Collect | Kind::Compact | Kind::Publish => {}
                }
            }
        }
        // The note from before is in exactly one place: in layer 3 if any plan compacted.
        let compacted = self.said.values().any(|(_, plan)| plan.contains(&Kind::Compact));
        let old: Vec<_> = files(&self.root().join("memory"))
            .into_iter()
            .filter(|file| std::fs::read_to_string(file).unwrap().contains("\nlong ago\n"))
            .collect();
        assert_eq!(old.len(), 1, "{old:?}");
        assert_eq!(old[0].starts_with(self.root().join("memory/layer3")), compacted, "{old:?}");
        let mut found = BTreeMap::new();
        for file in files(&self.root().join("memory/layer1")).into_iter().filter(|file| !old.contains(file)) {
            for piece in note::parse(&std::fs::read(&file).unwrap()) {
                if let Piece::Note { note, .. } = piece {
                    // Notes about replaced states: which ones there are depends on which run was faster.
                    if !note.changes.is_empty() {
                        for change in memory::changes(&note) {
                            assert_eq!(change.verb, ChangeVerb::Replaced);
                            assert!(self.said.values().any(|(said, _)| *said == change.text), "{change:?}");
                        }
                        continue;
                    }
                    let content = String::from_utf8(note.content).unwrap();
                    assert!(found.insert((note.run, note.step), content).is_none(), "a note stands there twice");
                }
            }
        }
        assert_eq!(found, notes);
        let written = std::fs::read_to_string(self.root().join("memory/layer2/current-state.md")).ok();
        let written = written.map(|text| text.lines().skip(1).collect::<String>());
        assert_eq!(written, state, "the state is the youngest's");
        let history = crate::history::History::at(self.root(), self.root().join(".agent-history"));
        let sessions = files(&self.root().join(".agent-history/sessions"));
        let tails = sessions
            .iter()
            .map(|path| path.file_stem().unwrap().to_str().unwrap().rsplit('-').next().unwrap().to_owned());
        assert_eq!(tails.collect::<BTreeSet<_>>(), archived);
        if !archived.is_empty() {
            assert_eq!(history.validate(true).unwrap().problems, [""; 0]);
            assert_eq!(history.index().unwrap().sessions.len(), archived.len());
        }
        let done = std::fs::read_to_string(self.root().join("effects")).unwrap_or_default();
        assert_eq!(done.lines().map(str::to_owned).collect::<BTreeSet<_>>(), effects, "each command at least once");
        let strays: Vec<_> =
            files(self.root()).into_iter().filter(|file| file.extension().is_some_and(|e| e == "tmp")).collect();
        assert!(strays.is_empty(), "{strays:?}");
    }
}

fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn the_plans_of_the_property_are_good_configs() {
    let all = [Kind::Collect, Kind::Note, Kind::Command, Kind::State, Kind::History, Kind::Compact, Kind::Publish];
    assert!(Config::parse(Path::new("x"), &config(&all), &steps::vocabulary()).is_ok());
    assert_eq!(all.len(), steps::KINDS.len(), "a new kind belongs into the property, too");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_it_comes_to_rest_as_if_nothing_had(plan in kinds(), happenings in proptest::collection::vec(happening(), 1..12)) {
        let mut world = World { directory: crate::base::scratch::directory(), plan: Vec::new(), said: Said::new() };
        let old = world.root().join("memory/layer1/2020-01");
        std::fs::create_dir_all(&old).unwrap();
        let note = "<!-- note run=OLD step=note at=2020-01-05T00:00:00Z -->\nlong ago\n<!-- /note -->\n";
        std::fs::write(old.join("old-2020-01-05.md"), note).unwrap();
        world.configure(&plan);
        for happening in &happenings {
            world.happen(happening);
        }
        world.settle();
        world.check();
    }

    #[test]
    fn whatever_is_replanned_or_abandoned_nothing_is_lost_or_doubled(plan in kinds(), happenings in proptest::collection::vec(any_happening(), 1..12)) {
        let mut world = World { directory: crate::base::scratch::directory(), plan: Vec::new(), said: Said::new() };
        world.configure(&plan);
        for happening in &happenings {
            world.happen(happening);
        }
        world.settle();
        world.check_record();
    }
}
