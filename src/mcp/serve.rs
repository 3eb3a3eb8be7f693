//! The server: its runtime, and what each request of the protocol gets.
//!
//! The SDK speaks both eras of the protocol: `initialize`, and a version in each request. Standard output carries nothing but
//! messages of the protocol.
//!
//! Calls are carried out one after another on a thread of their own, so that the server goes on reading. A call that only
//! reads is dropped if its client cancels it while it waits. A call that writes is carried out once it was received, also if
//! the client is gone: what was said is not lost.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, Prompt, PromptMessage, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, Role, ServerCapabilities, ServerConfig,
    ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, serve_server};
use rmcp::transport::io::stdio_pipes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::arguments::Arguments;
use super::tool::{Caller, Effect, Tool};
use super::transport::Lines;
use super::{TOOLS, answer, current_state, place, words};
use crate::agents::call_log::{self, Entry};
use crate::agents::named_by_client;
use crate::base::text;
use crate::error::{Category, Error, Result};
use crate::project::Project;

/// How long a client may take to name its roots.
const ROOTS_PATIENCE: Duration = Duration::from_secs(2);

/// The methods that this server answers.
const METHODS: [&str; 11] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// Answers requests on standard input until it is closed. `cwd` is the directory of this process, `config` a config that a
/// person named in the settings of the client.
pub(crate) fn serve(cwd: PathBuf, config: Option<PathBuf>) -> Result<()> {
    let failed = |what: &str, cause: &dyn std::fmt::Display| Error::new(Category::Io, what.to_owned()).cause(cause);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|cause| failed("the server cannot start", &cause))?;
    let ended = runtime.block_on(async {
        let server = Server::new(cwd, config);
        let turn = Arc::clone(&server.turn);
        let (input, output) = stdio_pipes();
        let ended = match serve_server(server, Lines::new(input, output)).await {
            Ok(running) => running.waiting().await.map(drop).map_err(|cause| failed("the server ended", &cause)),
            // A client that only looks whether the program starts.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(cause) => Err(failed("the client did not open the conversation as MCP does", &cause)),
        };
        // Whoever asks for a turn gets it in order, so this one comes after every call that was received.
        drop(turn.acquire().await);
        ended
    });
    // Where standard input is read by a thread, that thread may wait for input for ever.
    runtime.shutdown_background();
    ended
}

/// One conversation with a client.
struct Server {
    cwd: PathBuf,
    config: Option<PathBuf>,
    /// The directories that the client works in, once it has named them.
    roots: Mutex<Option<Vec<PathBuf>>>,
    /// One call at a time.
    turn: Arc<Semaphore>,
    is_logged: AtomicBool,
}

impl Server {
    fn new(cwd: PathBuf, config: Option<PathBuf>) -> Server {
        Server {
            cwd,
            config,
            roots: Mutex::default(),
            turn: Arc::new(Semaphore::new(1)),
            is_logged: AtomicBool::default(),
        }
    }

    /// The directory that the client works in.
    async fn directory(&self, context: &RequestContext<RoleServer>) -> PathBuf {
        let known = self.roots.lock().ok().and_then(|roots| roots.clone());
        let roots = match known {
            Some(roots) => roots,
            None => {
                let roots = asked_roots(context).await;
                if let Ok(mut known) = self.roots.lock() {
                    *known = Some(roots.clone());
                }
                roots
            }
        };
        place::directory(&roots, &self.cwd)
    }

    /// Waits until all calls that were received earlier are carried out. A call asks for its turn before it waits for anything
    /// else, so turns are in the order of the calls, and the end of the conversation comes after all of them.
    async fn turn(&self, context: &RequestContext<RoleServer>, effect: Effect) -> Result<OwnedSemaphorePermit> {
        let closed = |_| Error::bug("the server ended in the middle of a call");
        let turn = Arc::clone(&self.turn).acquire_owned();
        if !effect.is_read_only() {
            return turn.await.map_err(closed);
        }
        tokio::select! {
            turn = turn => turn.map_err(closed),
            () = context.ct.cancelled() => Err(Error::failed("cancelled")),
        }
    }

    /// Carries out a call in the project of the client.
    async fn in_project(
        &self,
        context: &RequestContext<RoleServer>,
        effect: Effect,
        act: impl FnOnce(&Caller<'_>) -> Result<String> + Send + 'static,
    ) -> Result<String> {
        let turn = self.turn(context, effect).await?;
        self.log_start(context).await;
        let directory = self.directory(context).await;
        let agent = self.agent(context);
        let config = self.config.clone();
        let carried_out = tokio::task::spawn_blocking(move || {
            let project = place::open(&directory, config.as_deref());
            let done = project.and_then(|project| act(&Caller { project: &project, agent: &agent }));
            // The turn ends with the result, so that answers come in the order of their calls. If nobody waits for the result
            // any more, that is here.
            (done, turn)
        });
        carried_out.await.map_or_else(|cause| Err(Error::bug("a call ended").cause(cause)), |(done, _turn)| done)
    }

    /// The name of the agent behind the client.
    fn agent(&self, context: &RequestContext<RoleServer>) -> String {
        context.client_info().map(|client| named_by_client(&client.name)).unwrap_or_default()
    }

    /// Logs once that a client uses this server, where `doctor` looks for it.
    async fn log_start(&self, context: &RequestContext<RoleServer>) {
        if self.is_logged.swap(true, Ordering::Relaxed) {
            return;
        }
        let (directory, agent, config) = (self.directory(context).await, self.agent(context), self.config.clone());
        let client = context.client_info().map(|client| format!("{} {}", client.name, client.version));
        let version = context.protocol_version().map(|version| version.to_string()).unwrap_or_default();
        let what = format!("started by {}, protocol {version}", client.as_deref().unwrap_or("an unnamed client"));
        let logged = tokio::task::spawn_blocking(move || {
            let project: Option<Project> = place::open(&directory, config.as_deref()).ok();
            call_log::tell(project.as_ref(), &Entry::of_server(&agent, &what))
        });
        drop(logged.await);
    }
}

/// The directories that a client names. A client of the newer protocol is not asked: there, servers send no requests.
#[expect(deprecated, reason = "the roots of clients that have them")]
async fn asked_roots(context: &RequestContext<RoleServer>) -> Vec<PathBuf> {
    let has_roots = context.client_capabilities().is_some_and(|client| client.roots.is_some());
    if !has_roots || context.peer.peer_info().is_none() {
        return Vec::new();
    }
    match tokio::time::timeout(ROOTS_PATIENCE, context.peer.list_roots()).await {
        Ok(Ok(named)) => named.roots.iter().filter_map(|root| place::of_uri(&root.uri)).collect(),
        _ => Vec::new(),
    }
}

impl rmcp::ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        let mut config = ServerConfig::new(capabilities).with_instructions(words::INSTRUCTIONS);
        config.server_info = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        config
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.log_start(&context).await;
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(|tool| listed(tool)).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            let name = text::one_line(&request.name, 60);
            return Err(ErrorData::invalid_params(format!("there is no tool `{name}`"), None));
        };
        let arguments = Arguments::of(request.arguments);
        let called = self.in_project(&context, tool.effect, |caller| (tool.call)(caller, arguments)).await;
        let result = match called {
            Ok(said) => CallToolResult::success(vec![ContentBlock::text(said)]),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(answer::of_error(&error))]),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let state = Resource::new(words::STATE_URI, words::STATE_NAME)
            .with_description(words::STATE_DESCRIPTION)
            .with_mime_type("text/markdown");
        Ok(ListResourcesResult::with_all_items(vec![state]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != words::STATE_URI {
            return Err(ErrorData::resource_not_found(format!("the only resource is {}", words::STATE_URI), None));
        }
        let read = |caller: &Caller<'_>| current_state::text(caller.project);
        let state = self.in_project(&context, Effect::Reads, read).await;
        let state = state.map_err(|error| ErrorData::internal_error(answer::of_error(&error), None))?;
        let shown = answer::fitted(&state, "; the tool `show` with the id `state` reads on");
        let contents = ResourceContents::text(shown, request.uri).with_mime_type("text/markdown");
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompt = Prompt::new(words::PROMPT, Some(words::PROMPT_DESCRIPTION), None);
        Ok(ListPromptsResult::with_all_items(vec![prompt]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != words::PROMPT {
            return Err(ErrorData::invalid_params(format!("the only prompt is `{}`", words::PROMPT), None));
        }
        let message = PromptMessage::new_text(Role::User, words::PROMPT_TEXT);
        Ok(GetPromptResult::new(vec![message]).with_description(words::PROMPT_DESCRIPTION).into())
    }

    /// What the SDK could not read as a request that it knows: another method, or parameters of another shape.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = text::one_line(&request.method, 60);
        Err(if METHODS.contains(&request.method.as_str()) {
            ErrorData::invalid_params(format!("the parameters of `{method}` have another shape"), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{method}`"), None)
        })
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        if let Ok(mut known) = self.roots.lock() {
            *known = None;
        }
    }
}

/// A tool as clients list it.
fn listed(tool: &Tool) -> rmcp::model::Tool {
    let schema = (tool.schema)().as_object().cloned().unwrap_or_default();
    let mut hints = ToolAnnotations::new().open_world(false);
    hints.read_only_hint = Some(tool.effect.is_read_only());
    if !tool.effect.is_read_only() {
        hints.destructive_hint = Some(tool.effect == Effect::Changes);
    }
    rmcp::model::Tool::new(tool.name, tool.description, Arc::new(schema)).with_annotations(hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every session of every client that has this server pays for these words.
    #[test]
    fn what_a_client_loads_before_any_call_stays_small() {
        let tools: Vec<rmcp::model::Tool> = TOOLS.iter().map(|tool| listed(tool)).collect();
        let listed = serde_json::to_string(&tools).unwrap();
        let (listed, instructions) = (listed.chars().count(), words::INSTRUCTIONS.chars().count());
        assert!(listed + instructions < 4_000, "{listed} + {instructions}");
        assert!(words::INSTRUCTIONS.len() < 2_048 && TOOLS.iter().all(|tool| tool.description.len() < 2_048));
    }

    #[test]
    fn the_instructions_name_every_tool() {
        for tool in TOOLS {
            assert!(words::INSTRUCTIONS.contains(&format!("`{}`", tool.name)), "{}", tool.name);
            assert!((tool.schema)()["type"] == "object", "{}", tool.name);
        }
    }
}
