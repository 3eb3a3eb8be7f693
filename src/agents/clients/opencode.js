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

// What both versions of OpenCode share: the sessions of one directory, and what we were told and answered about each.
const follow = (cwd) => {
  const started = new Map() // session → its context, asked for once
  const prompted = new Map() // session → what its first prompt was answered with
  const children = new Set() // sessions that another session started

  const tell = (event, session_id, more) =>
    call(cwd, { event, session_id, is_subagent: children.has(session_id), ...more })

  const start = (session) => {
    if (!started.has(session)) started.set(session, tell("session.start", session, { source: "startup" }))
    return started.get(session)
  }

  const end = async (session, reason) => {
    prompted.delete(session)
    if (started.delete(session)) await tell("session.end", session, { reason })
  }

  return {
    start,
    end,
    child: (session) => children.add(session),
    // Waits for the start, whose context comes first.
    prompt: async (session, text) => {
      const answer = start(session).then(() => tell("prompt.submitted", session, { prompt: text }))
      if (!prompted.has(session)) prompted.set(session, answer)
      await answer
    },
    // Asked for before every step, whose list of texts is a new one each time.
    texts: async (session) => {
      const answers = [await start(session), await prompted.get(session)]
      return answers.map((answer) => answer?.context).filter(Boolean)
    },
    compacting: async (session) => (await tell("session.compacting", session)).context,
    // Version 2 sends the events of all directories to each.
    idle: async (session) => (started.has(session) ? tell("session.idle", session) : undefined),
    endAll: () => Promise.all([...started.keys()].map((session) => end(session, "exit"))),
  }
}

// An event of either version. Version 1 has `properties`, version 2 has `data`.
const happened = async (sessions, event) => {
  const about = event?.properties ?? event?.data ?? {}
  const session = about.sessionID ?? about.info?.id ?? about.session?.id
  if (!session) return
  const parent = about.parentID ?? about.info?.parentID ?? about.session?.parentID
  if (event.type === "session.created" && parent) sessions.child(session)
  const isIdle = event.type === "session.idle" || /^session\.execution\.(succeeded|interrupted|failed)$/.test(event.type)
  if (isIdle) await sessions.idle(session)
  if (event.type === "session.deleted") await sessions.end(session, "deleted")
}

// OpenCode 1 calls this function and uses the hooks that it returns.
export const AgentHandover = async ({ directory, worktree }) => {
  const sessions = follow(directory || worktree || process.cwd())
  return {
    "chat.message": async (input, output) => {
      const session = input?.sessionID ?? output?.message?.sessionID
      const parts = Array.isArray(output?.parts) ? output.parts : []
      const text = parts.filter((part) => part?.type === "text" && !part.synthetic && part.text).map((part) => part.text).join("\n")
      if (session && text) await sessions.prompt(session, text)
    },
    // Titles have no session.
    "experimental.chat.system.transform": async (input, output) => {
      if (!input?.sessionID || !Array.isArray(output?.system)) return
      output.system.push(...(await sessions.texts(input.sessionID)))
    },
    "experimental.session.compacting": async (input, output) => {
      if (!input?.sessionID) return
      const context = await sessions.compacting(input.sessionID)
      if (context && Array.isArray(output?.context)) output.context.push(context)
    },
    event: ({ event }) => happened(sessions, event),
    dispose: () => sessions.endAll(),
  }
}

// OpenCode 2 calls this function, which registers hooks, and afterwards the function that it returns. Parts that a version
// does not have are left out.
const setup = async (ctx) => {
  const sessions = follow(ctx?.location?.directory || ctx?.directory || process.cwd())
  const asked = new Set() // sessions whose parent is known, or unknown for good
  let isOver = false

  const parent = async (session) => {
    if (asked.has(session)) return
    asked.add(session)
    const found = await ctx.session?.get?.({ sessionID: session })
    if ((found?.data ?? found)?.parentID) sessions.child(session)
  }

  const hook = async (name, handle) => {
    try {
      await ctx.session?.hook?.(name, async (event) => {
        try {
          if (!event?.sessionID) return
          await parent(event.sessionID).catch(() => {})
          await handle(event)
        } catch {}
      })
    } catch {}
  }

  const push = (event, text) => {
    if (text && Array.isArray(event.system)) event.system.push({ type: "text", text })
  }

  await hook("prompt", async (event) => {
    if (event.prompt?.text) await sessions.prompt(event.sessionID, event.prompt.text)
  })
  await hook("context", async (event) => {
    for (const text of await sessions.texts(event.sessionID)) push(event, text)
  })
  await hook("compaction", async (event) => push(event, await sessions.compacting(event.sessionID)))

  const listen = async () => {
    const found = await ctx.event?.subscribe?.()
    const stream = found?.stream ?? found
    if (!stream?.[Symbol.asyncIterator]) return
    for await (const event of stream) {
      if (isOver) return
      await happened(sessions, event).catch(() => {})
    }
  }
  listen().catch(() => {})

  return async () => {
    isOver = true
    await sessions.endAll()
  }
}

export default { id: "agent-handover", server: AgentHandover, setup }
