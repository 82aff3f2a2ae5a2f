/** Tests that the first attempt of a call through the gateway is an attempt like every other, over sockets. */
import { describe, expect } from "@effect/vitest"
import * as GatewayRig from "./GatewayRig.ts"
import * as RawEndpoint from "./RawEndpoint.ts"
import * as It from "../It.ts"

const ASK = { model: "m", stream: true, messages: [{ role: "user", content: "hello" }] }
const CHAT = "/to/own/chat/completions"
const KEY = { authorization: "Bearer holdfast" }

describe("the first attempt of a held call", () => {
  It.live("rule X13: is one call of its provider's limits, and its failure takes none of them", function* () {
    const bytes = GatewayRig.chatStream("hello")
    const endpoint = yield* RawEndpoint.start((call, n) =>
      n === 1 ? GatewayRig.sendError(call, 503) : GatewayRig.sendStream(call, bytes)
    )
    const limits = { requestsPerMinute: 2 }
    const own = { type: "openai-compatible", baseUrl: `${endpoint.url}/v1`, apiKeyEnv: ["OWN_KEY"], limits }
    const { service } = yield* GatewayRig.start({ answer: () => {}, endpoint, file: { providers: { own } } })
    // A third request would wait for a minute.
    const answer = yield* GatewayRig.post(service.port, CHAT, ASK, KEY)
    expect([answer.status, answer.headers["x-holdfast-attempts"], answer.body.equals(bytes)]).toEqual([200, "2", true])
    const { text } = yield* service.call({ path: "/metrics" })
    const attempts = Array.from(
      text.matchAll(/^holdfast_attempts_total\{.*status="([a-z_-]+)".*\} ([1-9]\d*)$/gmu),
      ([, status, count]) => `${status} ${count}`
    )
    expect(attempts.toSorted()).toEqual(["completed 1", "overloaded 1"])
  })
})
