/** Stores by how much limits of spending are raised, and until when (rule X11). All runners of a database share it, and it survives a restart. */
import { Context, Effect } from "effect"
import { Rows, type SqlDatabase } from "@holdfast/journal/sql"

/** A limit that is raised. */
export interface SpendRaise {
  /** The limit as the configuration has it: another one is not raised. */
  readonly of: string
  /** The tag or the conversation whose sum it is; empty: it has one sum. */
  readonly scope: string
  /** Epoch milliseconds. */
  readonly until: number
  /** What it allows in the place of its own figures; `null`: it has none. */
  readonly money: number | null
  readonly tokens: number | null
}

/** The end of a raise that lasts as long as its conversation. */
export const ALWAYS = 8.64e15

/** Stores raises. */
export class SpendRaises extends Context.Service<SpendRaises, ReturnType<typeof make>>()(
  "@holdfast/session-orchestrator/storage/SpendRaises"
) {}

/** Makes the port. */
export const make = ({ each, read, sql }: SqlDatabase.SqlDatabase) => ({
  /** The raises in force at a moment, in epoch milliseconds. */
  load: (now: number) =>
    sql<SpendRaise>`SELECT spend_limit AS "of", scope, until, money, tokens FROM spend_raises WHERE until > ${now}`.pipe(
      read("which limits of spending are raised")
    ),
  /** Adds one, and deletes those that had ended by then. */
  add: each(
    "raise a limit of spending",
    Effect.fnUntraced(function* ({ of, ...raise }: SpendRaise, now: number) {
      yield* sql`DELETE FROM spend_raises WHERE until <= ${now}`
      yield* sql`INSERT INTO spend_raises ${sql.insert({ spend_limit: of, ...raise })}
        ${Rows.replacing(sql, "spend_limit, scope", ["until", "money", "tokens"])}`
    })
  )
})
