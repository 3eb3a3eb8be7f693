//! `index.db`: whose it is, how it is created, and what happens to one that cannot be used.
//!
//! An index decides what an agent is shown, so one that came with a repository must not be read. The user's own state knows
//! the id of each index that this user's program made, with the mark of the file. Any other file in its place is not read:
//!
//! | the file | what happens |
//! |---|---|
//! | has a known id and mark, and this version | it is used |
//! | git tracks files of the state directory | it stays as it is; the index goes beside it, under a name that no repository knows |
//! | cannot be opened now, because the disk is full or another process has it | it stays as it is |
//! | anything else: damaged, copied, of another version | it is removed and built again |
//!
//! If no file can be used, the index is built in memory for this one search.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, ffi};

use super::schema;
use super::store::Index;
use crate::base::fs::{self, Anchor};
use crate::git;
use crate::guard::state_ids::{self, Standing};
use crate::project::Project;

const NAME: &str = "index.db";
/// The files that SQLite keeps beside a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];
/// How much of the index is held in memory.
const CACHE_KIB: i64 = 16 << 10;
/// How large a page of a new index is, in bytes.
const PAGE: i64 = 8 << 10;
/// After how many pages the log is copied into the database. Each time costs two syncs.
const MAX_LOG_PAGES: i64 = 4 << 10;
/// How long one statement waits for another process.
const WAIT: Duration = Duration::from_millis(500);

impl Index {
    /// Opens the index of a project, and creates it if there is none. It is in memory if no file can be used.
    pub(crate) fn open(project: &Project) -> Index {
        #[cfg(feature = "vectors")]
        if project.config.embed.is_some() {
            super::vectors::register();
        }
        match IndexFile::of(project).open() {
            Some((connection, path)) => Index::of(connection, Some(path)),
            None => Index::in_memory(),
        }
    }

    /// Opens the index of a project if there is one that can be used.
    pub(crate) fn open_existing(project: &Project) -> Option<Index> {
        let file = IndexFile::of(project);
        file.names().into_iter().find_map(|path| Some(Index::of(file.look(&path).usable()?, Some(path))))
    }

    /// Removes a damaged index and opens a new one.
    pub(crate) fn replace(self, project: &Project) -> Index {
        let Some(path) = self.path.clone() else { return Index::in_memory() };
        drop(self);
        let file = IndexFile::of(project);
        let Ok(_lock) = file.anchor.lock_directory(&project.state) else { return Index::in_memory() };
        file.remove(&path);
        match file.create(&path) {
            Some(connection) => Index::of(connection, Some(path)),
            None => Index::in_memory(),
        }
    }

    /// An index that lasts as long as this process.
    pub(crate) fn in_memory() -> Index {
        let create = || -> rusqlite::Result<Connection> {
            let mut connection = Connection::open_in_memory()?;
            let transaction = connection.transaction()?;
            schema::create(&transaction, "")?;
            transaction.commit()?;
            Ok(connection)
        };
        Index::of_result(create())
    }
}

/// The place of the index.
struct IndexFile {
    anchor: Anchor,
    state: PathBuf,
}

impl IndexFile {
    fn of(project: &Project) -> IndexFile {
        IndexFile { anchor: project.anchor(&project.state), state: project.state.clone() }
    }

    /// The names under which the index may be.
    fn names(&self) -> Vec<PathBuf> {
        let beside = state_ids::word().map(|word| self.state.join(format!("index-{word}.db")));
        [self.state.join(NAME)].into_iter().chain(beside).collect()
    }

    fn open(&self) -> Option<(Connection, PathBuf)> {
        if !state_ids::is_possible() || !self.anchor.is_directory(&self.state) {
            return None;
        }
        if let Some(found) = self.names().into_iter().find_map(|path| Some((self.look(&path).usable()?, path))) {
            return Some(found);
        }
        // Two processes must not replace the same file.
        let _lock = self.anchor.lock_directory(&self.state).ok()?;
        let path = self.state.join(NAME);
        let is_free = !self.anchor.is_taken(&path);
        let path = if is_free || !git::may_track(&self.state) {
            path
        } else {
            self.state.join(format!("index-{}.db", state_ids::make_word().ok()?))
        };
        match self.look(&path) {
            Found::Usable(connection) => return Some((connection, path)),
            Found::OutOfReach => return None,
            Found::Useless => {}
        }
        self.remove(&path);
        self.create(&path).map(|connection| (connection, path))
    }

    /// Looks once whether this user's program made the database at the path, and whether it can be used. A second look could
    /// find another reason than the first.
    fn look(&self, path: &Path) -> Found {
        let about = self.anchor.about(path).ok().flatten();
        if about.is_none_or(|about| fs::is_foreign_owner(about.owner)) || !self.is_regular(path) {
            return Found::Useless;
        }
        let asked = self.connect(path).and_then(|connection| {
            let id = if schema::is_current(&connection)? { schema::id(&connection)? } else { None };
            Ok((connection, id))
        });
        let is_ours = |id: &str| mark(path).is_some_and(|mark| state_ids::standing(id, &mark) == Standing::Met);
        match asked {
            Ok((connection, Some(id))) if is_ours(&id) => Found::Usable(connection),
            Err(error) if is_passing(&error) => Found::OutOfReach,
            other => {
                tracing::debug!(error = ?other.err(), "the index cannot be used");
                Found::Useless
            }
        }
    }

    /// Creates the index at a path where nothing is.
    fn create(&self, path: &Path) -> Option<Connection> {
        self.anchor.create_private_if_absent(path).ok().filter(|()| self.is_regular(path))?;
        let mut connection = self.connect(path).ok()?;
        let id = state_ids::create_for_index(&mark(path)?).ok()??;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).ok()?;
        schema::create(&transaction, &id).and_then(|()| transaction.commit()).ok()?;
        Some(connection)
    }

    fn connect(&self, path: &Path) -> rusqlite::Result<Connection> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let below = path.strip_prefix(self.anchor.path()).unwrap_or(path);
        let connection = Connection::open_with_flags(fs::real(self.anchor.path()).join(below), flags)?;
        connection.busy_timeout(WAIT)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        // For a new file: half as many pages are written, each with a call of its own.
        connection.pragma_update(None, "page_size", PAGE)?;
        // What is removed is not left in free pages of the file.
        connection.pragma_update(None, "secure_delete", true)?;
        // After a power cut the newest passages may be missing, and are read again.
        connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        // While the index is built, most pages change many times: they are held, and copied into the file seldom.
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        connection.pragma_update(None, "wal_autocheckpoint", MAX_LOG_PAGES)?;
        Ok(connection)
    }

    /// Whether SQLite may open the path by its name: no link and no special file is there or beside it.
    fn is_regular(&self, path: &Path) -> bool {
        self.files(path).iter().all(|file| self.anchor.require_regular(file).is_ok())
    }

    fn remove(&self, path: &Path) {
        for file in self.files(path).iter().rev().filter(|file| self.anchor.is_taken(file)) {
            let _ = self.anchor.remove_file_lazily(file);
        }
    }

    /// The database and the files that SQLite keeps beside it.
    fn files(&self, path: &Path) -> [PathBuf; 4] {
        ["", BESIDE[0], BESIDE[1], BESIDE[2]].map(|suffix| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        })
    }
}

/// What is at the place of the index.
enum Found {
    Usable(Connection),
    /// Nothing, or something that another one may replace.
    Useless,
    /// The database may be sound, and cannot be opened now.
    OutOfReach,
}

impl Found {
    fn usable(self) -> Option<Connection> {
        match self {
            Found::Usable(connection) => Some(connection),
            Found::Useless | Found::OutOfReach => None,
        }
    }
}

/// Whether an error says nothing about the file: there is no room for what SQLite keeps beside it, or it is busy.
fn is_passing(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(error, _) = error else { return false };
    let is_without_room =
        [ffi::SQLITE_IOERR_SHMOPEN, ffi::SQLITE_IOERR_SHMSIZE, ffi::SQLITE_IOERR_SHMMAP, ffi::SQLITE_IOERR_WRITE]
            .contains(&error.extended_code);
    let code = error.code;
    is_without_room || matches!(code, ErrorCode::DiskFull | ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
}

/// Marks the file itself: another file in its place has another mark.
fn mark(path: &Path) -> Option<String> {
    fs::lasting_mark(path)
}
