//! The library in process: backends and functions that fail, and what a second call does.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Mutex;

use super::*;

fn project() -> (tempfile::TempDir, Project) {
    let directory = crate::base::scratch::directory();
    let project = Project::open(directory.path()).unwrap();
    (directory, project)
}

#[test]
fn a_step_that_failed_is_called_again_and_those_before_it_are_not() {
    let (_directory, project) = project();
    let calls = Rc::new(RefCell::new(Vec::new()));
    let is_broken = Rc::new(Cell::new(true));
    let handover = || {
        let (first, second, broken) = (calls.clone(), calls.clone(), is_broken.clone());
        Handover::new().note("n").steps(vec![
            Step::new("first", move || {
                first.borrow_mut().push("first");
                Ok::<_, std::io::Error>(())
            }),
            Step::new("second", move || {
                second.borrow_mut().push("second");
                if broken.get() { Err("the wiki is down") } else { Ok(()) }
            }),
            Step::note(),
        ])
    };
    let error = project.hand_over(&handover()).unwrap_err();
    assert_eq!(error.message(), "step 'second' failed: the wiki is down");
    assert_eq!(project.check().unwrap(), Check::Interrupted);
    is_broken.set(false);
    assert_eq!(project.hand_over(&handover()).unwrap().executed, ["second", "note"]);
    assert_eq!(*calls.borrow(), ["first", "second", "second"]);
    assert_eq!(project.check().unwrap(), Check::Completed);
}

#[test]
fn what_is_said_anew_is_never_dropped_for_an_interrupted_handover() {
    let (_directory, project) = project();
    let is_broken = Rc::new(Cell::new(true));
    let handover = |note: &str| {
        let broken = is_broken.clone();
        let check = move || if broken.get() { Err("broken") } else { Ok(()) };
        Handover::new().note(note).steps(vec![Step::new("check", check), Step::note()])
    };
    project.hand_over(&handover("first")).unwrap_err();
    is_broken.set(false);
    project.hand_over(&handover("second")).unwrap();
    let notes = std::fs::read_dir(project.root().join("memory/layer1")).unwrap();
    let day = std::fs::read_dir(notes.flatten().next().unwrap().path()).unwrap().flatten().next().unwrap();
    let text = std::fs::read_to_string(day.path()).unwrap();
    assert!(text.contains("first") && text.contains("second"), "{text}");
}

#[derive(Default)]
struct Shelf(Mutex<Vec<String>>);

impl Backend for Shelf {
    fn name(&self) -> &'static str {
        "shelf"
    }

    fn publish(&self, files: &PublishedFiles<'_>) -> Result<String, Box<dyn std::error::Error>> {
        let mut shelf = self.0.lock().map_err(|_| "poisoned")?;
        if shelf.is_empty() {
            shelf.push("refused".to_owned());
            return Err("the shelf is full".into());
        }
        shelf.push(files.message.to_owned());
        assert!(files.memory.join("layer1").is_dir());
        Ok("on the shelf".to_owned())
    }
}

#[test]
fn a_backend_of_the_program_publishes_and_is_asked_again_after_a_failure() {
    let (_directory, project) = project();
    let shelf = Shelf::default();
    let handover = Handover::new().note("n").steps(vec![Step::note(), Step::publish()]).backend(&shelf);
    let error = project.hand_over(&handover).unwrap_err();
    assert_eq!(error.message(), "step 'publish' failed: backend.publish failed: the shelf is full");
    assert_eq!(project.resume(&handover).unwrap().executed, ["publish"]);
    let shelf = shelf.0.lock().unwrap();
    assert!(shelf.len() == 2 && shelf[1].starts_with("handover: general "), "{shelf:?}");
}

#[test]
fn notes_and_states_are_written_and_read_by_layer_and_tag() {
    let (_directory, project) = project();
    assert_eq!(project.latest(Layer::Notes, None).unwrap(), None);
    project.write_note("one").unwrap();
    project.write_note("two").unwrap();
    project.write_state("here").unwrap();
    assert_eq!(project.latest(Layer::Notes, None).unwrap().as_deref(), Some("two"));
    assert_eq!(project.latest(Layer::Notes, Some("general")).unwrap().as_deref(), Some("two"));
    assert_eq!(project.latest(Layer::Notes, Some("other")).unwrap(), None);
    assert_eq!(project.latest(Layer::State, None).unwrap().as_deref(), Some("here"));
    assert_eq!(project.latest(Layer::Archive, None).unwrap(), None);
}

#[test]
fn a_paused_project_records_and_carries_out_nothing() {
    let (_directory, project) = project();
    std::fs::write(project.pause_file().unwrap(), "").unwrap();
    assert!(project.is_paused());
    assert_eq!(project.write_note("later").unwrap_err().category().exit_code(), 3);
    assert_eq!(project.latest(Layer::Notes, None).unwrap(), None);
    std::fs::remove_file(project.pause_file().unwrap()).unwrap();
    project.resume(&Handover::new()).unwrap();
    assert_eq!(project.latest(Layer::Notes, None).unwrap().as_deref(), Some("later"));
}

#[test]
fn two_steps_of_one_name_and_a_backend_of_our_name_are_refused() {
    let (_directory, project) = project();
    let twice = Handover::new().note("n").steps(vec![Step::note(), Step::state().named("note")]);
    assert_eq!(project.hand_over(&twice).unwrap_err().message(), "two steps are called `note`");
    struct Imposter;
    impl Backend for Imposter {
        fn name(&self) -> &'static str {
            "git"
        }

        fn publish(&self, _: &PublishedFiles<'_>) -> Result<String, Box<dyn std::error::Error>> {
            Err("never called".into())
        }
    }
    let error = project.hand_over(&Handover::new().note("n").backend(&Imposter)).unwrap_err();
    assert_eq!(error.message(), "`git` is a backend of agent-handover itself");
    assert_eq!(project.check().unwrap(), Check::Nothing);
}
