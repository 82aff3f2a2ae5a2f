import { assert, describe, it } from "@effect/vitest"
import { Scenario, ScriptedProvider, TestRouter, TestStrategy } from "@holdfast/kernel/testing"
import { Failure, Ids, Message } from "@holdfast/wire"
import { Deferred, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { type Compacted, Compactor, type TooLong, summarising } from "../src/ports/Compactor.ts"
import { Provider } from "../src/ports/Provider.ts"
import * as Summary from "../src/internal/calls/Summary.ts"
import { TurnStopped } from "../src/ports/TurnStopped.ts"

const { bothWays, settle, turnId } = Scenario
const { answer, call, emits, finish, hangs, overloaded, text, tools, unauthorized } = ScriptedProvider

const overflow: Failure.Failure = { reason: "context-overflow", message: "prompt is too long", retryable: false }

const strategy = (delays: ReadonlyArray<number> = [5_000, 10_000]) => new TestStrategy.TestStrategy({ delays })

/** A compactor that follows a test's functions, one a call, and keeps its requests. */
const compactorOf = (...does: ReadonlyArray<(request: TooLong) => ReturnType<Compactor["Service"]["compact"]>>) => {
  const asked: Array<TooLong> = []
  const layer = Layer.succeed(Compactor, {
    compact: (request) =>
      Effect.suspend(() => {
        asked.push(request)
        return does[asked.length - 1]?.(request) ?? Effect.die(new Error("an unexpected call"))
      })
  })
  return { asked, layer }
}

const upToFirst = ({ messages }: TooLong) =>
  Effect.succeed<Compacted>({
    summary: "They talked.",
    upTo: messages[0]?.id ?? impossible(),
    usage: { inputTokens: 7 }
  })

const fails = (failure: Failure.Failure) => () => Effect.fail(new Failure.ProviderFailure({ failure }))

const impossible = (): never => {
  throw new Error("there is a message")
}

const earlier = Ids.TurnId.make("old")

const old = (n: number, text: string): Message.UserMessage => ({
  role: "user",
  id: Ids.messageIdOf(earlier, n),
  turnId: earlier,
  createdAt: 0,
  content: [{ type: "text", text }]
})

const history = [old(0, "What is in a.txt?"), old(1, "And in b.txt?")]

const textsOf = (messages: ReadonlyArray<Message.Message> = []) => messages.map(Message.textOf)

const PREFACE = "The conversation until here, summed up, because it had become too long:\n\n"

describe("a context that is too long", () => {
  bothWays("rule P19: is compacted, and the step runs again on the shorter context", (start) =>
    Effect.gen(function* () {
      const { asked, layer } = compactorOf(upToFirst)
      const run = yield* start({
        scripts: [emits(overflow), answer("ok")],
        history,
        strategy: strategy(),
        services: layer
      })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      assert.deepStrictEqual([end.attempts, end.steps, end.sleptMs], [3, 1, 0])
      assert.deepStrictEqual(end.usage, { inputTokens: 17, outputTokens: 5 })
      assert.deepStrictEqual(textsOf(asked[0]?.messages), ["What is in a.txt?", "And in b.txt?", "Hello"])
      assert.deepStrictEqual(textsOf(run.provider.requests[1]?.messages), [
        `${PREFACE}They talked.`,
        "And in b.txt?",
        "Hello"
      ])
      assert.deepStrictEqual(
        run.sink.of("compaction").map(({ messages, summary }) => [messages, summary]),
        [[1, "They talked."]]
      )
      assert.deepStrictEqual(
        run.sink.persisted.map(({ type }) => type),
        ["turn-start", "message", "compaction", "message", "usage", "message", "turn-end"]
      )
      // The history is complete.
      const summary = run.sink.of("message")[1]?.message
      assert.deepInclude(summary, { role: "user", synthetic: true, summary: { upTo: old(0, "").id } })
    })
  )

  bothWays("rule P19: is compacted with the turn's own system prompt and credential", (start) =>
    Effect.gen(function* () {
      const { asked, layer } = compactorOf(upToFirst, upToFirst)
      const router = new TestRouter.TestRouter({
        begin: ({ primary }) => ({ route: { target: primary, credential: "second" } }),
        direct: () => undefined
      })
      const options = { scripts: [emits(overflow), answer("ok")], history, strategy: strategy() }
      const limits = { maxResponseCharacters: 9_000 }
      yield* settle(
        yield* start({ ...options, limits, system: "Be brief.", services: Layer.merge(layer, router.layer) })
      )
      yield* settle(yield* start({ ...options, services: layer }))
      const [with_, without] = asked
      assert.deepInclude(with_, { system: "Be brief.", credential: "second", target: Scenario.target, ...limits })
      assert.isFalse(
        without === undefined || "system" in without || "credential" in without || "maxResponseCharacters" in without
      )
    })
  )

  bothWays("rule P19: the next turn begins with the summary", (start) =>
    Effect.gen(function* () {
      const before = yield* start({
        scripts: [emits(overflow), answer("ok")],
        history,
        services: compactorOf(upToFirst).layer
      })
      yield* settle(before)
      const after = [...history, ...before.sink.of("message").map(({ message }) => message)]
      const run = yield* start({ scripts: [answer("yes")], history: after, prompt: "And now?" })
      yield* settle(run)
      assert.deepStrictEqual(textsOf(run.provider.requests[0]?.messages), [
        `${PREFACE}They talked.`,
        "And in b.txt?",
        "Hello",
        "ok",
        "And now?"
      ])
    })
  )

  bothWays("rule P19: a summary that replaces guidance of its turn still replaces it in the next turn", (start) =>
    Effect.gen(function* () {
      const upToLast = ({ messages }: TooLong) =>
        Effect.succeed<Compacted>({ summary: "They talked.", upTo: messages.at(-1)?.id ?? impossible() })
      const before = yield* start({
        scripts: [emits(overflow), answer("ok")],
        history,
        strategy: strategy(),
        limits: { maxTurns: 1 },
        services: compactorOf(upToLast).layer
      })
      yield* settle(before)
      const messages = before.sink.of("message").map(({ message }) => message)
      const after = yield* start({ scripts: [answer("ok")], history: [...history, ...messages], prompt: "More?" })
      yield* settle(after)
      assert.deepStrictEqual(textsOf(after.provider.requests[0]?.messages), [`${PREFACE}They talked.`, "ok", "More?"])
    })
  )

  bothWays("rule P19: a step that overflows again fails with the overflow", (start) =>
    Effect.gen(function* () {
      const { asked, layer } = compactorOf(upToFirst)
      const run = yield* start({ scripts: [emits(overflow), emits(overflow)], strategy: strategy(), services: layer })
      const end = yield* settle(run)
      assert.deepStrictEqual([end.status, end.error?.reason], ["failed", "context-overflow"])
      assert.strictEqual(asked.length, 1)
    })
  )

  bothWays("rule P19: a later step may overflow again, and is compacted again", (start) =>
    Effect.gen(function* () {
      const { asked, layer } = compactorOf(upToFirst, ({ messages }) =>
        Effect.succeed({ summary: "They talked more.", upTo: messages[1]?.id ?? impossible() })
      )
      const toolbox = { definitions: [], run: () => Effect.succeed({ output: "done", isError: false }) }
      const run = yield* start({
        scripts: [emits(overflow), tools(call("look")), emits(overflow), answer("ok")],
        history,
        strategy: strategy(),
        services: layer,
        toolbox
      })
      assert.strictEqual((yield* settle(run)).status, "completed")
      assert.deepStrictEqual(textsOf(asked[1]?.messages), [`${PREFACE}They talked.`, "And in b.txt?", "Hello", "", ""])
      assert.deepStrictEqual(textsOf(run.provider.requests[3]?.messages), [
        `${PREFACE}They talked more.`,
        "Hello",
        "",
        ""
      ])
    })
  )

  for (const [what, compact, attempts] of [
    ["where nothing can be left out", () => Effect.undefined, 1],
    ["where the older part is too long itself", fails({ ...overflow, message: "even that is too long" }), 2]
  ] as const) {
    bothWays(`rule P19: ${what} it fails with the overflow`, (start) =>
      Effect.gen(function* () {
        const run = yield* start({
          scripts: [emits(overflow)],
          strategy: strategy(),
          services: compactorOf(compact).layer
        })
        const end = yield* settle(run)
        assert.deepStrictEqual([end.status, end.error?.message], ["failed", "prompt is too long"])
        assert.strictEqual(end.attempts, attempts)
        assert.deepStrictEqual(run.sink.of("compaction"), [])
        assert.deepStrictEqual(run.sink.of("provider-retry"), [])
      })
    )
  }

  bothWays("rule P2: without a compactor it is final", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overflow)], strategy: strategy() })
      assert.strictEqual((yield* settle(run)).error?.reason, "context-overflow")
    })
  )

  bothWays("rule D4: after content it is final, with or without a compactor", (start) =>
    Effect.gen(function* () {
      const { asked, layer } = compactorOf()
      const run = yield* start({ scripts: [emits(overflow, text("Hal"))], strategy: strategy(), services: layer })
      assert.strictEqual((yield* settle(run)).status, "failed")
      assert.deepStrictEqual(asked, [])
    })
  )
})

describe("a summary that fails", () => {
  bothWays("rule P19: is retried within the budget of the step", (start) =>
    Effect.gen(function* () {
      const policy = strategy()
      const { asked, layer } = compactorOf(fails(overloaded), upToFirst)
      const run = yield* start({
        scripts: [emits(overflow), emits(overloaded), answer("ok")],
        history,
        strategy: policy,
        services: layer
      })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      assert.deepStrictEqual([end.attempts, end.sleptMs], [5, 15_000])
      assert.deepStrictEqual(policy.sleeps, [5_000, 10_000])
      assert.strictEqual(asked.length, 2)
      assert.deepStrictEqual(
        run.sink.of("provider-retry").map(({ attempt, reason }) => [attempt, reason]),
        [
          [0, "overloaded"],
          [1, "overloaded"]
        ]
      )
      assert.deepStrictEqual(
        run.sink.of("retry-end").map(({ attempt, success }) => [attempt, success]),
        [[1, true]]
      )
    })
  )

  bothWays("rule P19: goes where the router sends it", (start) =>
    Effect.gen(function* () {
      const other = { provider: "other", model: "big" }
      const router = new TestRouter.TestRouter({ direct: () => ({ delayMs: 0, route: { target: other } }) })
      const { asked, layer } = compactorOf(fails(unauthorized), upToFirst)
      const run = yield* start({
        scripts: [emits(overflow), answer("ok")],
        strategy: strategy(),
        services: Layer.merge(layer, router.layer)
      })
      assert.strictEqual((yield* settle(run)).status, "completed")
      assert.deepStrictEqual(
        asked.map(({ target }) => target.provider),
        ["test", "other"]
      )
      assert.strictEqual(run.provider.requests[1]?.target.provider, "other")
      // Announced again at most by the life whose last record is the decision.
      assert.isAtMost(run.sink.of("provider-retry").length, 2)
    })
  )

  bothWays("rule D7: fails the turn when the budget is spent", (start) =>
    Effect.gen(function* () {
      const { layer } = compactorOf(fails(overloaded), fails(overloaded), fails(overloaded))
      const run = yield* start({ scripts: [emits(overflow)], strategy: strategy(), services: layer })
      const end = yield* settle(run)
      assert.deepStrictEqual([end.status, end.error?.reason], ["failed", "overloaded"])
      assert.deepInclude(run.sink.of("retry-end")[0], { success: false, attempt: 1 })
    })
  )

  bothWays("rule C10: a compactor that dies of a bug, or returns an empty summary, is retried twice", (start) =>
    Effect.gen(function* () {
      const { asked, layer } = compactorOf(
        () => Effect.die(new Error("boom")),
        () => Effect.succeed({ summary: "?", upTo: old(9, "").id }),
        () => Effect.die(new Error("boom"))
      )
      const run = yield* start({
        scripts: [emits(overflow)],
        strategy: strategy([0, 0, 0, 0]),
        services: layer
      })
      const end = yield* settle(run)
      assert.deepInclude(end.error, { defect: true, message: "Error: boom" })
      assert.strictEqual(asked.length, 3)
    })
  )

  bothWays("rule C10: a summary that replaces a missing message, or another summary, changes nothing", (start) =>
    Effect.gen(function* () {
      const upTo = (of: Message.Message | undefined) => () =>
        Effect.succeed<Compacted>({ summary: "?", upTo: of?.id ?? impossible() })
      const summary: Message.UserMessage = { ...old(2, "so far"), synthetic: true, summary: { upTo: old(0, "").id } }
      for (const message of [old(9, ""), summary]) {
        const run = yield* start({
          scripts: [emits(overflow)],
          history: [...history, summary],
          services: compactorOf(upTo(message)).layer
        })
        const { error, status } = yield* settle(run)
        assert.strictEqual(status, "failed")
        assert.deepInclude(error, { defect: true, message: `Error: There is no message ${message.id} to sum up.` })
        assert.deepStrictEqual(run.sink.of("compaction"), [])
      }
    })
  )

  bothWays("rule X5: a shared failure counts no call", (start) =>
    Effect.gen(function* () {
      const { layer } = compactorOf(fails({ ...overloaded, shared: true }), fails(overloaded), upToFirst)
      const run = yield* start({
        scripts: [emits(overflow), answer("ok")],
        history,
        strategy: strategy(),
        services: layer
      })
      const end = yield* settle(run)
      assert.deepStrictEqual([end.status, end.attempts], ["completed", 4])
    })
  )

  it.effect("rule X1: a summary whose turn is stopped leaves the turn unsealed", () =>
    Effect.gen(function* () {
      const stopped = new TurnStopped({ message: "another runner has it" })
      const run = yield* Scenario.straight({
        scripts: [emits(overflow)],
        history,
        services: compactorOf(() => Effect.fail(stopped)).layer
      })
      assert.strictEqual(yield* Effect.flip(settle(run)), stopped)
      assert.deepStrictEqual(run.sink.of("turn-end"), [])
    })
  )

  bothWays("rule P14: a wait for it can be cancelled", (start) =>
    Effect.gen(function* () {
      const policy = strategy()
      const { layer } = compactorOf(fails(overloaded))
      const run = yield* start({ scripts: [emits(overflow)], strategy: policy, services: layer })
      yield* TestClock.adjust(1_000)
      yield* policy.wake({ type: "cancelled" })
      assert.strictEqual((yield* settle(run)).status, "failed")
      assert.deepInclude(run.sink.of("retry-end")[0], { finalError: "Retry cancelled" })
    })
  )

  bothWays("rule D8: an abort ends it at once", (start) =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const { layer } = compactorOf(() => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never))
      const run = yield* start({
        scripts: [emits(overflow)],
        strategy: strategy(),
        services: layer,
        abort: Deferred.await(reached)
      })
      assert.strictEqual((yield* settle(run)).status, "aborted")
    })
  )
})

describe("the model as its own compactor", () => {
  const request: TooLong = {
    conversationId: Scenario.conversationId,
    turnId,
    step: 0,
    attempt: 1,
    target: Scenario.target,
    credential: "second",
    messages: [old(0, "a".repeat(400)), old(1, "b".repeat(400)), old(2, "c".repeat(250))]
  }

  const compact = (script: ScriptedProvider.Script, asked = request) =>
    Effect.gen(function* () {
      const provider = ScriptedProvider.make([script])
      const compacted = yield* Effect.flatMap(Compactor, (compactor) => compactor.compact(asked)).pipe(
        Effect.provide(Layer.provide(summarising(), Layer.succeed(Provider, provider))),
        Effect.result
      )
      return { compacted, asked: provider.requests[0] }
    })

  bothWays("rule P19: sums up the older messages and keeps the newest", () =>
    Effect.gen(function* () {
      const { asked, compacted } = yield* compact(answer(" They ", "talked. "))
      assert.deepInclude(compacted, {
        success: { summary: "They talked.", upTo: old(1, "").id, usage: { inputTokens: 10, outputTokens: 5 } }
      })
      assert.deepInclude(asked, { target: Scenario.target, credential: "second", system: Summary.SYSTEM, tools: [] })
      assert.match(textsOf(asked?.messages).join(), /^User:\na{10}[\s\S]*User:\nb{10}/)
      assert.notInclude(textsOf(asked?.messages).join(), "ccc")
    })
  )

  bothWays("rule P19: does not sum up a single message", () =>
    Effect.gen(function* () {
      const { asked, compacted } = yield* compact(answer("?"), { ...request, messages: request.messages.slice(2) })
      assert.deepInclude(compacted, { success: undefined })
      assert.isUndefined(asked)
    })
  )

  for (const [what, script, reason] of [
    ["an outage", emits(overloaded, text("They")), "overloaded"],
    ["a summary that breaks off", { reads: [[text("They")]], end: Effect.void }, "network"],
    ["a summary of no words", { reads: [[text("  "), finish]], end: Effect.void }, "invalid-response"]
  ] as const) {
    bothWays(`rule C6: ${what} is a failure that can be retried`, () =>
      Effect.gen(function* () {
        const { compacted } = yield* compact(script)
        if (compacted._tag !== "Failure" || compacted.failure._tag !== "ProviderFailure")
          return assert.fail("it did not fail")
        assert.deepInclude(compacted.failure.failure, { reason, retryable: true })
      })
    )
  }

  bothWays("rule P19: no client receives the summary while it streams, in a turn", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [emits(overflow), answer("They ", "talked."), answer("ok")],
        history: request.messages,
        prompt: null,
        services: summarising()
      })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      assert.strictEqual(run.sink.shown, "ok")
      assert.strictEqual(run.sink.of("compaction")[0]?.summary, "They talked.")
    })
  )

  bothWays("rule D8: an abort closes its connection", (start) =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const run = yield* start({
        scripts: [emits(overflow), hangs(reached, text("They"))],
        history: request.messages,
        services: summarising(),
        abort: Deferred.await(reached)
      })
      assert.strictEqual((yield* settle(run)).status, "aborted")
      assert.strictEqual(run.sink.shown, "")
    })
  )
})
