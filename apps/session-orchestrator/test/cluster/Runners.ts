/**
 * Runners as people start them: processes on one PostgreSQL, with a scripted provider beside them, that a test may kill or
 * freeze.
 */
import * as ScriptedServer from "@holdfast/providers/testing"
import { Duration, Effect, Redacted, type Scope } from "effect"
import * as Process from "../service/Process.ts"
import * as PostgresServer from "../storage/PostgresServer.ts"

export type Runner = Effect.Success<ReturnType<typeof Process.start>>

export type Provider = Effect.Success<ReturnType<typeof ScriptedServer.start>>

export interface Runners {
  readonly provider: Provider
  readonly postgres: PostgresServer.PostgresServer
  /** Starts one more, all with the same configuration. */
  readonly start: Effect.Effect<Runner, Error, Scope.Scope>
}

/** How soon survivors have what a dead runner had (X6). */
export const TAKE_OVER_MS = 20_000

/** Without gates a turn that is to sleep sleeps, whatever others meet. */
export const make = Effect.fnUntraced(function* (
  delays: ReadonlyArray<string>,
  { isGated = false }: { readonly isGated?: boolean } = {}
) {
  const postgres = yield* PostgresServer.start
  const provider = yield* ScriptedServer.start()
  const url = Redacted.value(yield* postgres.database)
  const config = {
    providers: { scripted: { type: "openai-compatible", baseUrl: `${provider.url}/v1` } },
    model: "scripted/m",
    retry: { schedule: { type: "steps", delays } },
    gate: { enabled: isGated }
  }
  const start = Effect.gen(function* () {
    const port = yield* PostgresServer.freePort
    return yield* Process.start({
      directory: yield* Process.directory,
      config,
      env: { HOLDFAST_DATABASE_URL: url, HOLDFAST_CLUSTER_RUNNER: `127.0.0.1:${port}` }
    })
  })
  return { postgres, provider, start }
})

/** A turn handed in as a stream of its events. The turn is known by the conversation's id. */
export const turnOf = (id: string, turnId: string = id) => ({
  path: `/v1/conversations/${id}/turns`,
  headers: { accept: "application/x-ndjson" },
  body: { prompt: turnId, turnId }
})

/** Waits for a fact for as long as a take-over may last, and a turn's wait after that. */
export const inTime = <A, E>(
  what: string,
  waitSeconds: number,
  effect: Effect.Effect<A, E>
): Effect.Effect<A, E | Error> =>
  Effect.suspend(() => {
    const duration = Duration.millis(TAKE_OVER_MS + waitSeconds * 1000)
    return Effect.timeoutOrElse(effect, {
      duration,
      orElse: () => Effect.fail(new Error(`Waited ${Duration.format(duration)} in vain for ${what}`))
    })
  })
