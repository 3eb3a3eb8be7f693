// agent-handover in OpenCode: gives a new session its context and notes when a session pauses or ends.
// Written by `agent-handover install opencode`; `agent-handover uninstall opencode` takes it away.
import { spawn } from "node:child_process"

const PROGRAM = "agent-handover"
const PATIENCE = 10000

// Resolves always: a handover that fails must not cost the user a turn.
const call = (cwd, payload) =>
  new Promise((resolve) => {
    try {
      const child = spawn(PROGRAM, ["hook", "--agent", "opencode"], { cwd, stdio: ["pipe", "pipe", "ignore"] })
      const timer = setTimeout(() => child.kill(), PATIENCE)
      let said = ""
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (part) => (said += part))
      child.stdin.on("error", () => {})
      child.on("error", () => (clearTimeout(timer), resolve({})))
      child.on("close", () => {
        clearTimeout(timer)
        try {
          resolve(JSON.parse(said) ?? {})
        } catch {
          resolve({})
        }
      })
      child.stdin.end(JSON.stringify({ agent: "opencode", cwd, ...payload }))
    } catch {
      resolve({})
    }
  })

export const AgentHandover = async ({ directory, worktree }) => {
  const cwd = directory || worktree || process.cwd()
  const started = new Map() // session → its context, asked for once
  const prompted = new Map() // session → what its first prompt was answered with
  const children = new Set() // sessions that another session started

  const tell = (event, session_id, more) =>
    call(cwd, { event, session_id, is_subagent: children.has(session_id), ...more })

  const start = (session) => {
    if (!started.has(session)) started.set(session, tell("session.start", session, { source: "startup" }))
    return started.get(session)
  }

  // Waits for the start, whose context comes first.
  const prompt = async (session, text) => {
    await start(session)
    return tell("prompt.submitted", session, { prompt: text })
  }

  const end = async (session, reason) => {
    prompted.delete(session)
    if (started.delete(session)) await tell("session.end", session, { reason })
  }

  return {
    "chat.message": async (input, output) => {
      const session = input?.sessionID ?? output?.message?.sessionID
      const parts = Array.isArray(output?.parts) ? output.parts : []
      const text = parts.filter((part) => part?.type === "text" && !part.synthetic && part.text).map((part) => part.text).join("\n")
      if (!session || !text) return
      const answer = prompt(session, text)
      if (!prompted.has(session)) prompted.set(session, answer)
      await answer
    },
    // Called before every step with a fresh list, so the same text is pushed each time. Titles have no session.
    "experimental.chat.system.transform": async (input, output) => {
      if (!input?.sessionID || !Array.isArray(output?.system)) return
      const { context } = await start(input.sessionID)
      if (context) output.system.push(context)
      const recalled = await prompted.get(input.sessionID)
      if (recalled?.context) output.system.push(recalled.context)
    },
    "experimental.session.compacting": async (input, output) => {
      if (!input?.sessionID) return
      const { context } = await tell("session.compacting", input.sessionID)
      if (context && Array.isArray(output?.context)) output.context.push(context)
    },
    event: async ({ event }) => {
      const about = event?.properties ?? {}
      const session = about.sessionID ?? about.info?.id
      if (!session) return
      if (event.type === "session.created" && about.info?.parentID) children.add(session)
      if (event.type === "session.idle") await tell("session.idle", session)
      if (event.type === "session.deleted") await end(session, "deleted")
    },
    dispose: async () => {
      await Promise.all([...started.keys()].map((session) => end(session, "exit")))
    },
  }
}
