/**
 * Kills the service while it holds a call.
 *
 * The suite kills it once, in a wait of an hour that a command ends. `HOLDFAST_KILLS=100` kills it so often, in waits of seconds that end by
 * themselves, and measures how late the answers are: after the end of the wait, or after the client is back if the service started later.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Process from "../service/Process.ts"
import * as GatewayRig from "./GatewayRig.ts"
import * as RawEndpoint from "./RawEndpoint.ts"

const KILLS = Number(process.env["HOLDFAST_KILLS"] ?? 1)

const PATH = "/to/own/chat/completions"
const KEY = { authorization: "Bearer sk-of-the-client-0123" }

const IS_MEASURED = KILLS > 1

/** The longest that an answer may be late, in milliseconds. */
const MOST_LATE_MS = 1_000

interface Listed {
  readonly conversationId: string
  readonly status: string
  readonly attempts: number
  readonly wait?: { readonly retryAt: number }
}

describe("a service that is killed while it holds a call", () => {
  it.live(
    "rule X13: keeps its attempts and its wake time for the same call, which has one answer",
    () =>
      Effect.gen(function* () {
        const directory = yield* Process.directory
        const bytes = GatewayRig.chatStream("at last")
        let isUp = false
        const endpoint = yield* RawEndpoint.start((call) =>
          isUp ? GatewayRig.sendStream(call, bytes) : GatewayRig.sendError(call, 503)
        )
        const config = {
          providers: { own: { type: "openai-compatible", baseUrl: `${endpoint.url}/v1` } },
          model: "own/m",
          database: { path: "holdfast.db" },
          retry: { schedule: { type: "steps", delays: ["10 millis", IS_MEASURED ? "4 seconds" : "1 hour"] } }
        }
        const start = Process.start({ directory, config })
        const listed = (service: Effect.Success<typeof start>) =>
          Effect.map(
            service.call({ path: "/v1/turns" }),
            ({ text }) => (JSON.parse(text) as { readonly turns: ReadonlyArray<Listed> }).turns[0]
          )
        const waiting = (service: Effect.Success<typeof start>) =>
          Process.eventually(
            "the call to wait",
            listed(service),
            (turn) => turn?.wait !== undefined && turn.attempts === 2
          )
        const lateness: Array<number> = []
        for (let kill = 0; kill < KILLS; kill++) {
          isUp = false
          endpoint.calls.splice(0)
          const body = { model: "m", stream: true, messages: [{ role: "user", content: `secret ${kill}` }] }
          const first = yield* start
          const lost = yield* Effect.forkChild(Effect.exit(GatewayRig.post(first.port, PATH, body, KEY)))
          const before = yield* waiting(first)
          yield* first.end("SIGKILL")
          yield* Fiber.join(lost)
          const next = yield* start
          isUp = IS_MEASURED
          const askedAt = Date.now()
          const again = yield* Effect.forkChild(GatewayRig.post(next.port, PATH, body, KEY))
          if (!IS_MEASURED) {
            const after = yield* waiting(next)
            expect(after?.wait?.retryAt).toBe(before?.wait?.retryAt)
            expect(endpoint.calls.length).toBe(2)
            isUp = true
            const path = `/v1/conversations/${after?.conversationId}/retry-now`
            expect((yield* next.call({ path, body: {} })).status).toBe(202)
          }
          const answer = yield* Fiber.join(again)
          expect(answer.body.equals(bytes)).toBe(true)
          expect([answer.headers["x-holdfast-attempts"], endpoint.calls.length]).toEqual(["3", 3])
          if (IS_MEASURED) {
            const now = Date.now()
            const retryAt = before?.wait?.retryAt ?? 0
            expect(now).toBeGreaterThanOrEqual(retryAt)
            lateness.push(now - Math.max(retryAt, askedAt))
            const after = askedAt > retryAt ? ", after its service had started late" : ""
            yield* Effect.logInfo(`kill ${kill + 1}: answered ${lateness.at(-1)} ms after its time${after}`)
          }
          yield* next.end("SIGKILL")
          for (const name of fs.readdirSync(directory)) {
            const file = path.join(directory, name)
            if (fs.statSync(file).isFile()) expect(fs.readFileSync(file, "latin1")).not.toContain(`secret ${kill}`)
          }
        }
        expect(lateness.filter((ms) => ms >= MOST_LATE_MS)).toEqual([])
      }).pipe(Effect.scoped),
    180_000 * KILLS
  )
})
