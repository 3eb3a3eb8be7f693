//! Keeps git from running what a repository names.
//!
//! A repository's own configuration (`.git/config`, `config.worktree`, whatever they include) can name programs that git
//! starts by itself. A stranger's repository is only text, so none of them may run when we ask git something.
//!
//! | key | asking (hooks, `warmup`, `status`, …) | publishing (a typed command, or an allowed config) |
//! |---|---|---|
//! | `filter.*.clean`, `smudge`, `process` | the repository's own are blanked; the user's own work | the same |
//! | `core.fsmonitor`, `core.hooksPath`, `core.pager`, `pager.*`, `core.editor`, `sequence.editor` | off | off |
//! | `diff.external`, `diff.*.command`, `diff.*.textconv`, `interactive.diffFilter` | off; also by option where we diff | off |
//! | `core.alternateRefsCommand`, `gc.recentObjectsHook` | off | off |
//! | `merge.*.driver`, `trailer.*.command`, `alias.*`, `submodule.*.update`, tools, browsers, mail | no command of ours uses them | the same |
//! | `core.sshCommand`, `core.gitProxy`, `credential.*`, `core.askPass`, `remote.*.uploadpack`, `receivepack`, `vcs`, `url.*`, `protocol.*` | no transport is allowed | as the person configured them |
//! | `gpg.program`, `gpg.*.program`, `gpg.ssh.defaultKeyCommand` | off | as the person configured them |
//! | `core.worktree` | overridden: the work tree is the directory that has `.git` | the same |
//! | submodules | their changes are not looked for, so no git runs in them | the same |
//!
//! A bare repository that is found by looking upward is refused (`safe.bareRepository`): a plain clone can carry one. git
//! does not look above the directory that has `.git`.
//!
//! The settings travel in one variable, `GIT_CONFIG_PARAMETERS`, as those of `git -c` do. They win over every file.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::repository::pointer;
use super::{Failure, Result, pipes};
use crate::base::fs::{self, Anchor};
use crate::base::process::{self, Job};
use crate::error::Error;

/// What git is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To know something. Nothing that the repository names may run, and nothing reaches a network.
    Asking,
    /// To bring memory elsewhere, which a person typed or allowed: ssh, credentials and signing are the person's.
    Publishing,
}

/// Programs that no git of ours needs, whoever named them.
const ALWAYS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("sequence.editor", "false"),
    ("diff.external", "false"),
    ("interactive.diffFilter", "cat"),
    // An empty list is a right answer to the question which commits a borrowed object store has.
    ("core.alternateRefsCommand", "true"),
    ("gc.recentObjectsHook", "true"),
    ("log.showSignature", "false"),
    ("diff.ignoreSubmodules", "dirty"),
    ("status.submoduleSummary", "false"),
    ("safe.bareRepository", "explicit"),
];

/// Programs that only publishing needs.
const WHEN_ASKING: &[(&str, &str)] = &[
    ("core.sshCommand", "false"),
    ("core.askPass", "false"),
    // An empty value forgets the helpers that were named before it.
    ("credential.helper", ""),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.ssh.defaultKeyCommand", "false"),
];

/// A configuration file of more than this is read by git alone.
const MAX_CONFIG: u64 = 1 << 20;

/// How long an answer about the filters is believed. One command asks git several times within milliseconds.
const BELIEVED: Duration = Duration::from_secs(1);

/// What a git process is given so that it runs nothing of the repository's own.
pub(super) struct Shield {
    /// The top of the work tree, without links.
    pub top: Option<PathBuf>,
    pub env: Vec<(String, OsString)>,
    /// Filters whose programs were replaced: files with such a filter cannot be compared with what git has stored.
    pub blanked: Arc<Vec<Filter>>,
}

/// A filter that the repository defines, as we let it be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    pub name: Vec<u8>,
    /// The user's own definition of the same name; empty if there is none.
    clean: Vec<u8>,
    smudge: Vec<u8>,
    process: Vec<u8>,
    required: Vec<u8>,
}

impl Filter {
    /// Whether files with this filter would be compared without being converted.
    pub(super) fn is_off(&self) -> bool {
        self.clean.is_empty() && self.process.is_empty()
    }
}

/// What a git in `directory` is given. Starts another git only if a configuration file of the repository may define a filter.
/// With a `bare` repository, `directory` is its work tree.
pub(super) fn shield(directory: &Path, bare: Option<&Path>, purpose: Purpose, timeout: Duration) -> Result<Shield> {
    // git goes upward from where it really is, so we must, too.
    let real = fs::real(directory);
    let top = if bare.is_some() { Some(&*real) } else { super::boundary(&real) };
    match (top, bare) {
        (Some(_), Some(bare)) => pipes::refuse_in(bare)?,
        (Some(top), None) => {
            pipes::refuse(top)?;
            refuse_foreign(top)?;
        }
        (None, _) => {}
    }
    let mut env = base_env(top, purpose);
    env.extend(bare.map(|bare| ("GIT_DIR".to_owned(), bare.as_os_str().to_owned())));
    let blanked = match top {
        Some(top) => own_filters(&real, top, bare, &env, timeout)?,
        None => Arc::default(),
    };
    env.push((PARAMETERS.to_owned(), parameters(purpose, &blanked)));
    Ok(Shield { top: top.map(Path::to_path_buf), env, blanked })
}

/// Refuses a directory whose `.git` leads to a repository that does not lead back: git would follow it.
fn refuse_foreign(top: &Path) -> Result<()> {
    if super::directories(top).is_some() {
        return Ok(());
    }
    let message = format!("the `.git` of `{}` leads to a repository that does not know this directory", top.display());
    let hint = "if it is yours: `git worktree repair` after a worktree was moved, else set `core.worktree` there";
    Err(Failure::of_answer(Error::failed(message).hint(hint)))
}

const PARAMETERS: &str = "GIT_CONFIG_PARAMETERS";

fn base_env(top: Option<&Path>, purpose: Purpose) -> Vec<(String, OsString)> {
    let mut env = Vec::new();
    if let Some(top) = top {
        env.push(("GIT_WORK_TREE".to_owned(), top.as_os_str().to_owned()));
        if let Some(ceiling) = ceiling(top) {
            env.push(("GIT_CEILING_DIRECTORIES".to_owned(), ceiling.as_os_str().to_owned()));
        }
    }
    if purpose == Purpose::Asking {
        // Overrides every `protocol.*` setting; there is no protocol of this name.
        env.push(("GIT_ALLOW_PROTOCOL".to_owned(), "none".into()));
    }
    env
}

/// The directory above which git does not look for a repository. `None` if it cannot be named in a list of paths.
fn ceiling(top: &Path) -> Option<&Path> {
    top.parent().filter(|above| above.is_absolute() && !above.as_os_str().as_bytes().contains(&b':'))
}

/// The settings in the form in which `git -c` hands them to its children.
fn parameters(purpose: Purpose, filters: &[Filter]) -> OsString {
    let mut text = Vec::new();
    let when_asking = if purpose == Purpose::Asking { WHEN_ASKING } else { &[] };
    for (key, value) in ALWAYS.iter().chain(when_asking) {
        push_parameter(&mut text, key.as_bytes(), value.as_bytes());
    }
    for filter in filters {
        let required = if filter.required.is_empty() { &b"false"[..] } else { &filter.required };
        let values: [(&[u8], &[u8]); 4] = [
            (b"clean", &filter.clean),
            (b"smudge", &filter.smudge),
            (b"process", &filter.process),
            (b"required", required),
        ];
        for (variable, value) in values {
            push_parameter(&mut text, &[b"filter.", filter.name.as_slice(), b".", variable].concat(), value);
        }
    }
    OsString::from_vec(text)
}

fn push_parameter(text: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    if !text.is_empty() {
        text.push(b' ');
    }
    if key.contains(&b'=') {
        // Only git 2.31 and later can read this form. An older one stops with an error, which is what we want then.
        quote(text, key);
        text.push(b'=');
        quote(text, value);
    } else {
        quote(text, &[key, b"=", value].concat());
    }
}

fn quote(text: &mut Vec<u8>, word: &[u8]) {
    text.push(b'\'');
    for byte in word {
        match byte {
            b'\'' => text.extend(b"'\\''"),
            byte => text.push(*byte),
        }
    }
    text.push(b'\'');
}

/// The filters that the repository's own configuration defines.
fn own_filters(
    directory: &Path,
    top: &Path,
    bare: Option<&Path>,
    env: &[(String, OsString)],
    timeout: Duration,
) -> Result<Arc<Vec<Filter>>> {
    let files =
        bare.map_or_else(|| config_files(top), |bare| config_files_in(bare, bare)).filter(|_| ceiling(top).is_some());
    if files.as_ref().is_some_and(|files| files.iter().all(|text| !may_define_filters(text))) {
        return Ok(Arc::default());
    }
    let key = (top.to_path_buf(), files.unwrap_or_default());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|known| known.asked.elapsed() < BELIEVED);
    if let Some(known) = known.iter().find(|known| known.key == key) {
        return Ok(Arc::clone(&known.filters));
    }
    let filters = Arc::new(ask(directory, env, timeout)?);
    known.push(Known { key, asked: Instant::now(), filters: Arc::clone(&filters) });
    Ok(filters)
}

struct Known {
    /// The work tree, and the bytes of its configuration files.
    key: (PathBuf, Vec<Vec<u8>>),
    asked: Instant,
    filters: Arc<Vec<Filter>>,
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// The bytes of the configuration files of the repository around a work tree. `None` if we cannot be sure to read the ones
/// that git reads; then git is asked.
fn config_files(top: &Path) -> Option<Vec<Vec<u8>>> {
    let link = top.join(".git");
    let private = if fs::is_directory(&link) { link } else { top.join(pointer(&read(&link)?, b"gitdir: ")?) };
    let common = match Anchor::beside(&private.join("commondir")).read_if_exists(Path::new("commondir")).ok()? {
        Some(text) => private.join(pointer(&text, b"")?),
        None => private.clone(),
    };
    config_files_in(&private, &common)
}

fn config_files_in(private: &Path, common: &Path) -> Option<Vec<Vec<u8>>> {
    let worktree = Anchor::new(private).read_if_exists(Path::new("config.worktree")).ok()?;
    Some([Some(read(&common.join("config"))?), worktree].into_iter().flatten().collect())
}

fn read(file: &Path) -> Option<Vec<u8>> {
    Anchor::beside(file).read_within(file, MAX_CONFIG).ok()
}

/// Whether a configuration file can define a filter, itself or by including another. The name of a section cannot be
/// escaped or broken over lines, so its bytes are in the file, in capitals or not.
fn may_define_filters(text: &[u8]) -> bool {
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    has(b"filter") || has(b"include")
}

/// Asks git which filters are defined where. `git config` runs nothing.
fn ask(directory: &Path, env: &[(String, OsString)], timeout: Duration) -> Result<Vec<Filter>> {
    let argv = ["git", "config", "--null", "--show-scope", "--includes", "--get-regexp", r"^filter\."];
    let mut env = env.to_vec();
    env.push((PARAMETERS.to_owned(), parameters(Purpose::Asking, &[])));
    env.push(("LC_ALL".to_owned(), "C".into()));
    let is_set = |name: &&&str| env.iter().all(|(set, _)| set != **name);
    let job = Job {
        argv: argv.map(OsString::from).to_vec(),
        directory: directory.to_path_buf(),
        env_remove: super::command::REPOSITORY_VARIABLES.iter().filter(is_set).map(|name| (*name).to_owned()).collect(),
        env: env.clone(),
    };
    let answer = process::capture(&job, timeout, MAX_CONFIG)?;
    // git ends with 1 and says nothing if no key matches.
    if answer.whole && (answer.succeeded || answer.stdout.is_empty() && answer.stderr.is_empty()) {
        return Ok(parse(&answer.stdout));
    }
    let said = String::from_utf8_lossy(&answer.stderr);
    Err(Failure::of_git("cannot find out which filters the repository defines".to_owned(), said.trim()))
}

/// `scope NUL key LF value NUL …`; keys of one name come from the widest scope to the narrowest.
fn parse(answer: &[u8]) -> Vec<Filter> {
    let mut all: Vec<(Filter, bool)> = Vec::new();
    let mut fields = answer.split(|byte| *byte == 0);
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        let end = entry.iter().position(|byte| *byte == b'\n').unwrap_or(entry.len());
        // A key without a value means true.
        let (key, value) = (&entry[..end], entry.get(end + 1..).unwrap_or(b"true"));
        let Some(rest) = key.strip_prefix(b"filter.") else { continue };
        let Some(dot) = rest.iter().rposition(|byte| *byte == b'.') else { continue };
        let (name, variable) = (&rest[..dot], &rest[dot + 1..]);
        let at = all.iter().position(|(filter, _)| filter.name == name).unwrap_or_else(|| {
            all.push((Filter { name: name.to_vec(), ..Filter::default() }, false));
            all.len() - 1
        });
        let (filter, is_own) = &mut all[at];
        if !matches!(scope, b"system" | b"global") {
            *is_own = true;
            continue;
        }
        let place = match variable {
            b"clean" => &mut filter.clean,
            b"smudge" => &mut filter.smudge,
            b"process" => &mut filter.process,
            b"required" => &mut filter.required,
            _ => continue,
        };
        *place = value.to_vec();
    }
    all.into_iter().filter(|(_, is_own)| *is_own).map(|(filter, _)| filter).collect()
}

/// The paths that an answer of `git status --porcelain=v2 -z` reports as changed in the work tree and nowhere else.
pub(super) fn changed_in_work_tree(answer: &[u8]) -> Vec<&[u8]> {
    records(answer).filter_map(|record| path_if_changed_here(record)).collect()
}

/// The same answer without the files at `paths` that are changed in the work tree and nowhere else.
pub(super) fn without(answer: &[u8], paths: &[Vec<u8>]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(answer.len());
    for record in records(answer) {
        let is_left_out = path_if_changed_here(record).is_some_and(|path| paths.iter().any(|other| other == path));
        if !is_left_out {
            kept.extend(record);
            kept.push(0);
        }
    }
    kept
}

/// The records of `git status --porcelain=v2 -z`. A rename has its old path in a second field, which stays with it.
fn records(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = answer;
    std::iter::from_fn(move || {
        let end = |text: &[u8]| text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let mut length = end(rest);
        if rest.is_empty() {
            return None;
        }
        if rest.starts_with(b"2 ") && length < rest.len() {
            length += 1 + end(&rest[length + 1..]);
        }
        let record = &rest[..length];
        rest = rest.get(length + 1..).unwrap_or_default();
        Some(record)
    })
}

/// `1 .M <sub> <mode> <mode> <mode> <id> <id> <path>`
fn path_if_changed_here(record: &[u8]) -> Option<&[u8]> {
    record.strip_prefix(b"1 .M ")?.splitn(7, |byte| *byte == b' ').nth(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_of_the_repository_is_blanked_and_the_users_own_restored() {
        let answer = b"system\0filter.lfs.clean\ngit-lfs clean\0global\0filter.lfs.process\ngit-lfs filter-process\0\
            global\0filter.lfs.required\0global\0filter.mine.clean\nmine\0\
            local\0filter.lfs.process\n/tmp/evil\0worktree\0filter.a.b=c.smudge\n/tmp/evil\0";
        let filters = parse(answer);
        let names: Vec<_> = filters.iter().map(|filter| String::from_utf8_lossy(&filter.name).into_owned()).collect();
        assert_eq!(names, ["lfs", "a.b=c"]);
        assert_eq!(filters[0].clean, b"git-lfs clean");
        assert_eq!(filters[0].process, b"git-lfs filter-process");
        assert_eq!(filters[0].required, b"true");
        assert!(filters[1].is_off() && !filters[0].is_off());
        let text = parameters(Purpose::Publishing, &filters).into_string().unwrap();
        assert!(text.contains("'filter.lfs.process=git-lfs filter-process'"), "{text}");
        assert!(text.contains("'filter.a.b=c.clean'=''"), "{text}");
        assert!(text.contains("'filter.a.b=c.required'='false'"), "{text}");
        assert!(!text.contains("evil") && !text.contains("sshCommand"), "{text}");
    }

    #[test]
    fn a_quote_in_a_value_ends_nothing() {
        let mut text = Vec::new();
        push_parameter(&mut text, b"a.b", b"it's");
        push_parameter(&mut text, b"c.d", b"");
        assert_eq!(text, b"'a.b=it'\\''s' 'c.d='");
    }

    #[test]
    fn every_spelling_of_a_section_is_noticed() {
        for text in ["[filter \"x\"]\nclean=y", "[FILTER.x]", "[includeIf \"gitdir:/\"]", "[Include]"] {
            assert!(may_define_filters(text.as_bytes()), "{text}");
        }
        assert!(!may_define_filters(b"[core]\n\tbare = false\n[remote \"origin\"]\n"));
    }

    #[test]
    fn only_files_that_changed_in_the_work_tree_alone_are_left_out() {
        let answer = b"1 .M N... 100644 100644 100644 aa bb a b\x001 MM N... 100644 100644 100644 aa bb c\0\
            2 R. N... 100644 100644 100644 aa bb R100 new\x001 .M N... 100644 100644 100644 aa bb c\0? a b\0";
        assert_eq!(changed_in_work_tree(answer), [b"a b"]);
        let kept = without(answer, &[b"a b".to_vec(), b"c".to_vec()]);
        assert_eq!(kept, &answer[answer.iter().position(|byte| *byte == 0).unwrap() + 1..]);
    }
}
