//! Which process is meant, also when another one looks later: after the process ended, after its number was reused, after a
//! reboot, and from inside another container.
//!
//! Only systems with `/proc` can answer. Elsewhere every process is unknown.

#![allow(clippy::disallowed_methods, reason = "files of the kernel")]

use std::io::Read;
use std::sync::OnceLock;

/// A process above this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ancestor {
    /// The name of its program, cut by the system after fifteen characters.
    pub name: String,
    pub identity: Identity,
}

/// Identifies one process. Its text is `PID START BOOT NAMESPACE`: the number, when the process started, the id of the
/// machine's boot and the PID namespace that gave the number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity(String);

impl Identity {
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    fn pid(&self) -> &str {
        self.0.split(' ').next().unwrap_or_default()
    }

    /// Whether a recorded text means this process. Texts of older versions have no namespace.
    pub(crate) fn is(&self, recorded: &str) -> bool {
        is_same(&self.0, recorded)
    }
}

/// Whether two texts mean the same process. An empty text means none.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (Parts::of(one), Parts::of(other));
    let is_same_namespace = |one: &Parts<'_>, other: &Parts<'_>| {
        one.namespace == other.namespace || one.namespace.is_none() || other.namespace.is_none()
    };
    matches!((one, other), (Some(one), Some(other)) if one.process == other.process && is_same_namespace(&one, &other))
}

/// Whether other processes can be seen from here.
pub(crate) fn is_possible() -> bool {
    View::of_this_process().is_some()
}

/// The processes above this one, the nearest first.
pub(crate) fn ancestors() -> Vec<Ancestor> {
    const MOST: usize = 16;
    let mut found = Vec::new();
    let Some(view) = View::of_this_process() else { return found };
    let mut pid = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    while pid > 1 && found.len() < MOST {
        let Some((name, parent, identity)) = view.about(pid) else { break };
        found.push(Ancestor { name, identity });
        pid = parent;
    }
    found
}

/// Whether the process with this identity still runs. `None` if that cannot be seen from here: in another PID namespace the
/// same number means another process.
pub(crate) fn is_alive(identity: &str) -> Option<bool> {
    let view = View::of_this_process()?;
    let parts = Parts::of(identity)?;
    if parts.namespace.is_some_and(|namespace| namespace != view.namespace) {
        return None;
    }
    Some(view.about(parts.pid).is_some_and(|(_, _, now)| now.is(identity)))
}

/// A file of `/proc`. Their lengths are unknown before they are read, so there is room for most of them from the start.
fn read(path: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(4 << 10);
    std::fs::File::open(path).ok()?.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The command line of a process.
pub(crate) fn arguments(identity: &Identity) -> Vec<String> {
    let line = read(&format!("/proc/{}/cmdline", identity.pid())).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The environment with which a process was started; what it has changed since is not in it. Empty if that cannot be seen.
pub(crate) fn environment(identity: &Identity) -> Vec<(String, String)> {
    const MOST: u64 = 4 << 20;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(format!("/proc/{}/environ", identity.pid()));
    let _ = file.and_then(|file| file.take(MOST).read_to_end(&mut bytes));
    let pairs = bytes.split(|byte| *byte == 0).filter_map(|pair| {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some((text(&pair[..at]), text(&pair[at + 1..])))
    });
    pairs.collect()
}

/// The directory in which a process is.
pub(crate) fn directory(identity: &Identity) -> Option<std::path::PathBuf> {
    std::fs::read_link(format!("/proc/{}/cwd", identity.pid())).ok()
}

/// The parts of an identity's text.
struct Parts<'a> {
    pid: i32,
    /// Number, start and boot.
    process: &'a str,
    /// `None` in texts of older versions.
    namespace: Option<&'a str>,
}

impl Parts<'_> {
    fn of(text: &str) -> Option<Parts<'_>> {
        let pid = text.split(' ').next()?.parse().ok()?;
        let (process, namespace) = match text.match_indices(' ').nth(2) {
            Some((at, _)) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        Some(Parts { pid, process, namespace })
    }
}

/// What this process can see of others.
struct View {
    boot: String,
    namespace: String,
}

impl View {
    /// It stays the same for as long as the process runs, and one command asks for it dozens of times.
    fn of_this_process() -> Option<&'static View> {
        static VIEW: OnceLock<Option<View>> = OnceLock::new();
        VIEW.get_or_init(View::look).as_ref()
    }

    fn look() -> Option<View> {
        let link = |path: &str| Some(std::fs::read_link(path).ok()?.to_str()?.to_owned());
        // A `/proc` of another namespace has other numbers than the ones this process uses.
        let own = link("/proc/self")?;
        if own != std::process::id().to_string() {
            return None;
        }
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
        let namespace = link("/proc/self/ns/pid")?.replace(' ', "");
        Some(View { boot, namespace })
    }

    /// Name, parent and identity of a process that is not a zombie.
    fn about(&self, pid: i32) -> Option<(String, i32, Identity)> {
        let text = String::from_utf8_lossy(&read(&format!("/proc/{pid}/stat"))?).into_owned();
        let (before, after) = text.rsplit_once(')')?;
        let name = before.split_once('(')?.1.to_owned();
        let fields: Vec<&str> = after.split_whitespace().collect();
        let (state, parent, start) = (fields.first()?, fields.get(1)?.parse().ok()?, fields.get(19)?);
        let identity = Identity(format!("{pid} {start} {} {}", self.boot, self.namespace));
        (!matches!(*state, "Z" | "X")).then_some((name, parent, identity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_another_namespace_is_unknown() {
        let Some(view) = View::of_this_process() else { return };
        let (_, _, own) = view.about(std::process::id().cast_signed()).unwrap();
        assert_eq!(is_alive(own.text()), Some(true));
        let elsewhere = own.text().replace(&view.namespace, "pid:[1]");
        assert_eq!(is_alive(&elsewhere), None);
        assert!(!own.is(&elsewhere));
        // A process that started at another time, and one of another boot.
        assert_eq!(is_alive(&format!("{} 1 {} {}", std::process::id(), view.boot, view.namespace)), Some(false));
        assert_eq!(is_alive(&own.text().replace(&view.boot, "0")), Some(false));
        assert_eq!(is_alive(""), None);
    }

    #[test]
    fn an_identity_of_an_older_version_is_still_understood() {
        let Some(view) = View::of_this_process() else { return };
        let (_, _, own) = view.about(std::process::id().cast_signed()).unwrap();
        let (old, _) = own.text().rsplit_once(' ').unwrap();
        assert_eq!(is_alive(old), Some(true));
        assert!(own.is(old));
        assert_eq!(is_alive(&format!("{} 1 {}", std::process::id(), view.boot)), Some(false));
        assert!(!is_same("", ""), "nobody is not somebody");
    }
}
