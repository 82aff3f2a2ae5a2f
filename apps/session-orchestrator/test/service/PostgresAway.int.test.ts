/**
 * Tests a service whose PostgreSQL is stopped or silent: calls fail concurrently.
 *
 * The limit guards against a queue, in which these calls would take minutes. Tests with a test clock show how soon each fails (`DatabaseWait`,
 * `Owner`, `GroupRead`, `GroupCommit`).
 */
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Duration, Effect, Exit, Redacted, Scope } from "effect"
import { freePort } from "../FreePort.ts"
import * as PostgresServer from "../storage/PostgresServer.ts"
import * as StallingProxy from "../storage/StallingProxy.ts"
import * as Process from "./Process.ts"
import * as Service from "./Service.ts"

const scope = Scope.makeUnsafe()
let server: PostgresServer.PostgresServer | undefined

beforeAll(async () => {
  server = await Effect.runPromise(Scope.provide(PostgresServer.start, scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const ways = {
  stopped: Effect.gen(function* () {
    if (server === undefined) return yield* Effect.die("it was not started")
    return { url: yield* server.database, away: server.stop, back: server.start }
  }),
  silent: Effect.gen(function* () {
    if (server === undefined) return yield* Effect.die("it was not started")
    const proxy = yield* StallingProxy.start(server.port)
    const url = Redacted.value(yield* server.database).replace(`:${server.port}/`, `:${proxy.port}/`)
    return { url: Redacted.make(url), away: proxy.stall, back: proxy.resume }
  })
}

/** Calls of each kind: one after the other these would take minutes. */
const AT_ONCE = 12

/** Far above the time of one call, and far below the time of all in sequence. */
const GUARD = Duration.seconds(30)

const TIMEOUT_MS = 120_000

describe.each(["stopped", "silent"] as const)("a PostgreSQL that is %s", (way) => {
  it.live(
    "fails all calls together, is not ready meanwhile, and uses the database again when it is back",
    () =>
      Effect.gen(function* () {
        const { away, back, url } = yield* ways[way]
        const service = yield* Service.start({ postgres: { url, runnerPort: yield* freePort } })
        service.provider.respond({ frames: ScriptedServer.answerFrames("openai", "Yes.") })
        const id = yield* service.create()
        const turn = (turnId: string) => ({ path: `/v1/conversations/${id}/turns`, body: { prompt: "Hello", turnId } })
        expect(JSON.parse((yield* service.call(turn("first"))).text)).toMatchObject({ status: "completed" })

        yield* away
        const path = `/v1/conversations/${id}`
        const many = <A>(of: (n: number) => A) => Array.from({ length: AT_ONCE }, (_, n) => of(n))
        const calls = [
          { path: "/readyz" },
          ...many((n) => turn(`turn-${n}`)),
          ...many(() => ({ path: "/v1/conversations", body: {} })),
          ...many(() => ({ path })),
          ...many(() => ({ path: `${path}/messages` })),
          ...many(() => ({ path: `${path}/turns/first/explain` })),
          ...many(() => ({ path: `${path}/retry-now`, body: {} })),
          { path: `${path}/abort`, method: "POST" },
          { path: `${path}/retry`, body: {} },
          { path: `${path}/auto-retry`, method: "PUT", body: { enabled: false } },
          { path: `${path}/events` }
        ]
        const answers = yield* Effect.forEach(calls, (call) => service.call(call), { concurrency: "unbounded" }).pipe(
          Effect.timeoutOrElse({ duration: GUARD, orElse: () => Effect.die("calls wait for one another") })
        )
        for (const [i, { status, text }] of answers.entries()) {
          expect([calls[i]?.path, status, text]).toEqual([
            calls[i]?.path,
            503,
            expect.stringContaining("storage-unavailable")
          ])
          expect(text).not.toContain(PostgresServer.PASSWORD)
        }

        yield* back
        const ready = service.call({ path: "/readyz" })
        yield* Process.eventually("the service to be ready", ready, ({ status }) => status === 200)
        // A runner that notices late that it has lost its locks begins the turn anew.
        const again = { frames: ScriptedServer.answerFrames("openai", "Again.") }
        service.provider.respond(again, again, again)
        const answered = service.call(turn("second"))
        const { text } = yield* Process.eventually("a turn to be taken", answered, ({ status }) => status === 200)
        expect(JSON.parse(text)).toMatchObject({ status: "completed", text: "Again." })
        const { messages } = JSON.parse((yield* service.call({ path: `${path}/messages` })).text)
        expect(
          messages.map(({ turnId }: { readonly turnId: string }) => turnId),
          "nothing that was refused has run"
        ).toEqual(["first", "first", "second", "second"])
      }),
    TIMEOUT_MS
  )
})
