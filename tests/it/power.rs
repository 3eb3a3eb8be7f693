//! What a power cut leaves behind, and what is synced so that it leaves everything. `tests/power/cuts.py` cuts the power of
//! real file systems; here the same damage is made by hand.

use super::publish::Site;
use super::support::*;

const CONFIG: &str = "[backend]\ntype = \"git\"\ntimeout = \"20s\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n\
    [[step]]\nname = \"publish\"\nkind = \"publish\"\n";

/// The file systems that a command syncs as a whole, and the programs it starts; `None` where there is no strace.
fn trace(world: &World, arguments: &[&str]) -> Option<(usize, String)> {
    let trace = world.home().join("trace");
    let mut command = world.clean("strace");
    command.args(["-f", "-qq", "-s", "200", "-e", "trace=syncfs,sync,execve", "-o"]).arg(&trace);
    let ended = command.arg(BINARY).args(arguments).output().ok()?;
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let text = std::fs::read_to_string(trace).unwrap();
    Some((text.lines().filter(|line| line.contains(" syncfs(") || line.contains(" sync(")).count(), text))
}

/// Whether git's own syncing is enough on the file system of the tests.
fn is_measured(world: &World) -> bool {
    let mut command = world.clean("stat");
    let output = command.args(["-f", "-c", "%t"]).arg(world.root()).output().unwrap();
    ["ef53", "58465342"].contains(&String::from_utf8_lossy(&output.stdout).trim())
}

#[test]
fn a_delivery_syncs_a_file_system_before_a_ref_moves_and_at_the_end() {
    let site = Site::new(CONFIG);
    let Some((syncs, programs)) = trace(&site.world, &["run", "--note", "to a path"]) else {
        return skip("strace is not installed");
    };
    // The repository and the remote are on one file system.
    let before_ref = usize::from(!is_measured(&site.world));
    assert_eq!(syncs, before_ref + 1, "{programs}");
    assert!(programs.contains("\"core.fsync=objects,reference\", \"receive-pack\""), "{programs}");
    let (syncs, programs) = trace(&site.world, &["run", "--no-push", "--note", "here"]).unwrap();
    assert_eq!(syncs, 2 * before_ref, "{programs}");
    // Nothing is new, so nothing needs to be synced.
    site.world.run(&["push"]).expect(0);
    assert_eq!(trace(&site.world, &["push"]).unwrap().0, 0);
    site.world.write("handover.toml", CONFIG.replace("git", "null"));
    assert_eq!(trace(&site.world, &["run", "--note", "null"]).unwrap().0, 0);
}

#[test]
fn a_program_of_the_users_that_receives_pushes_stays_in_place() {
    let site = Site::new(CONFIG);
    let program = format!("touch {}; git-receive-pack", site.world.home().join("received").display());
    site.world.git(&["config", "remote.origin.receivepack", &program]);
    site.world.run(&["run", "--note", "x"]).expect(0);
    assert!(site.world.home().join("received").exists());
}

/// What a power cut does to one part of the branch.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Missing(&'static str),
    Empty(&'static str),
    Zeros(&'static str),
    /// Only the first half is left, as on a bad disk.
    Half(&'static str),
    EmptyRef,
    ZerosInRef,
    HalfAnIdInRef,
}

impl Damage {
    /// Damages the branch in a git directory.
    fn strike(self, site: &Site, branch: &str, directory: &std::path::Path) {
        let object = |what: &str| {
            let name = format!("{branch}{what}");
            let id = site.world.git(&[&format!("--git-dir={}", directory.display()), "rev-parse", &name]);
            let id = id.trim();
            directory.join("objects").join(&id[..2]).join(&id[2..])
        };
        let put = |path: &std::path::Path, content: &[u8]| {
            std::fs::remove_file(path).unwrap();
            std::fs::write(path, content).unwrap();
        };
        match self {
            Damage::Missing(what) => std::fs::remove_file(object(what)).unwrap(),
            Damage::Empty(what) => put(&object(what), b""),
            Damage::Zeros(what) => put(&object(what), &[0; 100]),
            Damage::Half(what) => {
                let content = std::fs::read(object(what)).unwrap();
                put(&object(what), &content[..content.len() / 2]);
            }
            Damage::EmptyRef => put(&directory.join("refs/heads").join(branch), b""),
            Damage::ZerosInRef => put(&directory.join("refs/heads").join(branch), &[0; 41]),
            Damage::HalfAnIdInRef => put(&directory.join("refs/heads").join(branch), b"1bee513e8882c854d1ef"),
        }
    }
}

const BLOB: &str = ":memory/layer1/2026-11/general-2026-11-15.md";
const DAMAGES: [Damage; 13] = [
    Damage::Missing("^{tree}"),
    Damage::Empty("^{tree}"),
    Damage::Zeros("^{tree}"),
    Damage::Missing(""),
    Damage::Empty(""),
    Damage::Empty(BLOB),
    Damage::Half(""),
    Damage::Half("^{tree}"),
    Damage::Half(BLOB),
    Damage::Half("~1"),
    Damage::HalfAnIdInRef,
    Damage::EmptyRef,
    Damage::ZerosInRef,
];

#[test]
fn a_branch_that_git_cannot_read_is_rebuilt() {
    for push in ["true", "false"] {
        // Only a push reads the old version of a file.
        for damage in DAMAGES
            .into_iter()
            .filter(|damage| push == "true" || !matches!(damage, Damage::Empty(BLOB) | Damage::Half(BLOB | "~1")))
            .step_by(stride(3))
        {
            let site = Site::new(&CONFIG.replace("type", &format!("push = {push}\ntype")));
            site.world.run(&["run", "--note", "one"]).expect(0);
            site.world.run(&["run", "--note", "two"]).expect(0);
            let main = site.world.git(&["rev-parse", "main"]);
            damage.strike(&site, "agent-handover", &site.world.path(".git"));
            let doctor = site.world.run(&["doctor"]);
            assert!(
                doctor.stdout.contains("git cannot read the branch `agent-handover`"),
                "{damage:?}: {}",
                doctor.seen()
            );
            let output = site.world.run(&["run", "--note", "three"]).expect(0).stderr_ignored("the branch was rebuilt");
            assert!(output.seen().contains("it was rebuilt from the files here"), "{damage:?}: {}", output.seen());
            let place = if push == "true" { site.world.home().join("remote.git") } else { site.world.path(".git") };
            let place = format!("--git-dir={}", place.display());
            let notes = site.world.git(&[&place, "show", &format!("agent-handover:{NOTES}")]);
            for note in ["one", "two", "three"] {
                assert_eq!(notes.matches(&format!("\n{note}\n")).count(), 1, "{damage:?}, push {push}: {notes}");
            }
            site.world.git(&["rev-list", "--objects", "agent-handover"]);
            assert_eq!(site.world.git(&["rev-parse", "main"]), main);
            let output = site.world.run(&["run", "--note", "four"]).expect(0);
            assert!(!output.seen().contains("rebuilt"), "{damage:?}: {}", output.seen());
            let doctor = site.world.run(&["doctor"]);
            assert!(!doctor.stdout.contains("cannot read the branch"), "{damage:?}: {}", doctor.seen());
        }
    }
}

#[test]
fn objects_that_a_killed_git_left_empty_are_written_again() {
    let site = Site::new(CONFIG);
    site.world.run(&["run", "--note", "one"]).expect(0);
    // The next commit needs this blob, and git takes the empty file for the object.
    site.world.write("memory/layer1/2026-11/other-2026-11-01.md", "by hand\n");
    let id = site.world.git(&["hash-object", "memory/layer1/2026-11/other-2026-11-01.md"]);
    let path = site.world.path(&format!(".git/objects/{}/{}", &id[..2], id[2..].trim()));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "").unwrap();
    // Another file without content, which is none of our business.
    let other = site.world.path(".git/objects/ab/cdefabcdefabcdefabcdefabcdefabcdefabcd");
    std::fs::create_dir_all(other.parent().unwrap()).unwrap();
    std::fs::write(&other, "").unwrap();
    site.world.run(&["push"]).expect(0).stderr_ignored("the branch was rebuilt");
    assert_eq!(site.world.git(&["cat-file", "blob", id.trim()]), "by hand\n");
    assert!(other.exists(), "an object that we do not need was removed");
}

#[test]
fn a_branch_of_the_users_is_never_rebuilt() {
    let config = CONFIG.replace("type", "branch = \"main\"\ntype");
    for damage in [Damage::Empty("^{tree}"), Damage::Missing(""), Damage::EmptyRef] {
        let site = Site::new(&config);
        site.world.run(&["run", "--note", "one"]).expect(0);
        let before = site.world.read(".git/refs/heads/main");
        damage.strike(&site, "main", &site.world.path(".git"));
        let struck = std::fs::read(site.world.path(".git/refs/heads/main")).unwrap();
        let output = site.world.run(&["run", "--note", "two"]).expect(1);
        assert!(output.stderr.contains("git cannot read the branch `main`"), "{damage:?}: {}", output.stderr);
        assert!(output.stderr.contains("git fsck"), "{}", output.stderr);
        assert_eq!(std::fs::read(site.world.path(".git/refs/heads/main")).unwrap(), struck);
        assert!(site.world.read(NOTES).contains("\ntwo\n"), "the words are here");
        // The user repairs it: what is missing is still on the remote.
        let remote = site.world.home().join("remote.git");
        std::fs::write(site.world.path(".git/refs/heads/main"), before).unwrap();
        let mut copy = site.world.clean("cp");
        assert!(
            copy.arg("-rf")
                .arg(remote.join("objects/."))
                .arg(site.world.path(".git/objects"))
                .status()
                .unwrap()
                .success()
        );
        site.world.run(&["push"]).expect(0);
        site.world.run(&["check"]).expect(2);
    }
}

#[test]
fn damage_behind_the_remote_is_reported_as_that() {
    let site = Site::new(CONFIG);
    site.world.run(&["run", "--note", "one"]).expect(0);
    for damage in [Damage::Empty("^{tree}"), Damage::Empty("")] {
        damage.strike(&site, "agent-handover", &site.world.home().join("remote.git"));
        let output = site.world.run(&["run", "--note", "two"]).expect(1);
        assert!(output.stderr.contains("the repository behind origin is damaged"), "{damage:?}: {}", output.stderr);
    }
    let remote = site.world.home().join("remote.git");
    std::fs::remove_dir_all(&remote).unwrap();
    site.world.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    site.world.run(&["push"]).expect(0).stderr_ignored("the remote had lost the branch");
    let place = format!("--git-dir={}", remote.display());
    assert!(site.world.git(&[&place, "show", &format!("agent-handover:{NOTES}")]).contains("\ntwo\n"));
}

#[test]
fn a_lock_that_a_power_cut_left_on_our_branch_is_removed() {
    let site = Site::new(CONFIG);
    site.world.run(&["run", "--note", "one"]).expect(0);
    for place in [site.world.path(".git"), site.world.home().join("remote.git")] {
        let lock = place.join("refs/heads/agent-handover.lock");
        std::fs::write(&lock, "").unwrap();
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        std::fs::File::options().write(true).open(&lock).unwrap().set_modified(old).unwrap();
        let output = site.world.run(&["run", "--note", "again"]).expect(0).stderr_ignored("the lock is reported");
        assert!(
            output.seen().contains("agent-handover.lock`, which a git that was killed had left"),
            "{}",
            output.seen()
        );
        assert!(!lock.exists());
    }
    // A lock on the user's branch may be held.
    let lock = site.world.path(".git/refs/heads/main.lock");
    std::fs::write(&lock, "").unwrap();
    site.world.run(&["run", "--note", "more"]).expect(0);
    assert!(lock.exists());
}
