/**
 * The bare limit of wakes: turns are read before they are due, undici calls the provider that fails, rows are inserted in groups.
 *
 * Run as a process of its own: `BareWakes.ts PROVIDER-PORT DATABASE`, on a database of the service in which turns wait; prints its port. Reads what the
 * service reads of a turn (its row, its records, its messages), makes the same request, and puts the end of the wait, the outcome of the
 * call and the decision on disk. No sessions, commands, gates, limits, observers or retries.
 */
import { createServer } from "node:http"
import { DatabaseSync } from "node:sqlite"
import { Agent, type Dispatcher } from "undici"
import * as Commits from "../plain/Commits.ts"

const [port = "", file = ""] = process.argv.slice(2)

/** As early as in the service, and as many between two turns of the event loop. */
const AHEAD_MS = 4_000
const AT_ONCE = 16

const agent = new Agent({ connections: null, pipelining: 1 })
const commits = Commits.open(file)
const sql = new DatabaseSync(file, { readOnly: true })
sql.exec("PRAGMA cache_size = -32768; PRAGMA mmap_size = 1073741824")
const turns = sql.prepare(
  `SELECT t.number, t.conversation, json_extract(j.value, '$.retryAt') AS at FROM turns t
   JOIN journal j ON j.turn = t.number AND j.name LIKE '%/decision/%' WHERE t.end_event_id IS NULL ORDER BY at`
)
const row = sql.prepare(
  "SELECT t.prompt, c.model FROM turns t JOIN conversations c ON c.number = t.conversation WHERE t.number = ?"
)
const records = sql.prepare("SELECT name, value FROM journal WHERE turn = ? ORDER BY seq")
const history = sql.prepare(
  `SELECT group_concat(payload, char(10)) AS history
   FROM (SELECT payload FROM events WHERE conversation = ? AND type = 'message' AND payload <> '' ORDER BY event_id)`
)

interface Turn {
  readonly number: number
  readonly conversation: number
  readonly at: number
}

interface Message {
  readonly content: ReadonlyArray<{ readonly text: string }>
}

interface Ready {
  readonly model: string
  readonly prompt: string
  readonly messages: ReadonlyArray<Message>
}

const read = ({ conversation, number }: Turn): Ready => {
  for (const { value } of records.all(number)) JSON.parse(String(value))
  const { model = "", prompt = "" } = row.get(number) ?? {}
  const packed = history.get(conversation)?.["history"] ?? ""
  const lines = packed === "" ? [] : String(packed).split("\n")
  // The service leaves a message's role, id and turn out of its text (`EventText`).
  const texts = lines.map((line) => `{${line.slice(line.indexOf(",") + 1)}`)
  return { model: String(model), prompt: String(prompt), messages: JSON.parse(`[${texts.join(",")}]`) }
}

/** One call, whose outcome is put on disk. */
class Call implements Dispatcher.DispatchHandler {
  private readonly turn: Ready
  private body = ""
  private status = 0

  constructor(turn: Ready) {
    this.turn = turn
  }

  onRequestStart(): void {}

  onResponseStart(_: unknown, status: number): void {
    this.status = status
  }

  onResponseData(_: unknown, chunk: Uint8Array): void {
    this.body += chunk.toString()
  }

  onResponseEnd(): void {
    const { error } = JSON.parse(this.body)
    const endedAt = Date.now()
    const failure = { reason: "overloaded", message: error.message, retryable: true, status: this.status }
    commits.add("attempt", JSON.stringify({ _tag: "Failed", content: [], endedAt, failure }), nothing)
    commits.add("decision", JSON.stringify({ _tag: "Retry", attempt: 1, retryAt: endedAt + 3_600_000 }), nothing)
  }

  /** The provider has closed the connection, which was idle. */
  onResponseError(): void {
    call(this.turn)
  }
}

const nothing = (): void => {}

const call = (turn: Ready): void => {
  const { messages, model, prompt } = turn
  const sent = messages.map(({ content }) => ({ role: "user", content: content.map(({ text }) => text).join("\n") }))
  sent.push({ role: "user", content: prompt })
  agent.dispatch(
    {
      origin: `http://127.0.0.1:${port}`,
      path: "/v1/chat/completions",
      method: "POST",
      headers: { "content-type": "application/json" },
      headersTimeout: 0,
      bodyTimeout: 0,
      body: JSON.stringify({ model, messages: sent, stream: true, stream_options: { include_usage: true } })
    },
    new Call(turn)
  )
}

const ready = new Map<number, Ready>()
const soon: Array<Turn> = []

const readAhead = (): void => {
  for (const turn of soon.splice(0, AT_ONCE)) ready.set(turn.number, read(turn))
  if (soon.length > 0) setImmediate(readAhead)
}

const wake = (turn: Turn): void => {
  const known = ready.get(turn.number) ?? read(turn)
  ready.delete(turn.number)
  commits.add("sleep", JSON.stringify({ type: "elapsed", at: Date.now() }), () => call(known))
}

for (const found of turns.all()) {
  const turn = {
    number: Number(found["number"]),
    conversation: Number(found["conversation"]),
    at: Number(found["at"])
  }
  setTimeout(
    () => {
      if (soon.push(turn) === 1) setImmediate(readAhead)
    },
    turn.at - AHEAD_MS - Date.now()
  )
  setTimeout(() => wake(turn), turn.at - Date.now())
}

const server = createServer((_, outgoing) => outgoing.end())
server.listen({ port: 0, host: "127.0.0.1" }, () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : address)
})
