/** Parks over HTTP by one runner on PostgreSQL, and inserts of one row a turn there. */
import { PgClient } from "@effect/sql-pg"
import { Array as Arr, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type * as Postgres from "../Postgres.ts"
import * as Processes from "../Processes.ts"
import * as Fleet from "../runners/Fleet.ts"
import type { Tree } from "../Trees.ts"
import * as OverHttp from "./OverHttp.ts"

/** Clients that park at once, as for two runners. */
const AT_ONCE = 64

/** Parks a turn of each of so many new conversations. */
export const park = async (
  place: Processes.Place,
  postgres: Postgres.Server,
  tree: Tree,
  turns: number,
  config: object
): Promise<Fleet.Speed> => {
  const fleet = await Fleet.start(place, postgres, 1, config, tree)
  try {
    const places: Array<OverHttp.Place> = []
    for (let n = 0; n < turns; n++) {
      const { path, server } = await Fleet.open(fleet, n, "stay", {})
      places.push({ origin: `http://127.0.0.1:${server.port}`, path })
    }
    return await Fleet.timed(fleet, turns, () => OverHttp.handIn(places, "watched", AT_ONCE))
  } finally {
    for (const runner of fleet) await Processes.stop(runner)
  }
}

let databases = 0

/** One row a turn, as many in a commit as there are clients. */
export const bareInserts = async (postgres: Postgres.Server, turns: number): Promise<number> => {
  const url = await postgres.database(`bare${++databases}`)
  const value = JSON.stringify({ _tag: "Retry", attempt: 0, delayMs: 3_600_000, retryAt: Date.now() })
  const inserts = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE park (turn_id TEXT PRIMARY KEY, wake_at BIGINT, value TEXT)`
    const start = performance.now()
    for (let n = 0; n < turns; n += AT_ONCE) {
      const rows = Arr.makeBy(Math.min(AT_ONCE, turns - n), () => ({
        turn_id: crypto.randomUUID(),
        wake_at: Date.now(),
        value
      }))
      yield* sql`INSERT INTO park ${sql.insert(rows)}`
    }
    return turns / ((performance.now() - start) / 1_000)
  })
  return Effect.runPromise(Effect.provide(inserts, PgClient.layer({ url: Redacted.make(url) })))
}
