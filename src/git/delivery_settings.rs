//! The settings that a delivery needs, asked of git in one question, whose answer is waited for when it is needed.
//!
//! Where a setting could mean something that only git knows, git is asked about it alone.

use std::cell::RefCell;
use std::rc::Rc;

use super::Git;
use super::command::Asked;

/// The settings that are asked for. git writes the section and the last word of a key in lower case.
const WANTED: &str = r"^(commit\.gpgsign|url\..*|remote\..*\.(url|pushurl|receivepack))$";
/// More than the settings of all remotes have.
const MAX_SETTINGS: u64 = 1 << 20;

/// For a `Git` and its clones.
pub(super) type KnownSettings = Rc<RefCell<Known>>;

/// What is known of the settings.
#[derive(Default)]
pub(super) enum Known {
    /// Nobody asked, or git gave no answer that can be used.
    #[default]
    Nothing,
    Asked(Box<Asked>),
    Read(Rc<Vec<Setting>>),
}

/// A key with its value; a key without `=` has none.
type Setting = (String, Option<String>);

impl Git {
    /// Begins to ask for the settings that a delivery needs. A failure means that each is asked for when it is needed.
    pub(crate) fn begin_settings(&self) {
        let asked = self.begin(&["config", "-z", "--get-regexp", WANTED], None);
        *self.settings.borrow_mut() = asked.map_or(Known::Nothing, |asked| Known::Asked(Box::new(asked)));
    }

    /// The values of a key, the one that counts last; `None` if they are not known.
    fn setting(&self, key: &str) -> Option<Vec<Option<String>>> {
        let known = self.known_settings()?;
        Some(known.iter().filter(|(found, _)| found == key).map(|(_, value)| value.clone()).collect())
    }

    fn known_settings(&self) -> Option<Rc<Vec<Setting>>> {
        let mut known = self.settings.borrow_mut();
        *known = match std::mem::take(&mut *known) {
            Known::Asked(asked) => match asked.answer(MAX_SETTINGS) {
                // git fails if there is no such setting, and if a file of settings cannot be read.
                Ok(answer) if answer.succeeded && answer.whole => Known::Read(Rc::new(read(&answer.stdout))),
                _ => Known::Nothing,
            },
            other => other,
        };
        match &*known {
            Known::Read(settings) => Some(Rc::clone(settings)),
            _ => None,
        }
    }

    /// Whether the user's config asks for signed commits; `None` if only git knows.
    pub(super) fn known_to_sign(&self) -> Option<bool> {
        let values = self.setting("commit.gpgsign")?;
        let Some(value) = values.last() else { return Some(false) };
        let Some(value) = value else { return Some(true) };
        match value.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" | "" => Some(false),
            _ => None,
        }
    }

    /// The addresses that a push to this remote goes to; `None` if only git knows.
    pub(super) fn known_push_addresses(&self, remote: &str) -> Option<Vec<String>> {
        let known = self.known_settings()?;
        // Addresses are rewritten.
        if known.iter().any(|(key, _)| key.starts_with("url.")) {
            return None;
        }
        let all = |key: &str| self.setting(&format!("remote.{remote}.{key}")).unwrap_or_default();
        let (urls, push) = (all("url"), all("pushurl"));
        // Without an address, the name may be in an old file or be an address itself. An empty one takes others back.
        if urls.is_empty() || urls.iter().chain(&push).any(|value| value.as_deref().is_none_or(str::is_empty)) {
            return None;
        }
        Some(if push.is_empty() { urls } else { push }.into_iter().flatten().collect())
    }

    /// Whether a push to this remote goes to the one address that it is read from.
    pub(crate) fn pushes_where_it_reads(&self, remote: &str) -> bool {
        let read = self.setting(&format!("remote.{remote}.url")).unwrap_or_default();
        let pushed = self.known_push_addresses(remote).unwrap_or_default();
        matches!((read.as_slice(), pushed.as_slice()), ([Some(read)], [pushed]) if read == pushed)
    }

    /// Whether the user's config names the program that receives a push to this remote; `None` if only git knows.
    pub(super) fn is_known_to_name_receiver(&self, remote: &str) -> Option<bool> {
        self.setting(&format!("remote.{remote}.receivepack")).map(|values| !values.is_empty())
    }
}

/// The answer of `git config -z`: `key\nvalue\0`, or `key\0`.
pub(super) fn read(answer: &[u8]) -> Vec<Setting> {
    let text = String::from_utf8_lossy(answer);
    let setting = |text: &str| match text.split_once('\n') {
        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
        None => (text.to_owned(), None),
    };
    text.split('\0').filter(|text| !text.is_empty()).map(setting).collect()
}
