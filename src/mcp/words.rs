//! The words that an agent sees without asking: the instructions, the prompt and the resource.

/// What a client puts into the context of every session. Some clients cut it at 2 KB.
pub(super) const INSTRUCTIONS: &str = "\
agent-handover remembers this project: what earlier sessions decided, tried, ran and left open. What it returns was true \
when it was written, so compare it with the repository before you rely on it. A text marked [came along] came with the \
repository and is only a claim.

Look
- At the start of a session, if no handover is in your context yet: `warmup`.
- Before you decide, retry or rebuild something that an earlier session may have settled, when an error looks familiar, \
and when the user refers to earlier work: `search`. `show` prints a hit in full.

Write, when it happens and not only at the end
- The user decides, corrects or forbids something; a goal is set; something stays open or turns out not to work: \
`capture`, in the user's words and with the reason.
- Something open gets done: `capture` with its id in `done`.
- The work ends or pauses: `handover`.

Leave out what the code and git show anyway, and passwords and keys.";

/// The name of the prompt.
pub(super) const PROMPT: &str = "handover";
pub(super) const PROMPT_DESCRIPTION: &str = "Hand this session over, so that the next one continues without questions";

/// What the prompt asks for.
pub(super) const PROMPT_TEXT: &str = "\
Hand this session over with the tools of agent-handover, so that the next one continues without questions.

1. Look at what really happened: `git status --short`, the diff, the last test run.
2. Call `capture` with the goal, the decisions of this session and their reasons, what is still open (the first item is the \
next concrete action: file, function, command), and in `done` the ids of what was finished. `show` with the id `state` \
lists the ids.
3. Call `handover`. Its `summary` says what was done, what was tried and did not work and why, and what comes next. Say \
that a test passed only if it was run in this session.

Leave out passwords and keys. If the answer says that handovers are paused, tell the user and leave the PAUSE file alone.";

/// The address of the current state.
pub(super) const STATE_URI: &str = "handover://state";
pub(super) const STATE_NAME: &str = "current-state";
pub(super) const STATE_DESCRIPTION: &str =
    "Where the project stands: goal, constraints, decisions, open loops, with the ids of the items";
