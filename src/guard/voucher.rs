//! Who vouches for a text in one directory of memory or history: the user's own record, an adoption, the directory itself,
//! or 0.1.0, which kept no record.

use std::path::Path;
use std::rc::Rc;

use super::own_record::{self, OwnDirectory, OwnKey, OwnRecord};
use super::registry;

/// Answers for every text in one directory whether it is this user's own.
pub(crate) struct Voucher {
    record: Rc<OwnRecord>,
    directory: OwnDirectory,
    is_of_0_1_0: bool,
}

impl Voucher {
    /// The voucher of a directory of the project at `root`, whose history is in `history`. `tracks` says whether git tracks
    /// something in a directory.
    pub(crate) fn of(
        record: &Rc<OwnRecord>,
        root: &Path,
        history: &Path,
        directory: &Path,
        tracks: fn(&Path) -> bool,
    ) -> Voucher {
        Voucher {
            record: Rc::clone(record),
            directory: OwnDirectory::of(directory, tracks),
            is_of_0_1_0: registry::is_remembered_by_0_1_0(root, history) && !own_record::was_adopted(directory),
        }
    }

    /// The directory, without links.
    pub(crate) fn real_directory(&self) -> &Path {
        self.directory.real_path()
    }

    /// Whether the text with this key is ours. `run` is the run that it names, if any.
    pub(crate) fn owns(&self, key: &OwnKey, run: &str) -> bool {
        self.is_of_0_1_0 || self.record.owns(&self.directory, key, run)
    }

    /// Whether a run of ours wrote the text with this key.
    pub(crate) fn wrote(&self, key: &OwnKey) -> bool {
        self.record.has(key)
    }

    /// Whether a run of ours wrote the text with this key, or the user accepted it. Does not ask git.
    pub(crate) fn has(&self, key: &OwnKey) -> bool {
        self.wrote(key) || self.record.is_adopted(self.directory.path(), key)
    }

    /// Whether all text in the directory is ours unless it says otherwise.
    pub(crate) fn vouches_for_all(&self) -> bool {
        self.is_of_0_1_0 || self.directory.vouches()
    }
}
