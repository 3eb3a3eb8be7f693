//! What git cannot read of a repository, as a power cut leaves it, and refs that are moved because of that.

use std::path::Path;

use super::{Git, Result, is_object_id};

/// More than the names of all objects of a branch take.
const MAX_NAMES: u64 = 1 << 30;

impl Git {
    /// The object that a ref names, whether or not the object can be read. `None` if there is no such ref.
    pub(crate) fn id_of(&self, name: &str) -> Result<Option<String>> {
        let answer = self.ask(&["rev-parse", "--verify", "--quiet", name])?;
        let id = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        Ok(Some(id).filter(|id| answer.succeeded && is_object_id(id)))
    }

    /// The first parents of a commit, the nearest first, as far as git can read them.
    pub(crate) fn first_parents(&self, commit: &str, most: usize) -> Result<Vec<String>> {
        let answer = self.ask(&["rev-list", "--first-parent", &format!("--max-count={most}"), commit, "--"])?;
        Ok(String::from_utf8_lossy(&answer.stdout).lines().map(str::to_owned).collect())
    }

    /// git's words about a commit that it cannot read, or about something below the commit. `None` if it can read all.
    pub(crate) fn unreadable_below(&self, commit: &str) -> Result<Option<String>> {
        let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        // What a partial clone has not fetched yet is not damage.
        let arguments = ["rev-list", "--objects", "--missing=allow-promisor", commit, "--"];
        let listed = self.ask_with_input(&arguments, None, MAX_NAMES)?;
        if !listed.succeeded {
            return Ok(Some(words(&listed.stderr)));
        }
        let ids = listed.stdout.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').next());
        // git may leave out the commit itself without a word.
        let ids = std::iter::once(commit.as_bytes()).chain(ids.filter(|id| !id.is_empty()));
        let input: Vec<u8> = ids.flat_map(|id| [id, b"\n"].concat()).collect();
        let checked = self.ask_with_input(&["cat-file", "--batch-check"], Some(&input), MAX_NAMES)?;
        let answers = words(&checked.stdout);
        let missing: Vec<&str> = answers.lines().filter(|line| line.ends_with(" missing")).collect();
        if checked.succeeded && missing.is_empty() {
            return self.corrupt_below(commit);
        }
        Ok(Some(format!("{} {}", words(&checked.stderr), missing.join(" ")).trim().to_owned()))
    }

    /// git's words about an object below a commit whose content is not what it was. git reads contents only if asked to.
    fn corrupt_below(&self, commit: &str) -> Result<Option<String>> {
        let answer =
            self.ask_with_input(&["rev-list", "--verify-objects", "--quiet", commit, "--"], None, MAX_NAMES)?;
        let said = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
        // What a partial clone has not fetched yet is missing, not corrupt.
        let is_corrupt = ["corrupt", "hash mismatch", "inflate"].iter().any(|sign| said.contains(sign));
        // git reports it and succeeds all the same.
        Ok(Some(said).filter(|_| is_corrupt))
    }

    /// Whether git can read the whole content of an object, or does not have it.
    pub(crate) fn reads_object(&self, id: &str) -> Result<bool> {
        let answer = self.ask_with_input(&["cat-file", "--batch"], Some(format!("{id}\n").as_bytes()), MAX_NAMES)?;
        let said = String::from_utf8_lossy(&answer.stderr);
        Ok(answer.succeeded && !said.contains("corrupt"))
    }

    /// Why git cannot read a branch. `None` if it can, and if there is no such branch.
    pub(crate) fn damage_of_branch(&self, branch: &str) -> Result<Option<String>> {
        let name = format!("refs/heads/{branch}");
        if let Some(id) = self.id_of(&name)? {
            return self.unreadable_below(&id);
        }
        let answer = self.ask(&["for-each-ref", &name])?;
        let said = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
        Ok(Some(said).filter(|said| said.contains("broken ref")))
    }

    /// git that writes objects and its index into a store of their own, and reads no others.
    #[must_use]
    pub(crate) fn with_store(self, store: &Path) -> Git {
        self.with_env("GIT_OBJECT_DIRECTORY", store).with_index(&store.join("index"))
    }

    pub(crate) fn delete_ref(&self, name: &str, old: &str) -> Result<()> {
        self.must(&["update-ref", "-d", name, old], None, 1_000).map(drop)
    }

    /// Whether some work tree has checked out this branch. `true` also if git cannot tell.
    pub(crate) fn is_checked_out(&self, branch: &str) -> Result<bool> {
        let answer = self.ask(&["worktree", "list", "--porcelain"])?;
        let line = format!("branch refs/heads/{branch}");
        Ok(!answer.succeeded || String::from_utf8_lossy(&answer.stdout).lines().any(|found| found == line))
    }
}

/// The object ids in git's words, also where it names the file of an object.
pub(crate) fn ids_in(said: &str) -> Vec<String> {
    let join = |part: &str| match part.split_once('/') {
        Some((start, rest)) if start.len() == 2 => [start, rest].concat(),
        _ => part.to_owned(),
    };
    let text = said.split("objects/").map(join).collect::<Vec<_>>().join(" ");
    let words = text.split(|letter: char| !letter.is_ascii_hexdigit());
    words.filter(|word| is_object_id(word)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_in_gits_words() {
        let (one, two) = ("1bee513e8882c854d1ef0245748e0f0368c65098", "bb33da77de9fca06363b72b676378de2c7a04aec");
        let said = format!(
            "error: object file .git/objects/1b/{} is empty\nfatal: bad tree object {two}\nobjects/\u{e9}x",
            &one[2..]
        );
        assert_eq!(ids_in(&said), [one, two]);
        assert_eq!(ids_in("nothing"), [""; 0]);
    }
}
