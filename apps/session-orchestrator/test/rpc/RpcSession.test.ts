/** Tests sessions of `holdfast rpc`: every command in every state of a turn, and what lines can do to them. */
import { assert, describe, it } from "@effect/vitest"
import { Records } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { defined, TurnEvent } from "@holdfast/wire"
import type { RpcLines } from "@holdfast/wire/rpc"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Backlog from "../../src/engine/session/Backlog.ts"
import type { ToolServers } from "@holdfast/mcp"
import { MOST_WAITING } from "../../src/rpc/RpcSession.ts"
import { appendsAfter, asking, waits } from "../engine/conversation/ConversationSetup.ts"
import { type GivenSession, withSession } from "./GivenSession.ts"
import type * as It from "../It.ts"

const { answer, emits, hangs, overloaded, text } = ScriptedProvider

const HOUR = 3_600
const success = (command: string, data?: RpcLines.RpcResponse["data"]): RpcLines.RpcResponse => ({
  type: "response",
  command,
  success: true,
  ...defined({ data })
})

const outcomes = (responses: ReadonlyArray<RpcLines.RpcResponse>): string =>
  responses.map(({ id, success }) => `${id} ${success}`).join(", ")

/** The commands on a wait, with their keys. */
const STEERING = {
  abort_retry: {},
  retry_now: {},
  wait_until: { until: 60_000 },
  switch_target: { model: "test/other" },
  extend_budget: { byMs: 1_000 }
} as const

/** A session whose turn waits for an hour. */
const waiting = (test: It.Body<[GivenSession]>) =>
  withSession({ scripts: [emits(overloaded), answer("At last")], retry: waits(HOUR, HOUR) }, function* (given) {
    yield* given.ask({ type: "prompt", prompt: "Hi" })
    yield* given.until("provider-retry")
    yield* Effect.gen(() => test(given))
  })

/** Without a question about this call it does nothing. */
const answer_tool = { toolCallId: "one", approve: true }

describe("while a tool call needs approval", () => {
  const send = { type: "tool-call", toolCallId: "one", toolName: "send", input: {} } as const
  const offered: ToolServers.OfferedTools = {
    toolbox: Effect.succeed({
      definitions: [{ name: "send", inputSchema: {}, confirmWithinMs: HOUR * 1_000 }],
      run: () => Effect.succeed({ output: "sent", isError: false })
    }),
    missing: () => [],
    isComplete: Effect.void
  }
  const tools = { ...offered, names: [], only: () => offered }

  it.effect("the state has the question, and answer_tool approves the call, once", () =>
    withSession(
      { scripts: [ScriptedProvider.tools(send), answer("Sent.")], tools },
      function* ({ ask, events, until }) {
        yield* ask({ type: "prompt", prompt: "Send it." })
        yield* until("provider-retry")
        const { data } = yield* ask({ type: "get_state" })
        assert.deepInclude(data, { status: "retrying", isRetrying: true })
        const calls = data !== undefined && "retry" in data ? data.retry?.asks?.calls : undefined
        assert.deepStrictEqual(calls, [{ toolCallId: "one", toolName: "send", quoted: "{}" }])
        assert.deepStrictEqual(yield* ask({ type: "retry_now" }), success("retry_now", { applied: false }))
        const approve = { type: "answer_tool", ...answer_tool, commandId: "k" }
        assert.deepStrictEqual(yield* ask(approve), success("answer_tool", { applied: true }))
        yield* until("turn-end")
        // The same command has its answer of before; another one has nothing to do.
        assert.deepStrictEqual(yield* ask(approve), success("answer_tool", { applied: true }))
        const other = { ...approve, commandId: "l" }
        assert.deepStrictEqual(yield* ask(other), success("answer_tool", { applied: false }))
        const ran = events().find(({ type }) => type === "tool-result")
        assert.deepInclude(ran, { output: "sent", isError: false })
      }
    )
  )
})

describe("without a turn", () => {
  for (const [type, keys] of Object.entries({ abort: {}, ...STEERING, answer_tool })) {
    it.effect(`rule P16: ${type} is answered, and changes nothing`, () =>
      withSession({ scripts: [] }, function* ({ ask, events }) {
        assert.deepStrictEqual(yield* ask({ type, ...keys }), success(type, { applied: false }))
        assert.deepStrictEqual(events(), [])
      })
    )
  }

  it.effect("rule P16: the state follows the switch of automatic retries, and the model", () =>
    withSession({ scripts: [] }, function* ({ ask, conversationId }) {
      const idle = { conversationId, status: "idle", isRetrying: false, queued: [], lastEventId: 0 } as const
      const state = (autoRetryEnabled: boolean, model = "test/m") =>
        success("get_state", { ...idle, autoRetryEnabled, model })
      assert.deepStrictEqual(yield* ask({ type: "get_state" }), state(true))
      assert.deepStrictEqual(yield* ask({ type: "set_auto_retry", enabled: false }), success("set_auto_retry"))
      assert.deepStrictEqual(yield* ask({ type: "get_state" }), state(false))
      assert.deepStrictEqual(yield* ask({ type: "set_model", model: "test/n" }), success("set_model"))
      assert.deepStrictEqual(yield* ask({ type: "get_state" }), state(false, "test/n"))
      const refused = yield* ask({ type: "set_model", model: "nowhere/m" })
      assert.deepInclude(refused, { success: false, code: "invalid-request" })
    })
  )
})

describe("while a turn streams", () => {
  /** A session whose turn has shown a text and hangs. */
  const streaming = (test: It.Body<[GivenSession]>) =>
    Effect.suspend(() => {
      const reached = Deferred.makeUnsafe<void>()
      return withSession({ scripts: [hangs(reached, text("Once"))] }, function* (given) {
        yield* given.ask({ type: "prompt", prompt: "Hi" })
        yield* given.until("text-delta")
        yield* Effect.gen(() => test(given))
      })
    })

  for (const [type, keys] of Object.entries(STEERING)) {
    it.effect(`rule P16: ${type} is answered at once, and changes nothing`, () =>
      streaming(function* ({ ask, events }) {
        const before = events().length
        assert.deepStrictEqual(yield* ask({ type, ...keys }), success(type, { applied: false }))
        assert.lengthOf(events(), before)
      })
    )
  }

  it.effect("rule P16: the state, a further prompt and the switch are answered at once, by their ids", () =>
    streaming(function* ({ ask }) {
      const { data } = yield* ask({ type: "prompt", prompt: "And then?" })
      assert.deepStrictEqual(yield* ask({ type: "set_auto_retry", enabled: false }), success("set_auto_retry"))
      const state = yield* ask({ type: "get_state" })
      const queued = data !== undefined && "turnId" in data ? [data.turnId] : []
      assert.lengthOf(queued, 1)
      assert.deepInclude(state.data, { status: "running", queued, autoRetryEnabled: false })
    })
  )

  it.effect("rule P16: abort ends the turn; a retry after it runs again", () =>
    streaming(function* ({ ask, events, until }) {
      assert.deepStrictEqual(yield* ask({ type: "abort" }), success("abort", { applied: true }))
      yield* until("turn-end")
      assert.deepInclude(events().at(-1), { type: "turn-end", status: "aborted" })
      assert.isTrue((yield* ask({ type: "retry" })).success)
      yield* until("turn-start", 2)
    })
  )
})

describe("while a turn waits", () => {
  it.effect("rule P16: the state has the wait, and every event was written unchanged", () =>
    waiting(function* ({ ask, conversations, conversationId, events, lines }) {
      const { data } = yield* ask({ type: "get_state" })
      const wait = events().find(({ type }) => type === "provider-retry")
      assert.deepInclude(wait, { attempt: 0, delayMs: HOUR * 1_000, message: overloaded.message })
      assert.deepInclude(data, { status: "retrying", isRetrying: true, attempt: 0, retryAt: HOUR * 1_000 })
      assert.deepStrictEqual(data, {
        ...(yield* conversations.state(conversationId)),
        lastEventId: events().filter(({ type }) => type === "turn-start" || type === "message").length
      })
      assert.isTrue(lines().every((line) => line.startsWith("{") && line.endsWith("}")))
    })
  )

  for (const type of ["retry_now", "switch_target"] as const) {
    it.effect(`rule P16: ${type} makes the next attempt`, () =>
      waiting(function* ({ ask, events, until }) {
        assert.deepStrictEqual(yield* ask({ type, ...STEERING[type] }), success(type, { applied: true }))
        yield* until("turn-end")
        assert.deepInclude(events().at(-1), { status: "completed" })
        const isMoved = events().some((event) => event.type === "model-change" && event.to === "test/other")
        assert.strictEqual(isMoved, type === "switch_target")
      })
    )
  }

  it.effect("rule P16: the state is that after the commands before it, also while one waits for the disk", () => {
    const door = Deferred.makeUnsafe<void>()
    return withSession(
      {
        scripts: [emits(overloaded), answer("At last")],
        retry: waits(HOUR),
        log: appendsAfter(({ records }) =>
          records.some(({ name }) => Records.positionOf(name)?.kind === "Wake") ? Deferred.await(door) : Effect.void
        )
      },
      function* ({ ask, responded, sendText, until }) {
        yield* ask({ type: "prompt", prompt: "Hi" })
        yield* until("provider-retry")
        yield* sendText(
          '{"id":"now","type":"retry_now"}\n{"id":"then","type":"set_auto_retry","enabled":false}\n' +
            '{"id":"state","type":"get_state"}\nnonsense\n{"id":"on","type":"set_auto_retry","enabled":true}\n'
        )
        yield* Deferred.succeed(door, undefined)
        const last = (yield* responded(6)).slice(1)
        assert.strictEqual(outcomes(last), "now true, then true, state true, undefined false, on true")
        assert.deepInclude(last[2]?.data, { autoRetryEnabled: false })
      }
    )
  })
})

describe("lines", () => {
  it.effect("rule P16: garbage is answered without an id, and harms nothing", () =>
    withSession({ scripts: [answer("Hi")] }, function* ({ ask, responded, sendText }) {
      yield* sendText('nonsense\n\r\n  \n[]\n{"id":"x","type":"get_')
      yield* sendText('state"}\r\n')
      yield* sendText(`${"a".repeat(3 * 1024 * 1024)}\n`)
      const responses = yield* responded(4)
      assert.strictEqual(outcomes(responses), "undefined false, undefined false, x true, undefined false")
      assert.strictEqual(responses[3]?.error, "The line is longer than 1048576 bytes, and was not read.")
      assert.isTrue((yield* ask({ type: "prompt", prompt: "Hi" })).success)
    })
  )

  it.effect("rule P16: commands take effect in the order of their lines; the last are answered after the end", () =>
    withSession({ scripts: [emits(overloaded)], retry: waits(HOUR) }, function* ({ close, lines, sendText }) {
      yield* sendText('{"id":1,"type":"prompt","prompt":"Hi"}\n{"id":2,"type":"abort"}\n{"id":3,"type":"retry"}')
      yield* close
      const responses = lines().flatMap((line) => (line.includes('"response"') ? [JSON.parse(line)] : []))
      assert.strictEqual(outcomes(responses), "1 true, 2 true, 3 true")
    })
  )

  it.effect("rule P16: a session whose output is not taken ends five seconds after its input", () =>
    withSession({ scripts: [] }, function* ({ ask, close, pipe, sendText }) {
      yield* ask({ type: "get_state" })
      pipe.isTaken = false
      yield* sendText('{"type":"get_state"}\nnonsense\n{"type":"get_state"}\n{"type":"abort"}\n{"type":"abort"}\n')
      const end = yield* asking(close)
      yield* TestClock.adjust("4 seconds")
      assert.isUndefined(end.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(end)
    })
  )

  it.effect("rule P16: while the output is not taken, few commands are read, and none is lost", () =>
    withSession({ scripts: [] }, function* ({ ask, conversations, conversationId, pipe, responded, sendText, unread }) {
      yield* ask({ type: "get_state" })
      pipe.isTaken = false
      const many = 4 * MOST_WAITING
      for (let n = 0; n < many; n++) yield* sendText(`{"id":${n},"type":"set_auto_retry","enabled":${n % 2 === 0}}\n`)
      // The first has taken effect: its answer is what is not taken.
      yield* Effect.repeat(Effect.yieldNow, { times: 600 })
      assert.isTrue((yield* conversations.state(conversationId)).autoRetryEnabled)
      // Those in the queue, and those that its reader has taken together.
      assert.isAtLeast(unread(), many - 2 * MOST_WAITING - 3)
      pipe.isTaken = true
      const responses = yield* responded(many + 1)
      assert.deepStrictEqual(
        responses.slice(1).map(({ id }) => id),
        Array.from({ length: many }, (_, n) => n)
      )
    })
  )

  it.effect("rule X3: a session that reads too slowly for the hub gets every persisted event, once", () => {
    const long = "a".repeat(Backlog.MAX_BEHIND / 8)
    return withSession(
      { scripts: [emits(overloaded), answer(...Array.from({ length: 12 }, () => long))], retry: waits(1) },
      function* ({ ask, conversations, conversationId, events, pipe, until, watches }) {
        const { data } = yield* ask({ type: "prompt", prompt: "Hi" })
        yield* until("provider-retry")
        pipe.isTaken = false
        yield* TestClock.adjust("1 second")
        if (data !== undefined && "turnId" in data) yield* conversations.result(data.turnId, conversationId)
        pipe.isTaken = true
        yield* until("turn-end")
        assert.isAbove(watches(), 1)
        const persisted = events().filter(TurnEvent.isPersisted)
        const persistedTypes = persisted.map(({ type }) => type)
        assert.deepStrictEqual(persistedTypes, ["turn-start", "message", "retry-end", "usage", "message", "turn-end"])
      }
    )
  })
})
