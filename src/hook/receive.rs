//! Reading the payload of a call from standard input.

use std::io::Read;
use std::sync::mpsc;
use std::time::Duration;

use crate::agents::payload::{self, Given};

/// How long a payload may pause before what has come is taken for all of it.
const SILENCE: Duration = Duration::from_secs(2);
/// How many bytes are kept of a payload that never ends.
const USEFUL: usize = 1 << 20;

/// Everything that comes on standard input. From a writer that never closes it, everything until it pauses.
pub(crate) fn receive(input: impl Read + Send + 'static) -> Given {
    let (sender, receiver) = mpsc::channel();
    let (piece, pieces) = mpsc::channel();
    // If this thread hangs it is left behind: the process ends soon.
    std::thread::spawn(move || sender.send(payload::read(Watched { input, piece, useful: USEFUL })));
    let mut so_far = Vec::new();
    loop {
        let given = receiver.recv_timeout(SILENCE);
        let before = so_far.len();
        so_far.extend(pieces.try_iter().flatten());
        match given {
            Ok(Ok(given)) => return given,
            Err(mpsc::RecvTimeoutError::Timeout) if so_far.len() > before => {}
            _ => return Given { bytes: so_far, dropped: 0 },
        }
    }
}

/// A reader that also sends on what it reads. Beyond `useful` bytes it sends single spaces, which only show that more comes.
struct Watched<R> {
    input: R,
    piece: mpsc::Sender<Vec<u8>>,
    useful: usize,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        let useful = read.min(self.useful);
        self.useful -= useful;
        let _ = self.piece.send(if useful > 0 { buffer[..useful].to_vec() } else { vec![b' '; read.min(1)] });
        Ok(read)
    }
}
