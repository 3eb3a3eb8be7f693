//! What a delivery costs beside the git plumbing that it needs.

use std::process::Command;

use crate::race::{Results, Side, side};
use crate::world::World;

/// The plumbing that a delivery needs.
const BARE: &str = "add, write-tree, commit-tree, update-ref, push";

/// A note more for a local bare remote, against the plumbing and the push that this needs; with few and with many files on the
/// branch already.
pub(crate) fn publish(results: &mut Results) {
    let sizes: &[usize] = if results.is_full { &[10, 10_000, 50_000] } else { &[10, 10_000] };
    for files in sizes {
        let config = "[backend]\ntype = \"git\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n";
        let mut sides: Vec<Side> = Vec::new();
        let bare = "set -e; export GIT_INDEX_FILE=$PWD/.git/bare.index; git add --all --force -- memory .agent-history; \
            tree=$(git write-tree); parent=$(git rev-parse refs/heads/bare); \
            commit=$(git commit-tree $tree -p $parent -m x); git update-ref refs/heads/bare $commit $parent; \
            git push --quiet origin $commit:refs/heads/bare";
        for name in [BARE, "agent-handover push"] {
            let world = World::new(config);
            world.shell(
                "git init -q . && git init -q --bare remote.git && git remote add origin $PWD/remote.git \
                 && git config user.name b && git config user.email b@b && git config core.fsync objects,reference \
                 && git config core.fsyncMethod batch",
            );
            let sessions = world.path().join(".agent-history/sessions");
            std::fs::create_dir_all(&sessions).unwrap();
            for n in 0..*files {
                std::fs::write(sessions.join(format!("{n}.md")), format!("session {n}\n").repeat(20)).unwrap();
            }
            let note = world.path().join("memory/layer1/2026-11/general-2026-11-15.md");
            std::fs::create_dir_all(note.parent().unwrap()).unwrap();
            let count = std::cell::Cell::new(0);
            let more = move || {
                count.set(count.get() + 1);
                std::fs::write(&note, format!("note {}\n", count.get())).unwrap();
            };
            more();
            let command: Box<dyn Fn() -> Command> = if name == BARE {
                world.shell("export GIT_INDEX_FILE=$PWD/.git/bare.index; git add -f memory .agent-history && \
                     git update-ref refs/heads/bare $(git commit-tree $(git write-tree) -m x) && git push -q origin bare");
                let world = world.clone();
                Box::new(move || {
                    let mut command = Command::new("sh");
                    command.args(["-c", bare]).current_dir(world.path());
                    command
                })
            } else {
                world.run(&["push"]);
                Box::new(world.command(&["push"]))
            };
            more();
            let side = side(name, command).after(more);
            sides.push(if sides.is_empty() { side } else { side.at_most(1.3) });
        }
        results.race(&format!("publish one note to a remote that has {files} files"), 15, sides);
    }
}
