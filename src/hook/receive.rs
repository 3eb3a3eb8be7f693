//! Reading the payload of a call from standard input.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

use crate::agents::payload::{self, Given};

/// How long a payload may pause before what has come is taken for all of it.
const SILENCE: Duration = Duration::from_secs(2);

/// Everything that comes on standard input. From a writer that never closes it, everything until it pauses.
pub(crate) fn receive(input: impl AsFd) -> Given {
    payload::read(Patient { input, has_ended: false }).unwrap_or_default()
}

/// A reader for which a long pause, or a failure, is the end.
struct Patient<F> {
    input: F,
    has_ended: bool,
}

impl<F: AsFd> Read for Patient<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_ended {
            return Ok(0);
        }
        let silence = Timespec::try_from(SILENCE).ok();
        let ready = retry_on_intr(|| poll(&mut [PollFd::new(&self.input, PollFlags::IN)], silence.as_ref()));
        let is_ready = ready.is_ok_and(|count| count > 0);
        let read = if is_ready { retry_on_intr(|| rustix::io::read(&self.input, &mut *buffer)) } else { Ok(0) };
        let count = read.unwrap_or(0);
        self.has_ended = count == 0;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_pause_is_the_end() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"{\"a\":1}").unwrap();
        assert_eq!(receive(&reader).bytes, b"{\"a\":1}");
        drop(writer);
        assert!(receive(&reader).bytes.is_empty());
    }
}
