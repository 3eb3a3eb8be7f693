//! The line at the end of the terminal that shows what is going on. A thread draws it again and again until it is removed.

#![allow(clippy::disallowed_methods)]

use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use unicode_width::UnicodeWidthStr;

use super::table;
use crate::base::duration;

/// How often the line is drawn. What ends earlier shows none.
const TICK: Duration = Duration::from_millis(200);
/// What stays free at the end of the line: the terminal shows `^C` there. A line that is wider than the terminal, or as wide,
/// could not be removed.
const FREE: usize = 8;
/// A shorter end of the output says nothing.
const LEAST_TAIL: usize = 8;
/// Removes the line in which the cursor is, and everything below it.
const REMOVE: &str = "\r\x1b[J";

pub(super) struct LiveLine {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LiveLine {
    /// Shows what is going on, for how long, and what `tail` returns. The terminal may change its width meanwhile.
    pub(super) fn start(
        says: String,
        width: fn() -> usize,
        tail: impl Fn() -> String + Send + 'static,
        mut terminal: impl Write + Send + 'static,
    ) -> LiveLine {
        let (end, ended) = mpsc::channel();
        let begin = Instant::now();
        let draw = move || {
            let mut is_shown = false;
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let line = line(&says, begin.elapsed(), &tail(), width());
                let _ = terminal.write_all(format!("{REMOVE}{line}").as_bytes()).and_then(|()| terminal.flush());
                is_shown = true;
            }
            if is_shown {
                let _ = terminal.write_all(REMOVE.as_bytes()).and_then(|()| terminal.flush());
            }
        };
        // If no thread can be started, the run goes on without the line.
        let thread = thread::Builder::new().name("live line".to_owned()).spawn(draw).ok();
        LiveLine { end: Some(end), thread }
    }

    /// Shows the line on stderr.
    pub(super) fn on_stderr(
        says: String,
        width: fn() -> usize,
        tail: impl Fn() -> String + Send + 'static,
    ) -> LiveLine {
        LiveLine::start(says, width, tail, io::stderr())
    }
}

impl Drop for LiveLine {
    /// Removes the line.
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn line(says: &str, elapsed: Duration, tail: &str, width: usize) -> String {
    let elapsed = duration::show(Duration::from_secs(elapsed.as_secs())).replace(".0 s", " s").replace("0 ms", "0 s");
    let room = width.saturating_sub(FREE);
    // The time is shown in any case: it shows that the program lives.
    let says = table::cut(says, room.saturating_sub(elapsed.width() + 4));
    let lead = format!("… {says}  {elapsed}");
    match room.saturating_sub(lead.width() + 2) {
        LEAST_TAIL.. if !tail.is_empty() => table::cut(&format!("{lead}  {tail}"), room),
        _ => table::cut(&lead, room),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A terminal that keeps what it is given.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_line_leaves_room_for_what_the_terminal_echoes() {
        let shown = |width| line("tests (3 of 5)", Duration::from_millis(65_900), "test lexer::spans ... ok", width);
        assert_eq!(shown(200), "… tests (3 of 5)  1 min 5 s  test lexer::spans ... ok");
        assert_eq!(shown(50), "… tests (3 of 5)  1 min 5 s  test lexer::…");
        assert_eq!(shown(30), "… tests (3…  1 min 5 s");
        for width in 1..100 {
            assert!(shown(width).width() <= width.saturating_sub(FREE).max(1), "{width}");
        }
        assert_eq!(line("pushing", Duration::ZERO, "", 80), "… pushing  0 s");
    }

    #[test]
    fn the_last_thing_that_happens_to_the_line_is_its_removal() {
        let kept = Kept::default();
        let live = LiveLine::start("tests".to_owned(), || 80, String::new, kept.clone());
        let shown = || String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        while !shown().contains("tests") {
            thread::yield_now();
        }
        drop(live);
        assert!(shown().ends_with(REMOVE), "{:?}", shown());
    }
}
