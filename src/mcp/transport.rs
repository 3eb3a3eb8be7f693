//! Standard input and output as messages, one a line.
//!
//! The SDK drops a line that it cannot read. A client that waits for an answer to it would wait for ever, so every request
//! whose id can be found is answered here, whatever is wrong with the rest of it. A notification, a response and noise get
//! no answer: a peer that sends our answers back must not keep us talking.

use std::io;
use std::time::Duration;

use rmcp::model::{ClientRequest, ErrorData, GetMeta, JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::error::Category;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::members::Members;

/// A longer line is not a request that any tool here takes, and is not kept in memory.
pub(super) const MAX_LINE: usize = 16 << 20;
/// How many answers wait for a client that does not read them, before nothing more is taken from it.
const MAX_WAITING: usize = 64;

/// How long a client may take to read the last answers after it closed its end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A message on its way out, and who waits until it is written.
struct Outgoing {
    line: Vec<u8>,
    written: oneshot::Sender<io::Result<()>>,
}

/// The conversation with one client.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    /// What was read of a line. The SDK drops the future that reads whenever it has something else to do, so everything
    /// that was read is kept here and not in the future.
    line: Vec<u8>,
    /// What is known of a line that is too long.
    too_long: Option<Members>,
    /// An answer that still has to be queued.
    refusal: Option<Vec<u8>>,
    /// Whether the last such answer is written.
    refused: Option<oneshot::Receiver<io::Result<()>>>,
    /// Whether the client opened the conversation. The SDK ends one that opens with anything but a request.
    is_open: bool,
    output: Option<mpsc::Sender<Outgoing>>,
    writer: Option<JoinHandle<()>>,
}

/// What a read came to.
enum Read {
    Line,
    TooLong(Members),
    End,
}

impl<R: AsyncRead + Unpin + Send> Lines<R> {
    pub(super) fn new(input: R, output: impl AsyncWrite + Unpin + Send + 'static) -> Lines<R> {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        Lines {
            input: BufReader::new(input),
            line: Vec::new(),
            too_long: None,
            refusal: None,
            refused: None,
            is_open: false,
            output: Some(sender),
            writer: Some(tokio::spawn(write_all(receiver, output))),
        }
    }

    /// Reads on until a line is whole. The last line may end without a line break.
    async fn read(&mut self) -> Read {
        loop {
            let Ok(part) = self.input.fill_buf().await else { return Read::End };
            if part.is_empty() {
                return match self.too_long.take() {
                    Some(members) => Read::TooLong(members),
                    None if self.line.is_empty() => Read::End,
                    None => Read::Line,
                };
            }
            let newline = part.iter().position(|byte| *byte == b'\n');
            let taken = &part[..newline.unwrap_or(part.len())];
            match &mut self.too_long {
                Some(members) => members.read(taken),
                None if self.line.len() + taken.len() <= MAX_LINE => self.line.extend_from_slice(taken),
                None => {
                    let members = self.too_long.insert(Members::of(&self.line));
                    members.read(taken);
                    self.line = Vec::new();
                }
            }
            let length = newline.map_or(part.len(), |at| at + 1);
            self.input.consume(length);
            if newline.is_some() {
                return self.too_long.take().map_or(Read::Line, Read::TooLong);
            }
        }
    }

    /// The message of the line that was read, if the SDK understands it.
    fn message(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line).trim_ascii();
        if line.is_empty() {
            return None;
        }
        match serde_json::from_slice(line) {
            Ok(message) => Some(message),
            Err(cause) => {
                let what = match cause.classify() {
                    Category::Syntax | Category::Eof | Category::Io => {
                        ErrorData::parse_error(format!("the message cannot be read: {cause}"), None)
                    }
                    Category::Data => ErrorData::invalid_request("this is not a message of the protocol", None),
                };
                self.refuse(Members::of(line), what);
                None
            }
        }
    }

    /// Whether a message can come now. Before the conversation is open, anything that is not a request is ignored.
    fn is_expected(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        let JsonRpcMessage::Request(asked) = message else { return self.is_open };
        self.is_open |= match &asked.request {
            ClientRequest::InitializeRequest(_) => true,
            ClientRequest::DiscoverRequest(_) => false,
            request => request.get_meta().protocol_version().is_some(),
        };
        true
    }

    fn refuse(&mut self, members: Members, what: ErrorData) {
        if let Some(id) = members.request() {
            let id = id.and_then(|id| serde_json::from_str::<RequestId>(&id).ok());
            self.refusal = serde_json::to_vec(&TxJsonRpcMessage::<RoleServer>::error(what, id)).ok();
        }
    }
}

/// Writes messages in the order in which they were queued.
async fn write_all(mut queue: mpsc::Receiver<Outgoing>, mut output: impl AsyncWrite + Unpin) {
    while let Some(Outgoing { mut line, written }) = queue.recv().await {
        line.push(b'\n');
        let wrote = match output.write_all(&line).await {
            Ok(()) => output.flush().await,
            Err(cause) => Err(cause),
        };
        let _ = written.send(wrote);
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let output = self.output.clone();
        async move {
            let closed = || io::Error::from(io::ErrorKind::NotConnected);
            let (written, is_written) = oneshot::channel();
            let outgoing = Outgoing { line: serde_json::to_vec(&message)?, written };
            output.ok_or_else(closed)?.send(outgoing).await.map_err(|_| closed())?;
            is_written.await.unwrap_or_else(|_| Err(closed()))
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.refusal.is_some() {
                let place = self.output.as_ref()?.reserve().await.ok()?;
                let line = self.refusal.take().unwrap_or_default();
                let (written, refused) = oneshot::channel();
                place.send(Outgoing { line, written });
                self.refused = Some(refused);
            }
            match self.read().await {
                Read::End => {
                    if let Some(refused) = self.refused.take() {
                        let _ = timeout(LAST_WORDS, refused).await;
                    }
                    return None;
                }
                Read::TooLong(members) => {
                    let what = format!("the message is longer than {} MiB", MAX_LINE >> 20);
                    self.refuse(members, ErrorData::invalid_request(what, None));
                }
                Read::Line => {
                    if let Some(message) = self.message().filter(|message| self.is_expected(message)) {
                        return Some(message);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        drop(self.output.take());
        if let Some(writer) = self.writer.take() {
            let _ = timeout(LAST_WORDS, writer).await;
        }
        Ok(())
    }
}

/// Reads bytes as a conversation, for fuzzing. Panics if an answer is not a line of JSON, or if there are more messages and
/// answers than lines.
pub(crate) fn read_frames(bytes: &[u8]) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else { return };
    let (messages, answers) = runtime.block_on(async {
        // Each answer is about one line, and repeats an id of it at most.
        let (ours, mut theirs) = tokio::io::duplex(64 * bytes.len().max(1) + MAX_ANSWER);
        let mut lines = Lines::new(std::io::Cursor::new(bytes.to_vec()), ours);
        let mut messages = 0;
        while lines.receive().await.is_some() {
            messages += 1;
        }
        let _ = lines.close().await;
        drop(lines);
        let mut answers = String::new();
        let _ = tokio::io::AsyncReadExt::read_to_string(&mut theirs, &mut answers).await;
        (messages, answers)
    });
    for answer in answers.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(answer).is_ok(), "not a message: {answer}");
    }
    let lines = bytes.split(|byte| *byte == b'\n').count();
    assert!(messages + answers.lines().count() <= lines, "{lines} lines became more");
}

/// What an answer to an empty line would take.
const MAX_ANSWER: usize = 4 << 10;
