/** Kills the service while it holds a call, in a wait of an hour that a command ends. */
import { describe, expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Process from "../service/Process.ts"
import * as GatewayRig from "./GatewayRig.ts"
import * as RawEndpoint from "./RawEndpoint.ts"
import * as It from "../It.ts"

const PATH = "/to/own/chat/completions"
const KEY = { authorization: "Bearer sk-of-the-client-0123" }

interface Listed {
  readonly conversationId: string
  readonly attempts: number
  readonly wait?: { readonly retryAt: number }
}

describe("a service that is killed while it holds a call", () => {
  It.live("rule X13: keeps its attempts and its wake time for the same call, which has one answer", function* () {
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
      retry: { schedule: { type: "steps", delays: ["10 millis", "1 hour"] } }
    }
    const start = Process.start({ directory, config })
    const waiting = (service: Effect.Success<typeof start>) =>
      Process.eventually(
        "the call to wait",
        Effect.map(
          service.call({ path: "/v1/turns" }),
          ({ text }) => (JSON.parse(text) as { readonly turns: ReadonlyArray<Listed> }).turns[0]
        ),
        (turn) => turn?.wait !== undefined && turn.attempts === 2
      )
    const body = { model: "m", stream: true, messages: [{ role: "user", content: "a secret" }] }
    const first = yield* start
    const lost = yield* Effect.forkChild(Effect.exit(GatewayRig.post(first.port, PATH, body, KEY)))
    const before = yield* waiting(first)
    yield* first.end("SIGKILL")
    yield* Fiber.join(lost)
    const next = yield* start
    const again = yield* Effect.forkChild(GatewayRig.post(next.port, PATH, body, KEY))
    const after = yield* waiting(next)
    expect(after?.wait?.retryAt).toBe(before?.wait?.retryAt)
    expect(endpoint.calls.length).toBe(2)
    isUp = true
    const retry = `/v1/conversations/${after?.conversationId}/retry-now`
    expect((yield* next.call({ path: retry, body: {} })).status).toBe(202)
    const answer = yield* Fiber.join(again)
    expect(answer.body.equals(bytes)).toBe(true)
    expect([answer.headers["x-holdfast-attempts"], endpoint.calls.length]).toEqual(["3", 3])
    yield* next.end("SIGKILL")
    for (const name of fs.readdirSync(directory)) {
      const file = path.join(directory, name)
      if (fs.statSync(file).isFile()) expect(fs.readFileSync(file, "latin1")).not.toContain("a secret")
    }
  })
})
