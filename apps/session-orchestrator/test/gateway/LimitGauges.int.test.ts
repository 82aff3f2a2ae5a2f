/** Tests the gauges of clients' limits, over sockets. */
import { describe, expect } from "@effect/vitest"
import type { Health } from "@holdfast/wire"
import { Effect } from "effect"
import * as CommandLine from "../cli/CommandLine.ts"
import * as Process from "../service/Process.ts"
import * as GatewayRig from "./GatewayRig.ts"
import * as RawEndpoint from "./RawEndpoint.ts"
import * as It from "../It.ts"

const LOGIN = "sk-ant-oat01-of-the-client-0123456789"
const CALLS = [
  { authorization: `Bearer ${LOGIN}`, "session-id": "s-1" },
  { authorization: `Bearer ${LOGIN}-renewed`, "session-id": "s-1" },
  { authorization: "Bearer holdfast" }
]

describe("a limit of a client", () => {
  It.live("rule X12: is in health, metrics and one notice by its account's answers, without its key", function* () {
    const resetAt = (Math.floor(Date.now() / 1_000) + 7_200) * 1_000
    const receiver = yield* RawEndpoint.start(({ response }) => void response.writeHead(204).end())
    const { service } = yield* GatewayRig.start({
      answer: ({ response }) => {
        response.writeHead(200, {
          "content-type": "text/event-stream",
          "anthropic-organization-id": "org-of-the-client",
          "anthropic-ratelimit-unified-5h-utilization": "0.93",
          "anthropic-ratelimit-unified-5h-reset": String(resetAt / 1_000),
          "anthropic-ratelimit-unified-7d-utilization": "0.5",
          "anthropic-ratelimit-unified-7d-reset": String(resetAt / 1_000 + 86_400)
        })
        response.end(GatewayRig.chatStream("hello"))
      },
      file: { telemetry: { notifications: { webhook: receiver.url } } }
    })
    for (const key of CALLS) {
      const ask = { model: "m", stream: true, messages: [] }
      expect((yield* GatewayRig.post(service.port, "/to/own/chat/completions", ask, key)).status).toBe(200)
    }
    const health = yield* service.call({ path: "/v1/health" })
    const { windows } = JSON.parse(health.text) as Health.Health
    expect(windows.map(({ credential, name, used }) => [credential, name, used])).toEqual([
      [expect.stringMatching(/^client [\w-]{6}$/u), "5h", 0.93],
      ["OWN_KEY", "5h", 0.93],
      [windows[0]?.credential, "7d", 0.5],
      ["OWN_KEY", "7d", 0.5]
    ])
    expect(windows[0]).toMatchObject({ provider: "own", resetAt })
    const url = `http://127.0.0.1:${service.port}`
    const line = yield* CommandLine.run(["status-line", "--url", url])
    expect(line.stdout).toMatch(/^Holdfast; own 5h 93 %, begins anew [\d: -]+; own 5h 93 %, begins anew [\d: -]+\n$/u)
    const screen = yield* CommandLine.run(["watch", "--url", url])
    expect(screen.stdout).toContain("In the last 12 hours: 0 answered, 0 failed\n")
    expect(screen.stdout).toContain("Limit 7d of own, OWN_KEY: 50 % used")
    const { text } = yield* service.call({ path: "/metrics" })
    expect(text).toMatch(/^holdfast_limit_used_ratio\{(?=[^}]*credential="client )(?=[^}]*window="5h")[^}]*\} 0\.93$/mu)
    yield* Process.reaches("a notice of each credential", () => receiver.calls.length, 2)
    const notices = yield* Effect.forEach(receiver.calls, ({ body }) => Effect.promise(() => body))
    const [notice] = notices.map((body) => JSON.parse(String(body)))
    expect(notice).toMatchObject({
      type: "limit-near",
      name: "5h",
      used: 0.93,
      text: expect.stringMatching(
        /^93 % of the limit 5h of own \(client .*\) is used; it begins anew in 1 h 59 m, at /u
      )
    })
    expect([health.text, text, ...notices.map(String)].join(" ")).not.toMatch(/of-the-client/u)
  })
})
