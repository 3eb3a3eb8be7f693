//! Everything here that reads bytes of others, as one function, for fuzzing: what git prints, and the files of a repository
//! that are read without git.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::damage::ids_in;
use super::delivery_settings;
use super::failure::{Failure, is_missing_branch, is_ref_race};
use super::parse::{self, Commit, is_object_id};
use super::repository::pointer;
use super::settings::Settings;
use crate::base::text;

/// Reads any bytes as each of them. Panics if a parser hands on what it must not.
pub(crate) fn read_as_everything(bytes: &[u8]) {
    for Commit { id, .. } in parse::log(bytes) {
        assert!(is_object_id(&id), "a commit without an id");
    }
    for id in ids_in(&text::of_bytes(bytes)) {
        assert!(is_object_id(&id), "{id} is not an id");
    }
    let changes = parse::name_status(bytes).into_iter().chain(parse::status(bytes));
    let changed = changes.flat_map(|change| std::iter::once(change.path).chain(change.from)).map(PathBuf::from);
    let different = parse::raw_differences(bytes).into_iter().chain(parse::tree(bytes)).map(|found| found.path);
    let named = [&b""[..], b"gitdir: "].into_iter().filter_map(|prefix| pointer(bytes, prefix));
    for path in changed.chain(different).chain(parse::unmerged(bytes)).chain(named) {
        assert!(!path.as_os_str().as_bytes().contains(&0), "a path with a zero byte, which no system call takes");
    }
    for (key, value) in delivery_settings::read(bytes) {
        assert!(!key.contains(['\n', '\0']) && value.is_none_or(|value| !value.contains('\0')), "a setting has two");
    }
    let settings = Settings::parse(&text::of_bytes(bytes));
    let _ = (settings.is_bare(), settings.worktree(Path::new("/repository/.git")));
    let said = text::of_bytes(bytes);
    let _ = (is_ref_race(&said), is_missing_branch(&said));
    let line = Failure::of_git("`git push` failed", &said).at_remote().at_signing().one_line();
    assert!(!line.contains('\n'), "a failure in one line has several");
}
