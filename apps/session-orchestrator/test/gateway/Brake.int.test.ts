/** Tests that limits of spending and the guard hold for calls of the gateway, over sockets. */
import { describe, expect } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import type { Listing } from "@holdfast/wire/api"
import * as path from "node:path"
import * as CommandLine from "../cli/CommandLine.ts"
import * as Process from "../service/Process.ts"
import * as Service from "../service/Service.ts"
import * as GatewayRig from "./GatewayRig.ts"
import * as It from "../It.ts"

const ASK = { model: "m", stream: true, messages: [{ role: "user", content: "a prompt of some thirty characters" }] }
const CHAT = "/to/own/chat/completions"

/** An answer has 8 tokens. */
const ANSWER = GatewayRig.chatStream("hello")
const ms = Duration.millis(1)

const of = (session: string) => ({
  authorization: "Bearer sk-of-the-client-0123",
  "user-agent": "claude-cli/2.1.330",
  "session-id": session
})

type Running = Effect.Success<ReturnType<typeof GatewayRig.start>>["service"]

/** The question of the call that waits, once it has one. */
const question = (service: Running) =>
  Process.eventually(
    "a question",
    Effect.map(service.call({ path: "/v1/turns?status=waiting" }), ({ text }): string | undefined => {
      const [turn] = JSON.parse(text).turns
      return turn?.wait?.asks?.message
    }),
    (message) => message !== undefined
  )

const order = (service: Running, filter: object) =>
  service.call({ path: "/v1/turns/commands", body: { command: { type: "retry-now" }, filter } })

describe("a call of the gateway", () => {
  It.live(
    "rule X11: is refused at a day's limit in its wire format, after a restart too: all calls count",
    function* () {
      const directory = yield* Process.directory
      const rig = {
        answer: (call: Parameters<GatewayRig.Answer>[0]) => GatewayRig.sendStream(call, ANSWER),
        database: path.join(directory, "holdfast.db"),
        file: { spend: [{ per: "day", tokens: 10, then: "fail" }] }
      }
      const { endpoint, service } = yield* GatewayRig.start(rig)
      const statuses: Array<number> = []
      for (let n = 0; n < 3; n++) statuses.push((yield* GatewayRig.post(service.port, CHAT, ASK, of("s"))).status)
      expect([statuses, endpoint.calls.length]).toEqual([[200, 200, 429], 2])
      yield* service.stop
      const again = yield* GatewayRig.start({ ...rig, endpoint })
      const refused = yield* GatewayRig.post(again.service.port, CHAT, ASK, of("s"))
      expect(refused.status).toBe(429)
      expect(JSON.parse(String(refused.body)).error).toMatchObject({
        code: "spend-limit",
        message: expect.stringMatching(
          /^The limit spend\[0\] of the configuration is reached: it allows 10 tokens a day, and 16 tokens were spent .* `holdfast raise-limit 0` allows as much again today; or retry/u
        )
      })
      const foreign = yield* GatewayRig.post(again.service.port, "/to/claude/v1/messages", ASK, of("s"))
      expect(JSON.parse(String(foreign.body))).toMatchObject({ type: "error", error: { type: "rate_limit_error" } })
      expect(endpoint.calls.length).toBe(2)
      // The command that it names raises it at once, and over a restart.
      const raise = (port: number, ...args: ReadonlyArray<string>) =>
        CommandLine.run(["raise-limit", ...args, "--url", `http://127.0.0.1:${port}`])
      const raised = yield* raise(again.service.port, "0")
      expect(raised.code).toBe(0)
      expect(raised.stdout).toMatch(/^spend\[0\] allows 26 tokens in all until [\d: -]+\.\n$/u)
      expect((yield* GatewayRig.post(again.service.port, CHAT, ASK, of("s"))).status).toBe(200)
      yield* again.service.stop
      const third = yield* GatewayRig.start({ ...rig, endpoint })
      expect((yield* GatewayRig.post(third.service.port, CHAT, ASK, of("s"))).status).toBe(200)
      const more = yield* GatewayRig.post(third.service.port, CHAT, ASK, of("s"))
      expect([more.status, String(more.body)]).toEqual([
        429,
        expect.stringContaining("it allows 10 tokens a day, raised to 26 tokens, and 32 tokens were spent")
      ])
      for (const [args, problem] of [
        [["1"], "the configuration has 1 limit"],
        [["0", "--tag", "claude"], "tag: spend[0] has one sum"],
        [["0", "--money", "2"], "money: spend[0] has no limit of money"]
      ] as const) {
        const wrong = yield* raise(third.service.port, ...args)
        expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining(problem)])
      }
    }
  )

  It.live("rule X11: counts the tokens that are known when its client leaves in mid-answer", function* () {
    const start = { type: "message_start", message: { role: "assistant", usage: { input_tokens: 12 } } }
    const delta = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "half" } }
    const half = [start, delta].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("")
    const { endpoint, service } = yield* GatewayRig.start({
      answer: ({ response }) => void response.writeHead(200, { "content-type": "text/event-stream" }).write(half),
      file: { spend: [{ per: "day", tokens: 10, then: "fail" }] }
    })
    const path = "/to/claude/v1/messages"
    yield* Effect.scoped(
      Effect.gen(function* () {
        const live = yield* service.open({ path, headers: of("s"), body: ASK })
        yield* live.until("half")
      })
    )
    yield* Effect.promise(() => endpoint.calls[0]?.closed ?? Promise.reject(new Error("no call")))
    const refused = yield* GatewayRig.post(service.port, path, ASK, of("s"))
    expect([refused.status, String(refused.body)]).toEqual([429, expect.stringContaining("12 tokens were spent")])
    const { text } = yield* service.call({ path: "/metrics" })
    expect(text).toMatch(/^holdfast_gateway_calls_total\{[^}]*status="aborted"[^}]*\} 1$/mu)
  })

  It.live("rule X11: asks at the limit of its session, and goes on when a person answers; others pass", function* () {
    const { endpoint, service } = yield* GatewayRig.start({
      answer: (call) => GatewayRig.sendStream(call, ANSWER),
      file: { spend: [{ per: "tag", tag: "s-1", tokens: 5, then: "ask" }] }
    })
    expect((yield* GatewayRig.post(service.port, CHAT, ASK, of("s-1"))).status).toBe(200)
    const asking = yield* Effect.forkChild(GatewayRig.post(service.port, CHAT, ASK, of("s-1")))
    expect(yield* question(service)).toMatch(/spend\[0\].*it allows 5 tokens a day on turns with the tag s-1, and 8 /u)
    expect((yield* GatewayRig.post(service.port, CHAT, ASK, of("s-2"))).status).toBe(200)
    expect(endpoint.calls.length).toBe(2)
    yield* order(service, { tag: "s-1" })
    const answer = yield* Fiber.join(asking)
    expect([answer.status, answer.body.equals(ANSWER), endpoint.calls.length]).toEqual([200, true, 3])
  })

  It.live(
    "rule X11: an answer lets all calls that ask go on, until as much again is spent, over restarts",
    function* () {
      const directory = yield* Process.directory
      const rig = {
        answer: (call: Parameters<GatewayRig.Answer>[0]) => GatewayRig.sendStream(call, ANSWER),
        database: path.join(directory, "holdfast.db"),
        file: { spend: [{ per: "day", tokens: 20, then: "ask" }] }
      }
      const { endpoint, service } = yield* GatewayRig.start(rig)
      const post = (port: number, session: string) => GatewayRig.post(port, CHAT, ASK, of(session))
      const asking = (service: Running, count: number) =>
        Process.eventually(
          `${count} calls to ask`,
          Effect.map(service.call({ path: "/v1/turns?status=waiting" }), ({ text }) =>
            (JSON.parse(text) as Listing.TurnPage).turns.filter(({ wait }) => wait?.asks?.raises?.limit === 0)
          ),
          ({ length }) => length === count
        )
      for (let n = 0; n < 3; n++) expect((yield* post(service.port, "s")).status).toBe(200)
      const asked = yield* Effect.forEach(["s-1", "s-2", "s-3"], (session) =>
        Effect.forkChild(post(service.port, session))
      )
      const [first] = yield* asking(service, 3)
      expect(first?.wait?.asks?.message).toContain("An answer, or `holdfast raise-limit 0` allows as much again today.")
      yield* order(service, { turnIds: [first?.turnId] })
      for (const one of asked) expect((yield* Fiber.join(one)).status).toBe(200)
      yield* service.stop
      // 48 were spent by now; the answer allows 20 beyond the 24 of before.
      const again = yield* GatewayRig.start({ ...rig, endpoint })
      const last = yield* Effect.forkChild(post(again.service.port, "s-4"))
      const [turn] = yield* asking(again.service, 1)
      expect(turn?.wait?.asks?.message).toContain("raised to 44 tokens, and 48 tokens were spent")
      const url = `http://127.0.0.1:${again.service.port}`
      expect((yield* CommandLine.run(["raise-limit", "0", "--tokens", "1000", "--url", url])).stdout).toContain(
        "spend[0] allows 1,048 tokens in all"
      )
      expect([(yield* Fiber.join(last)).status, (yield* post(again.service.port, "s-5")).status]).toEqual([200, 200])
    }
  )

  It.live("rule X11: asks after a long wait before a request as large as its session's last one", function* () {
    const { endpoint, service } = yield* GatewayRig.start({
      answer: (call, n) => (n % 2 === 1 ? GatewayRig.sendError(call, 503) : GatewayRig.sendStream(call, ANSWER)),
      retry: { ...Service.QUICK, spendGuard: { after: Duration.millis(1), maxInputTokens: 2 } },
      file: { prices: { "own/m": { input: 1e6, output: 2e6 } } }
    })
    const asking = yield* Effect.forkChild(GatewayRig.post(service.port, CHAT, ASK, of("s-1")))
    const tokens = Math.ceil(JSON.stringify(ASK).length / 4)
    expect(yield* question(service)).toContain(
      `the next request would be about ${tokens} tokens, $${tokens}.00 without its answer`
    )
    expect(endpoint.calls.length).toBe(1)
    yield* order(service, { tag: "claude" })
    expect((yield* Fiber.join(asking)).status).toBe(200)
    // Its usage is counted by then.
    yield* Process.eventually(
      "the end of the turn",
      Effect.map(service.call({ path: "/v1/turns?status=completed" }), ({ text }) => JSON.parse(text).turns.length),
      (ended) => ended === 1
    )
    const again = yield* Effect.forkChild(GatewayRig.post(service.port, CHAT, ASK, of("s-1")))
    expect(yield* question(service)).toContain("the next request would be about 3 tokens, $3.00")
    yield* order(service, { tag: "claude" })
    expect((yield* Fiber.join(again)).status).toBe(200)
  })

  It.live("rule X11: ends with the provider's refusal where nobody answers in time, as with `claude -p`", function* () {
    const { endpoint, service } = yield* GatewayRig.start({
      answer: (call) => GatewayRig.sendError(call, 503),
      retry: { ...Service.QUICK, spendGuard: { after: ms, maxInputTokens: 2, answerWithin: ms } }
    })
    const refused = yield* GatewayRig.post(service.port, CHAT, ASK, of("s-1"))
    expect([refused.status, endpoint.calls.length]).toEqual([503, 1])
    expect(refused.headers["x-holdfast-gave-up"]).toBe("nobody answered")
  })

  It.live("rule X13: names no question where a final error ends a call after a retry", function* () {
    const { endpoint, service } = yield* GatewayRig.start({
      answer: (call, n) => GatewayRig.sendError(call, n === 1 ? 503 : 403),
      retry: Service.QUICK
    })
    const refused = yield* GatewayRig.post(service.port, CHAT, ASK, of("s-1"))
    expect([refused.status, endpoint.calls.length]).toEqual([403, 2])
    expect(refused.headers["x-holdfast-gave-up"]).toBe("not retryable")
  })

  It.live("rule X11: goes on where no person answers in time, if that is set", function* () {
    const { endpoint, service } = yield* GatewayRig.start({
      answer: (call, n) => (n === 1 ? GatewayRig.sendError(call, 503) : GatewayRig.sendStream(call, ANSWER)),
      retry: {
        ...Service.QUICK,
        spendGuard: { after: ms, maxInputTokens: 2, answerWithin: ms, unanswered: "go-on" }
      }
    })
    const answered = yield* GatewayRig.post(service.port, CHAT, ASK, of("s-1"))
    expect([answered.status, endpoint.calls.length]).toEqual([200, 2])
    const turnId = String(answered.headers["x-holdfast-call"])
    const { conversationId } = JSON.parse((yield* service.call({ path: `/v1/turns/${turnId}` })).text)
    const path = `/v1/conversations/${conversationId}/turns/${turnId}/explain`
    const explained = yield* service.call({ path })
    expect([explained.status, explained.text]).toEqual([200, expect.not.stringContaining("unanswered")])
  })
})
