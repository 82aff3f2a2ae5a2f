/**
 * The bare limit of runners that share a PostgreSQL: rows in groups, each group a commit, one after the other.
 *
 * Run as a process of its own: `BareInserter.ts URL`; prints its port. A POST to `/GROUPS` is answered when so many are on disk.
 */
import { PgClient } from "@effect/sql-pg"
import { ManagedRuntime, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { createServer } from "node:http"

/** Rows of a group: of a kilobyte each, as what a park writes. */
export const GROUP = 64

if (import.meta.main) {
  const [, , url = ""] = process.argv
  const runtime = ManagedRuntime.make(PgClient.layer({ url: Redacted.make(url) }))
  const sql = await runtime.runPromise(SqlClient.SqlClient)
  const table = sql(`bare_${process.pid}`)
  const texts = Array.from({ length: GROUP }, () => "x".repeat(1_000))
  await runtime.runPromise(sql`CREATE TABLE ${table} (id bigserial PRIMARY KEY, text text NOT NULL)`)
  const insert = async (groups: number): Promise<void> => {
    for (let n = 0; n < groups; n++)
      await runtime.runPromise(sql`INSERT INTO ${table} (text) SELECT unnest(${texts}::text[])`)
  }
  const server = createServer((request, response) => {
    void insert(Number(request.url?.slice(1))).then(() => response.end("{}"))
  })
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    console.log(typeof address === "object" ? address?.port : "")
  })
}
