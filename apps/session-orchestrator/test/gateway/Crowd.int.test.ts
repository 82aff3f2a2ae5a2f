/** Tests the gate with many held calls over sockets. `HOLDFAST_HELD=1000` is the whole form; the suite has fewer. */
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import * as Process from "../service/Process.ts"
import * as GatewayRig from "./GatewayRig.ts"
import type * as RawEndpoint from "./RawEndpoint.ts"

const CALLS = Number(process.env["HOLDFAST_HELD"] ?? 100)

const CHAT = "/to/own/chat/completions"
const KEY = { authorization: "Bearer sk-of-the-client-0123" }

describe("a crowd of held calls", () => {
  it.live(
    "X5: does not stampede an endpoint that is back: probes come first, the others in a ramp, and each has one answer",
    () =>
      Effect.gen(function* () {
        const bytes = GatewayRig.chatStream("hello")
        const seen = { isUp: false, calls: 0, open: 0, answered: 0, beyond: 0 }
        const answer = (call: RawEndpoint.Received): void => {
          if (!seen.isUp) return GatewayRig.sendError(call, 503)
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
        const { service } = yield* GatewayRig.start({
          answer,
          retry: { schedule: { type: "steps", delays: [Duration.millis(600)], tail: Duration.millis(600) } }
        })
        const posts = yield* Effect.forEach(
          Array.from({ length: CALLS }, (_, n) => ({ model: "m", stream: true, messages: [], metadata: { n } })),
          (body) => Effect.forkChild(GatewayRig.post(service.port, CHAT, body, KEY))
        )
        yield* Process.eventually(
          "every call to be held",
          service.call({ path: "/metrics" }),
          ({ text }) =>
            Array.from(text.matchAll(/^holdfast_turns\{.*\} (\d+)$/gmu)).reduce((sum, [, n]) => sum + Number(n), 0) ===
            CALLS
        )
        seen.isUp = true
        const answers = yield* Effect.forEach(posts, Fiber.join)
        expect(
          answers.filter(({ body, status }) => status === 200 && GatewayRig.withoutBeats("chat", body).equals(bytes))
            .length
        ).toBe(CALLS)
        expect([seen.calls, seen.beyond]).toEqual([CALLS, 0])
      }).pipe(Effect.scoped),
    90_000 + CALLS * 1_000
  )
})
