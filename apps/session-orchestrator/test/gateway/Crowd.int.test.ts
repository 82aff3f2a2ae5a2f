/** Tests the gate with many held calls over sockets. */
import { describe, expect } from "@effect/vitest"
import type { Profile } from "@holdfast/policy"
import { Effect, Fiber } from "effect"
import * as Process from "../service/Process.ts"
import * as Service from "../service/Service.ts"
import * as GatewayRig from "./GatewayRig.ts"
import type * as RawEndpoint from "./RawEndpoint.ts"
import * as It from "../It.ts"

const CALLS = 100

/** Of ten calls each. */
const SESSIONS = CALLS / 10

/** Between the first call and the end of a limit. */
const LIMIT_MS = 3_000

const CHAT = "/to/own/chat/completions"
const KEY = { authorization: "Bearer sk-of-the-client-0123" }

/** A crowd that is held by a service; the endpoint is down until `seen.isUp`, or for `limitMs`, and answers every call from then on. */
const held = Effect.fnUntraced(function* (retry: Profile.RetrySettings, limitMs?: number) {
  const bytes = GatewayRig.chatStream("hello")
  const seen = { isUp: false, refused: 0, calls: 0, open: 0, answered: 0, beyond: 0 }
  const sessions: Array<string> = []
  let resetAt: number | undefined
  const answer = (call: RawEndpoint.Received): void => {
    const leftMs = limitMs && (resetAt ??= Date.now() + limitMs) - Date.now()
    if (leftMs === undefined ? !seen.isUp : leftMs > 0) {
      seen.refused++
      const limit = leftMs === undefined ? {} : { "retry-after-ms": String(leftMs) }
      return GatewayRig.sendError(call, leftMs === undefined ? 503 : 429, limit)
    }
    sessions.push(String(call.request.headers["session-id"]))
    seen.calls++
    seen.open++
    // The first answer opens four places and each one two more; an answer may be on its way.
    if (seen.open > 2 * (seen.answered + 1) + 4) seen.beyond++
    call.response.on("finish", () => {
      seen.open--
      seen.answered++
    })
    setImmediate(() => GatewayRig.sendStream(call, bytes))
  }
  const { service } = yield* GatewayRig.start({ answer, retry })
  const posts = yield* Effect.forEach(
    Array.from({ length: CALLS }, (_, n) => ({ model: "m", stream: true, messages: [], metadata: { n } })),
    (body) =>
      Effect.forkChild(
        GatewayRig.post(service.port, CHAT, body, { ...KEY, "session-id": `s-${body.metadata.n % SESSIONS}` })
      )
  )
  /** The sum of the samples of a metric whose labels match. */
  const metric = (sample: RegExp) =>
    Effect.map(service.call({ path: "/metrics" }), ({ text }) =>
      Array.from(text.matchAll(sample)).reduce((sum, [, n]) => sum + Number(n), 0)
    )
  if (limitMs === undefined)
    yield* Process.eventually("every call to be held", metric(/^holdfast_turns\{.*\} (\d+)$/gmu), (n) => n === CALLS)
  const whole = Effect.map(
    Effect.forEach(posts, Fiber.join),
    (answers) =>
      answers.filter(({ body, status }) => status === 200 && GatewayRig.withoutBeats("chat", body).equals(bytes)).length
  )
  return { metric, seen, service, sessions, whole }
})

describe("a crowd of held calls", () => {
  It.live(
    "rule X5: is released by the first answer, with calls that shared a failure: none meets it again",
    function* () {
      const { metric, seen, service, whole } = yield* held(Service.LONG)
      const failures = metric(/^holdfast_attempts_total\{.*status="overloaded"\} (\d+)$/gmu)
      const before = yield* Process.eventually(
        "every call to have failed",
        Effect.all([failures, metric(/^holdfast_attempts_total\{.*status="shared"\} (\d+)$/gmu)]),
        ([own, shared]) => own + shared === CALLS && shared > CALLS / 4
      )
      seen.isUp = true
      // The schedule has an hour left. A person orders one call of a session, and its answer releases the others.
      const order = service.call({
        path: "/v1/turns/commands",
        body: { command: { type: "retry-now" }, filter: { tag: "s-3" }, limit: 1 }
      })
      yield* Process.eventually("the ordered call", order, () => seen.calls > 0)
      expect(yield* whole).toBe(CALLS)
      expect([seen.calls, seen.beyond, yield* failures]).toEqual([CALLS, 0, before[0]])
    }
  )

  It.live(
    "rule X5, P5: of many sessions waits once for a limit's end, and goes on in one ramp, no session last",
    function* () {
      const { seen, sessions, whole } = yield* held(Service.QUICK, LIMIT_MS)
      expect(yield* whole).toBe(CALLS)
      const firsts = Array.from({ length: SESSIONS }, (_, n) => sessions.indexOf(`s-${n}`))
      expect([seen.calls, seen.beyond, seen.refused <= CALLS, Math.min(...firsts)]).toEqual([CALLS, 0, true, 0])
      expect(Math.max(...firsts)).toBeLessThan(CALLS / 2)
    }
  )
})
