/**
 * Fills the database of the service: a few turns run for real, and each is copied many times, under ids and times of its own.
 *
 * Seed.S1. What a table has of a turn is copied as it is, column by column, so a copy is what the service wrote itself.
 * Seed.S2. The service does not run meanwhile: it keeps numbers of rows in memory.
 */
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import type { Reply } from "./Provider.ts"
import { OVERLOADED, type Rig } from "./Rig.ts"

/** Stands for the number of a copy in a prompt and in an answer. */
export const NUMBER = "#0"

/** A prompt of the long conversation. */
export const promptOf = (turn: number): string => `Prompt #${turn}`

/** Its answer. */
export const answerOf = (turn: number): string =>
  `Here is **the answer #${turn}**, with \`code\` and a list:\n\n- one of #${turn}\n- another\n`

/** Makes a conversation of so many turns, two days old, and as many turns of the last hours. Returns the conversation's address in the page. */
export const fill = async (rig: Rig, turns: number): Promise<string> => {
  const { service } = rig
  rig.provider.plan("long", { pieces: [answerOf(0)] })
  const long = await run(rig, "long", promptOf(0))
  const samples = []
  for (const [model, replies, stretch] of COURSES) {
    rig.provider.plan(model, ...replies)
    samples.push({ ...(await run(rig, model, `${model} #0`)), stretch })
  }
  await service.kill()
  const database = new DatabaseSync(join(service.folder, ".holdfast/holdfast.db"))
  try {
    database.exec("BEGIN")
    const copyLong = copier(database, long.turnId)
    const copies = samples.map(({ stretch, turnId }) => ({ stretch, copy: copier(database, turnId) }))
    const now = Date.now()
    for (let n = 1; n < turns; n++) copyLong(n, now - 2 * DAY_MS + n * 1_000, 1)
    for (let n = 1; n < turns; n++) {
      const { copy, stretch } = copies[n % copies.length] ?? {}
      copy?.(n, now - 11 * HOUR_MS + Math.round((n / turns) * 8 * HOUR_MS), stretch ?? 1)
    }
    database.exec("COMMIT")
  } finally {
    database.close()
  }
  await service.start()
  return `${service.url}/#/c/${long.conversationId}`
}

// --- internal

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Waits of milliseconds, which are stretched to minutes. */
const RETRY = { schedule: { type: "steps", delays: ["20 millis"] } }

const failures = (count: number): ReadonlyArray<Reply> => Array.from({ length: count }, () => OVERLOADED)

/** Turns as a night has them: their model, what the provider does, and by how much their time is stretched. */
const COURSES: ReadonlyArray<readonly [model: string, replies: ReadonlyArray<Reply>, stretch: number]> = [
  ["answered", [{ pieces: ["The **answer** #0."] }], 100],
  ["late", [...failures(3), { pieces: ["The answer #0, *late*."] }], 5_000],
  ["patient", [...failures(12), { pieces: ["The answer #0."] }], 10_000],
  ["refused", [{ status: 401, message: "Incorrect API key provided.", type: "authentication_error" }], 100]
]

interface Ran {
  readonly conversationId: string
  readonly turnId: string
}

/** Runs a turn in a conversation of its own, to its end. */
const run = async ({ service }: Rig, model: string, prompt: string): Promise<Ran> => {
  const headers = { "content-type": "application/json", accept: "application/json" }
  const post = async (path: string, body: object): Promise<Record<string, string>> => {
    const init = { method: "POST", headers, body: JSON.stringify(body) }
    return (await (await fetch(service.url + path, init)).json()) as Record<string, string>
  }
  const { conversationId = "" } = await post("/v1/conversations", { model: `local/${model}`, retry: RETRY })
  const { turnId = "" } = await post(`/v1/conversations/${conversationId}/turns`, { prompt })
  return { conversationId, turnId }
}

type Row = Record<string, SQLInputValue>

/** Copies one turn: `n` is the number of the copy, `at` its time, and `stretch` the factor of what lies behind that. */
const copier = (database: DatabaseSync, turnId: string) => {
  const [turn] = select(database, "turns", "turn_id", turnId)
  if (turn === undefined) throw new Error(`The database has no turn ${turnId}.`)
  const events = select(database, "events", "turn", turn["number"] ?? null)
  const tables = [
    ["events", events] as const,
    ...TABLES.map((table) => [table, select(database, table, "turn", turn["number"] ?? null)] as const)
  ]
  const inserts = new Map<string, ReturnType<DatabaseSync["prepare"]>>()
  const insert = (table: string, row: Row): number => {
    const names = Object.keys(row)
    const statement =
      inserts.get(table) ??
      database.prepare(`INSERT INTO ${table} (${names.join()}) VALUES (${names.map(() => "?").join()})`)
    inserts.set(table, statement)
    return Number(statement.run(...Object.values(row)).lastInsertRowid)
  }
  const began = Number(turn["accepted_at"])
  return (n: number, at: number, stretch: number): void => {
    const time = (then: number): number => Math.round(at + (then - began) * stretch)
    const changed = (row: Row, own: Row): Row => ({
      ...Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          typeof value === "string"
            ? value.replaceAll(NUMBER, `#${n}`).replaceAll(TIME, (text) => String(time(Number(text))))
            : typeof value === "number" && value > 1e12 && value < 2e12
              ? time(value)
              : value
        ])
      ),
      ...own
    })
    const behind = (name: string, row: Row): Row => ({ [name]: Number(row[name]) + n * events.length })
    const number = insert(
      "turns",
      changed(turn, {
        number: null,
        turn_id: randomUUID(),
        ...behind("after_event_id", turn),
        ...behind("end_event_id", turn)
      })
    )
    for (const [table, rows] of tables)
      for (const row of rows)
        insert(table, changed(row, { turn: number, ...(table === "events" ? behind("event_id", row) : {}) }))
  }
}

/** The other tables that have rows of a turn that has ended. */
const TABLES = ["journal", "turn_prompts", "turn_labels"]

/** A moment in epoch milliseconds, in a text. */
const TIME = /(?<!\d)1\d{12}(?!\d)/g

const select = (database: DatabaseSync, table: string, column: string, value: SQLInputValue): ReadonlyArray<Row> =>
  database.prepare(`SELECT * FROM ${table} WHERE ${column} = ?`).all(value) as ReadonlyArray<Row>
