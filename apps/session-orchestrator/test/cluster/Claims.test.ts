/** Tests the claims of held calls against a session that answers late. */
import { describe, expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Deferred, Effect, Fiber } from "effect"
import type { SqlClient, SqlConnection } from "effect/sql"
import * as Claims from "../../src/cluster/Claims.ts"

const ID = Ids.ConversationId.make("holdfast-call-0123456789012345678901-a-b")

describe("a claim whose client leaves before the database has answered", () => {
  it.effect("is given back", () =>
    Effect.gen(function* () {
      const statements: Array<string> = []
      const asked = yield* Deferred.make<void>()
      const answered = yield* Deferred.make<void>()
      const connection: Partial<SqlConnection.Connection> = {
        executeRaw: () => Effect.void,
        execute: (statement) =>
          Effect.suspend(() => {
            statements.push(/pg_\w+/u.exec(statement)?.[0] ?? statement)
            return Effect.as(Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(answered)), [
              { locked: true }
            ])
          })
      }
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The parts of it that claims use.
      const sql = { reserve: Effect.succeed(connection) } as unknown as SqlClient.SqlClient
      const claims = yield* Claims.make(sql)
      const taking = yield* Effect.forkChild(claims.take(ID))
      yield* Deferred.await(asked)
      const left = yield* Effect.forkChild(Fiber.interrupt(taking))
      yield* Effect.yieldNow
      yield* Deferred.succeed(answered, undefined)
      yield* Fiber.join(left)
      expect(statements).toEqual(["pg_try_advisory_lock", "pg_advisory_unlock"])
      expect(yield* claims.take(ID)).toBe(true)
    }).pipe(Effect.scoped)
  )
})
