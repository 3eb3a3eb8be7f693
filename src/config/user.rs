//! The user's own config, `config.toml` in the user's own directory of settings. Its values are the defaults of every
//! project. It cannot publish or run anything: that needs consent, and consent is given to the config of one project.

use std::path::{Path, PathBuf};

use super::file::ConfigFile;
use super::load::{places, read_file};
use super::reader::{Placed, Problems, Reader};
use super::values::{Config, OwnFile, line_of};
use crate::base::{env, fs};
use crate::error::{Error, Listing, Result};

/// The tables of a project's config that the user's own cannot have.
const OF_PROJECTS: &[&str] = &["handover", "note", "backend", "guard", "category", "step"];

/// Where the user's own config is, whether or not it exists. `None` without a home directory.
fn user_config_path() -> Option<PathBuf> {
    env::config_directory().map(|directory| directory.join("config.toml"))
}

/// The defaults with the values of the user's own config.
pub(crate) fn user_config() -> Result<Config> {
    match user_config_path().filter(|path| fs::is_taken(path)) {
        Some(path) => Config::parse_own(&path, &ConfigFile::named(path.clone()).read()?),
        None => Ok(Config::default()),
    }
}

/// Like [`user_config`], for a command that somebody typed: a mistake in a file about hooks must not cost what they say. The
/// defaults then know about the mistake.
pub(crate) fn user_config_for_person() -> Config {
    user_config().unwrap_or_else(|trouble| Config { own_trouble: Some(trouble), ..Config::default() })
}

impl Config {
    /// Checks the text of a user's own config without looking at anything else.
    pub fn parse_own(path: &Path, text: &str) -> Result<Config> {
        let problems = Problems::default();
        let mut config = Config::default();
        read_file(text, &problems, |root, reader| {
            let lines = places(root).into_iter().map(|(key, span)| (key, line_of(text, span.start))).collect();
            config.own = Some(OwnFile { path: path.to_path_buf(), lines });
            config.read_own(reader);
        });
        match problems.into_sorted() {
            problems if problems.is_empty() => Ok(config),
            problems => Err(Error::listing(Listing { path: path.to_path_buf(), text: text.to_owned(), problems })),
        }
    }

    fn read_own(&mut self, mut root: Reader<'_>) {
        root.table("hook", "`[hook]`", |table| {
            self.read_hook(table);
            if let Some(found) = table.texts("ignore") {
                self.ignored_directories = found.value.into_iter().filter_map(|one| directory(table, one)).collect();
            }
        });
        self.read_common(&mut root);
        self.own_keep = self.keep;
        for key in OF_PROJECTS {
            root.refuse(
                key,
                "belongs in the `handover.toml` of a project",
                Some("your own config has `[hook]`, `[warmup]`, `[recall]` and `[transcripts]`"),
            );
        }
        root.finish();
    }
}

/// A directory that is written as an absolute path, or with `~`. What looks like a pattern is refused, because it would keep
/// hooks out of nothing; a directory that really has such a name can be ignored.
fn directory(table: &mut Reader<'_>, Placed { value, span }: Placed<String>) -> Option<PathBuf> {
    let rest = value.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let path = match rest {
        Some(rest) => env::home().map(|home| home.join(rest.trim_start_matches('/'))),
        None => Some(PathBuf::from(&value)).filter(|path| path.is_absolute()),
    };
    let is_pattern = |path: &PathBuf| value.contains(['*', '?']) && !fs::is_directory(path);
    let path = path.filter(|path| !is_pattern(path));
    if path.is_none() {
        let help = "write an absolute path, or one that starts with `~/`; everything below it is ignored, too";
        table.wrong(
            span,
            format!("`{value}` in `ignore` of `[hook]` is not the path of a directory"),
            Some(help.to_owned()),
        );
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Origin;

    fn of(text: &str) -> Result<Config> {
        Config::parse_own(Path::new("/c/config.toml"), text)
    }

    #[test]
    fn its_values_are_defaults_that_know_their_line() {
        let config = of("[hook]\nignore = [\"/srv/a\", \"~/b\"]\nheadless = false\n[warmup]\nbudget = 900\n").unwrap();
        assert_eq!(config.ignored_directories[0], Path::new("/srv/a"));
        assert!(config.ignored_directories[1].is_absolute());
        assert!(!config.follows_headless && config.recalls_at_first_prompt);
        assert_eq!((config.warmup_budget, config.origin("warmup.budget")), (900, Origin::Own { line: 5 }));
        assert_eq!(config.origin("recall.tools"), Origin::Default);
        assert_eq!(config.source(), None, "there is nothing to allow");
    }

    #[test]
    fn a_directory_covers_what_is_below_it_and_nothing_beside_it() {
        let config = of("[hook]\nignore = [\"/srv/a\"]").unwrap();
        let ignores = |path: &str| config.ignores(Path::new(path));
        assert!(ignores("/srv/a") && ignores("/srv/a/b"));
        assert!(!ignores("/srv/ab") && !ignores("/srv"));
        let world = tempfile::tempdir().unwrap();
        let odd = world.path().join("a*");
        std::fs::create_dir(&odd).unwrap();
        assert!(of(&format!("[hook]\nignore = [{odd:?}]")).unwrap().ignores(&odd.join("b")), "it has that name");
    }

    #[test]
    fn what_publishes_or_runs_and_what_is_misspelt_is_an_error() {
        for text in [
            "[backend]\ntype = \"git\"",
            "[[step]]\nname = \"x\"",
            "[handover]\ntag = \"x\"",
            "[hook]\nignored = []",
            "[hook]\nignore = \"x\"",
            "[hook]\nignore = [\"work\"]",
            "[hook]\nignore = [\"~user/x\"]",
            "[hook]\nignore = [\"\"]",
            "[hook]\nignore = [\"/srv/*/secret\"]",
            "[hook]\nignore = [\"~/clients/**\"]",
            "[warmup]\nbudget = 2",
            "[hooks]",
            "x = ",
        ] {
            assert!(of(text).is_err(), "{text}");
        }
        assert!(of("").is_ok() && of("x-note = 1").is_ok());
    }
}
