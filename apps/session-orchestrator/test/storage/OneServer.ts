/** A PostgreSQL for all tests of a file, from before the first until after the last. */
import { afterAll, beforeAll } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import * as PostgresServer from "./PostgresServer.ts"

/** Starts it before the tests of the file that calls this. */
export const ofFile = (): Effect.Effect<PostgresServer.PostgresServer> => {
  const scope = Scope.makeUnsafe()
  let running: PostgresServer.PostgresServer | undefined
  beforeAll(async () => {
    running = await Effect.runPromise(Scope.provide(PostgresServer.start, scope))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return Effect.suspend(() => (running === undefined ? Effect.die("it was not started") : Effect.succeed(running)))
}
