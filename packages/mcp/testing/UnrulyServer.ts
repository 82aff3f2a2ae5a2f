/**
 * A misbehaving tool server for tests: a process with MCP over standard input and output, without a library.
 *
 * Modes, from its arguments: `stubborn` ignores the end of its input and SIGTERM; with `sigterm=FILE`, where FILE has process ids, it
 * appends to FILE.alive how many of those live when SIGTERM comes; `mute` never answers a handshake; `broken` ends at once; `blabs` too,
 * with its variable TOKEN and much else on one line; `old` supports the first revision of the protocol only; `broken-once=FILE` ends at
 * once if that file is not there, and makes it; `tools=N` offers N tools more, a hundred a page.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { createInterface } from "node:readline"

interface Call {
  readonly id?: number
  readonly method: string
  readonly params?: {
    readonly cursor?: string
    readonly name?: string
    readonly arguments?: Readonly<Record<string, unknown>>
  }
}

const modes = process.argv.slice(2)
const has = (mode: string): boolean => modes.includes(mode)
const write = (text: string): void => void process.stdout.write(text)
const send = (message: object): void => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)

const valueOf = (mode: string): string | undefined =>
  modes.find((each) => each.startsWith(`${mode}=`))?.slice(mode.length + 1)

const extra = Number(valueOf("tools") ?? 0)
const once = valueOf("broken-once")
const sigterm = valueOf("sigterm")
const isAlive = (pid: string): boolean => {
  try {
    return process.kill(Number(pid), 0)
  } catch {
    return false
  }
}
const signalled =
  sigterm === undefined
    ? undefined
    : () => {
        const pids = readFileSync(sigterm, "utf8").split(" ")
        appendFileSync(`${sigterm}.alive`, `${pids.filter(isAlive).length} `)
      }
if (has("broken") || (once !== undefined && !existsSync(once))) {
  if (once !== undefined) writeFileSync(once, "")
  process.stderr.write("There is no database.\n")
  process.exit(3)
}
if (has("blabs")) {
  process.stderr.write(`TOKEN=${process.env["TOKEN"]}${"x".repeat(390)}\n`)
  process.exit(3)
}
if (has("stubborn")) process.on("SIGTERM", () => signalled?.())

let tools = [
  "echo",
  "add",
  "append",
  "append_again",
  "die",
  "hang",
  "freeze",
  "flood",
  "flood_lines",
  "endless",
  "rant",
  "written",
  "print",
  "env",
  "learn",
  "refuse",
  "picture",
  "pid"
]

/** Lines of a rant. */
let written = 0

const describe = (name: string) => ({ name, description: `Does ${name}.`, inputSchema: { type: "object" } })

const text = (id: number | undefined, text: string): void => send({ id, result: { content: [{ type: "text", text }] } })

const run = async (id: number | undefined, name: string, input: Readonly<Record<string, unknown>>): Promise<void> => {
  switch (name) {
    case "echo":
      return text(id, `echo: ${String(input["text"])}`)
    case "add":
      return text(id, String(Number(input["a"]) + Number(input["b"])))
    // Leaves a line where a test counts them, and answers once the gate is there.
    case "append":
    case "append_again":
      appendFileSync(String(input["file"]), `${name}${String(input["tag"] ?? "")}\n`)
      while (typeof input["gate"] === "string" && !existsSync(input["gate"])) {
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      return text(id, "appended")
    case "die":
      return process.exit(7)
    case "hang":
      return
    case "freeze":
      process.kill(process.pid, "SIGSTOP")
      return
    case "flood":
      return text(id, "é".repeat(Number(input["bytes"]) / 2))
    case "flood_lines":
      for (let n = 0; n < Number(input["lines"]); n++) {
        send({
          method: "notifications/message",
          params: { level: "info", data: "x".repeat(Number(input["size"] ?? 1_000)) }
        })
      }
      return text(id, "flooded")
    // One line without an end, as fast as it is read.
    case "endless": {
      const piece = "x".repeat(65_536)
      const more = (): void => {
        while (process.stdout.write(piece));
        process.stdout.once("drain", more)
      }
      write('{"jsonrpc":"2.0","result":"')
      return more()
    }
    // Lines without an end, as fast as they are read; it answers first.
    case "rant": {
      text(id, "ranting")
      const piece = `${String(input["line"])}\n`.repeat(1_000)
      const more = (): void => {
        written += 1_000
        if (process.stdout.write(piece)) setImmediate(more)
        else process.stdout.once("drain", more)
      }
      return more()
    }
    case "written":
      return text(id, String(written))
    case "print":
      write("Listening!\n\n{}\n[1, 2\n")
      return text(id, "printed")
    case "pid":
      return text(id, String(process.pid))
    case "env":
      return text(id, JSON.stringify(process.env))
    case "learn":
      tools = [...tools, String(input["name"])]
      send({ method: "notifications/tools/list_changed" })
      return text(id, "learnt")
    case "refuse":
      return send({ id, error: { code: -32602, message: "the moon is in the wrong phase" } })
    case "picture": {
      const data = Buffer.alloc(Number(input["bytes"] ?? 3)).toString("base64")
      return send({
        id,
        result: {
          content: [
            { type: "image", mimeType: "image/png", data },
            { type: "text", text: "It is black." }
          ],
          isError: input["fails"] === true
        }
      })
    }
    default:
      return text(id, `did ${name}`)
  }
}

const answer = ({ id, method, params }: Call): void => {
  switch (method) {
    case "initialize":
      if (has("mute")) return
      return send({
        id,
        result: {
          protocolVersion: has("old") ? "2024-11-05" : "2025-11-25",
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: "unruly", version: "1" }
        }
      })
    case "tools/list": {
      const page = Number(params?.cursor ?? 0)
      const more = Math.min(100, extra - page * 100)
      const names = [
        ...(page === 0 ? tools : []),
        ...Array.from({ length: Math.max(0, more) }, (_, n) => `extra_${page * 100 + n}`)
      ]
      const nextCursor = extra > (page + 1) * 100 ? { nextCursor: String(page + 1) } : undefined
      return send({ id, result: { tools: names.map(describe), ...nextCursor } })
    }
    case "tools/call":
      return void run(id, params?.name ?? "", params?.arguments ?? {})
    case "ping":
      return send({ id, result: {} })
    default:
  }
}

const lines = createInterface({ input: process.stdin })
lines.on("line", (line) => answer(JSON.parse(line) as Call))
lines.on("close", () => {
  if (!has("stubborn")) process.exit(0)
  setInterval(() => {}, 1_000)
})
