/** Tests faults between the parts of conversations. */
import { assert, describe, it } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import type { Toolbox } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Ids, Target } from "@holdfast/wire"
import { Cause, Deferred, Effect, Exit, Fiber, Option, type Schema } from "effect"
import { TestClock } from "effect/testing"
import type { CreateOptions } from "../../../src/engine/conversation/Conversations.ts"
import type { GateTicket } from "../../../src/engine/gate/Gatekeeper.ts"
import * as TurnQueue from "../../../src/engine/orchestrator/TurnQueue.ts"
import { Sessions } from "../../../src/engine/session/Session.ts"
import type { TurnServices } from "../../../src/engine/turn/TurnServices.ts"
import { appendsAfter, asking, toolsOf, waits, watching, withService } from "../conversation/ConversationSetup.ts"
import * as Logged from "../../storage/Logged.ts"

const { answer, emits, hangs, overloaded, unauthorized } = ScriptedProvider

const id = Ids.TurnId.make

it.effect("rule X5: a queue that closes gives back the tickets of its turns, and their callers get the reason", () =>
  Effect.gen(function* () {
    const sessions = new Sessions()
    const turns = ["a", "b"].map((name) => sessions.wake(Ids.ConversationId.make(name)).add(id(name), "queued", "last"))
    const back: Array<string> = []
    for (const turn of turns)
      turn.hold("ticket", { giveBack: () => void back.push(turn.turnId) } as unknown as GateTicket) // all that is used
    yield* Effect.scoped(TurnQueue.make({ sessions } as unknown as TurnServices))
    assert.deepStrictEqual(back, ["a", "b"])
    for (const turn of turns) {
      const { message } = yield* Effect.flip(Deferred.await(turn.ended))
      assert.include(message, "This process releases the turn")
    }
  })
)

describe("a turn that is on disk alone", () => {
  it.effect("rule X4: is aborted, too, by an abort that finds another one bringing it into memory", () =>
    withService({ scripts: [hangs(Deferred.makeUnsafe())] }, function* ({ conversations, held }) {
      const c = yield* conversations.create({})
      yield* conversations.prompt(c, { prompt: "Hi", turnId: id("a") })
      yield* held.release(c)
      const abort = conversations.abort(c)
      assert.deepStrictEqual(yield* Effect.all([abort, abort], { concurrency: 2 }), [true, true])
    })
  )
})

describe("rule C10: a defect of the service while it runs a turn", () => {
  /** Throws when it is called for the first `times` times. */
  const throwing = <Args extends ReadonlyArray<unknown>, A>(times: number, call: (...args: Args) => A) => {
    let calls = 0
    return (...args: Args): A => {
      if (calls++ < times) throw new TypeError("boom")
      return call(...args)
    }
  }

  const cases: ReadonlyArray<[string, (times: number) => Partial<Parameters<typeof withService>[0]>]> = [
    ["reading the turn", (times) => ({ store: (real) => ({ resumption: throwing(times, real.resumption) }) })],
    [
      "recording",
      (times) => {
        const boom = throwing(times, () => Effect.void)
        return { log: appendsAfter(({ records }) => (records.length > 0 ? boom() : Effect.void)) }
      }
    ],
    [
      "all recording",
      (times) => ({
        log: (real) => {
          const append = throwing(times, real.append)
          return {
            append: (appends) =>
              appends.some(({ records }) => records.length > 0) ? append(appends) : real.append(appends)
          }
        }
      })
    ]
  ]

  it.effect("rule C10: an abort ends a turn at once whose every run is stopped by a defect, as aborted", () =>
    withService(
      { scripts: [], store: (real) => ({ resumption: throwing(50, real.resumption) }) },
      function* ({ conversations, store }) {
        const c = yield* conversations.create({})
        yield* Logged.accept({ turnId: id("a"), conversationId: c, prompt: "Hi", acceptedAt: 0 })
        yield* conversations.prompt(c, { prompt: "Hi", turnId: id("a") })
        // The clock stands still: the abort does not wait for the next run.
        assert.isTrue(yield* conversations.abort(c))
        const { end } = Option.getOrThrow(yield* store.turn(id("a")))
        assert.deepStrictEqual([end?.status, end?.error], ["aborted", undefined])
      }
    )
  )

  for (const [what, broken] of cases) {
    const run = (times: number) =>
      withService({ scripts: [0, 1, 2, 3, 4].map(() => answer("one")), ...broken(times) }, function* (service) {
        const { conversations } = service
        const c = yield* conversations.create({})
        // The first turn of a conversation is not read from the disk.
        yield* Logged.accept({ turnId: id("zero"), conversationId: c, prompt: "Hi", acceptedAt: 0 })
        yield* conversations.prompt(c, { prompt: "Hi", turnId: id("zero") })
        const watcher = yield* watching(conversations.watch(c, 0))
        const ended = yield* asking(conversations.result(id("zero")))
        yield* Effect.repeat(TestClock.adjust("1 second"), { until: () => ended.pollUnsafe() !== undefined })
        const { end } = yield* Fiber.join(ended)
        assert.strictEqual(end.status, times < 3 ? "completed" : "failed")
        if (what === "reading the turn") assert.strictEqual(end.endedAt, 2_000) // a second behind each defect
        if (times >= 3) {
          assert.deepInclude(end.error, { reason: "unknown", retryable: false, defect: true })
          assert.include(end.error?.message, "3 times")
          assert.include(end.error?.message, "boom")
        }
        yield* watcher.until("turn-end")
        assert.strictEqual(watcher.types().filter((type) => type === "turn-end").length, 1)
        // No turn is behind it any more.
        assert.strictEqual((yield* conversations.state(c)).status, "idle")
      })
    it.effect(`rule C10: ${what}, fails twice: the turn continues`, () => run(2))
    it.effect(`rule C10: ${what}, fails three times: the turn is sealed as failed, once`, () => run(3))
  }
})

describe("a record that cannot be written as text", () => {
  it.effect("rule C10: fails its own turn, with the reason, and none of those that are written with it", () => {
    const gate = Deferred.makeUnsafe<void>()
    let running = 0
    const toolbox: Toolbox.Toolbox["Service"] = {
      definitions: [{ name: "read", inputSchema: {}, isIdempotent: true }],
      run: ({ toolCallId }) =>
        Effect.as(
          Effect.suspend(() => {
            running++
            return Deferred.await(gate)
          }),
          { output: toolCallId === "bad" ? NO_JSON : "good", isError: false }
        )
    }
    const calling = (toolCallId: string) =>
      ScriptedProvider.tools({ type: "tool-call", toolCallId, toolName: "read", input: {} })
    // The first result begins a pass, and those that come meanwhile are of the next one.
    const names = ["one", "bad", "two"]
    return withService(
      { scripts: [...names.map(calling), ...names.map(() => answer("Well."))], tools: toolsOf(toolbox) },
      function* ({ conversations }) {
        const results = yield* Effect.forEach(names, (name, n) =>
          Effect.gen(function* () {
            const c = yield* conversations.create({})
            yield* conversations.prompt(c, { prompt: "Read.", turnId: id(name) })
            yield* Effect.repeat(Effect.yieldNow, { until: () => running > n })
            return yield* asking(conversations.result(id(name)))
          })
        )
        yield* Deferred.succeed(gate, undefined)
        const [one, bad, two] = results
        // The clock stands still: neither is run again.
        for (const turn of [one, two])
          assert.strictEqual((yield* Fiber.join(turn ?? assert.fail())).end.status, "completed")
        yield* Effect.repeat(TestClock.adjust("1 second"), { until: () => bad?.pollUnsafe() !== undefined })
        const { end } = yield* Fiber.join(bad ?? assert.fail())
        assert.strictEqual(end.status, "failed")
        assert.include(end.error?.message, "The record step/0/tool/0 cannot be written as text")
      }
    )
  })
})

/** A value that `JSON.stringify` refuses, as a tool of another program's may return. */
const NO_JSON = 1n as unknown as Schema.Json

describe("a conversation", () => {
  it.effect("rule P15: switched off while a prompt is being accepted is switched off for that prompt", () => {
    const read = Deferred.makeUnsafe<void>()
    const isSwitched = Deferred.makeUnsafe<void>()
    let isFirst = true
    return withService(
      {
        scripts: [emits(overloaded)],
        store: (real) => ({
          conversation: (c) =>
            Effect.tap(real.conversation(c), () => {
              if (!isFirst) return Effect.void
              isFirst = false
              return Effect.andThen(Deferred.succeed(read, undefined), Deferred.await(isSwitched))
            })
        })
      },
      function* ({ conversations }) {
        const c = yield* conversations.create({})
        const prompt = yield* Effect.forkChild(conversations.prompt(c, { prompt: "Hi", turnId: id("a") }))
        yield* Deferred.await(read)
        yield* conversations.change({ type: "set-auto-retry", conversationId: c, enabled: false })
        yield* Deferred.succeed(isSwitched, undefined)
        yield* Fiber.join(prompt)
        assert.isFalse((yield* conversations.state(c)).autoRetryEnabled)
        const { end } = yield* conversations.result(id("a"))
        assert.deepStrictEqual([end.status, end.attempts], ["failed", 1])
      }
    )
  })

  it.effect("a change of the model holds for turns that are accepted after it, and queued ones keep theirs", () => {
    const reached = Deferred.makeUnsafe<void>()
    return withService(
      { scripts: [hangs(reached), answer("two"), answer("three")] },
      function* ({ conversations, provider }) {
        const c = yield* conversations.create({})
        const before = (yield* conversations.state(c)).model
        const other = `${before}-2`
        yield* conversations.prompt(c, { prompt: "1", turnId: id("a") })
        yield* conversations.prompt(c, { prompt: "2", turnId: id("b") })
        yield* Deferred.await(reached)
        yield* conversations.change({ type: "set-model", conversationId: c, model: other })
        yield* conversations.prompt(c, { prompt: "3", turnId: id("c") })
        assert.deepStrictEqual(yield* conversations.counts, { running: 1, retrying: 0, queued: 2 })
        yield* conversations.abort(c)
        yield* conversations.result(id("c"))
        const targets = provider.requests.map(({ target }) => Target.format(target))
        assert.deepStrictEqual(targets, [before, before, other])
        assert.strictEqual((yield* conversations.state(c)).model, other)
        const refused = yield* Effect.flip(
          conversations.change({ type: "set-model", conversationId: c, model: "nowhere/m" })
        )
        assert.match(refused.message, /^model: expected "provider\/model" with a provider of the configuration/)
      }
    )
  })

  it.effect("a change of the model leaves the one of a turn that waits on disk", () =>
    withService({ scripts: [emits(overloaded)], retry: waits(60) }, function* ({ conversations }) {
      const c = yield* conversations.create({})
      const { model } = yield* conversations.state(c)
      yield* conversations.prompt(c, { prompt: "1", turnId: id("a") })
      yield* Effect.repeat(conversations.counts, { until: ({ retrying }) => retrying === 1 })
      yield* conversations.change({ type: "set-model", conversationId: c, model: `${model}-2` })
      assert.strictEqual((yield* conversations.state(c)).model, model)
    })
  )

  it.effect("rule M1: the same manual retry again is the same turn, whatever has happened since", () =>
    withService(
      { scripts: [emits(unauthorized), answer("whole"), answer("next")] },
      function* ({ conversations, provider }) {
        const c = yield* conversations.create({})
        assert.include((yield* Effect.flip(conversations.retry(c, {}))).message, "the conversation has no turn yet.")
        yield* conversations.prompt(c, { prompt: "Hi", turnId: id("a") })
        const taken = yield* Effect.flip(conversations.prompt(c, { prompt: "Other", turnId: id("a") }))
        assert.strictEqual(taken.message, "The turn id a belongs to another turn. Choose a new one.")
        yield* conversations.result(id("a"))
        yield* conversations.retry(c, { turnId: id("r") })
        yield* conversations.prompt(c, { prompt: "And?", turnId: id("b") })
        yield* conversations.result(id("b"))
        assert.strictEqual(yield* conversations.retry(c, { turnId: id("r") }), id("r"))
        assert.deepStrictEqual([(yield* conversations.result(id("r"), c)).text, provider.requests.length], ["whole", 3])
        assert.strictEqual((yield* Effect.flip(conversations.retry(c, {})))._tag, "TurnConflict")
        // Another id is another retry, of a turn that was answered.
        assert.strictEqual((yield* Effect.flip(conversations.retry(c, { turnId: id("s") })))._tag, "TurnConflict")
        assert.strictEqual(provider.requests.length, 3)
      }
    )
  )
})

describe("a conversation with settings of its own", () => {
  it.effect("rule P3: is refused if they are invalid, with found and expected values of every fault at once", () =>
    withService({ scripts: [] }, function* ({ conversations }) {
      const retry = { profil: "overnight", budget: "8h", schedule: { type: "steps", delays: ["5 seconds", 7] } }
      const { message } = yield* Effect.flip(conversations.create({ retry }))
      assert.match(message, /^retry\.profil: unknown key\. Did you mean "profile"\? Known here: profile, enabled, /)
      for (const part of [
        'retry.schedule.delays[1]: found 7; expected a string such as "30 minutes" or "100 millis".',
        'retry.budget: found "8h"; expected a duration such as "30 minutes", "8 hours" or "100 millis". Did you mean "8 hours"?'
      ]) {
        assert.include(message, part)
      }
    })
  )

  it.effect("rule P3: is refused unread if they are longer than any settings", () =>
    withService({ scripts: [] }, function* ({ conversations }) {
      const refusal = (n: number) => Effect.flip(conversations.create({ retry: { profil: "x".repeat(n - 13) } }))
      for (const length of [65_537, 600_040]) {
        const expected = `retry: it has ${length} characters as JSON; expected 65536 at most.`
        assert.strictEqual((yield* refusal(length)).message, expected)
      }
      assert.match((yield* refusal(65_536)).message, /^retry\.profil: unknown key\./)
    })
  )

  it.effect("rule X15: has a system prompt and tools of the configuration by their names, and no others", () =>
    withService(
      { scripts: [answer("Fine")], systemPrompts: { reviewer: "Find mistakes." } },
      function* ({ conversations, provider, store }) {
        const id = yield* conversations.create({ system: { name: "reviewer" }, tools: [] })
        const turnId = yield* conversations.prompt(id, { prompt: "Hi" })
        yield* conversations.result(turnId)
        assert.strictEqual(provider.requests[0]?.system, "Find mistakes.")
        assert.deepStrictEqual(Option.getOrThrow(yield* store.conversation(id)).tools, [])
        const refusal = (options: CreateOptions) =>
          Effect.map(Effect.flip(conversations.create(options)), ({ message }) => message)
        const noPrompt = 'system.name: there is no system prompt "toString"; the configuration has reviewer.'
        assert.strictEqual(yield* refusal({ system: { name: "toString" } }), noPrompt)
        assert.match(yield* refusal({ model: "nowhere/m" }), /^model: expected .*\(test\), got "nowhere\/m"\.$/)
        const noServer = 'tools[0]: there is no tool server "search"; the configuration has no `tools`.'
        assert.strictEqual(yield* refusal({ tools: ["search"] }), noServer)
      }
    )
  )

  it.effect("a start that cannot read the unfinished turns refuses calls with the reason, until it can", () => {
    const damaged = new StorageError({ message: "Could not read the turns: the file is damaged." })
    let isDamaged = true
    return withService(
      {
        scripts: [],
        log: (real) => ({ tail: (of) => Effect.suspend(() => (isDamaged ? Effect.fail(damaged) : real.tail(of))) })
      },
      function* ({ conversations }) {
        const id = yield* conversations.create({})
        for (const call of [
          conversations.prompt(id, { prompt: "Hi" }),
          conversations.state(id),
          conversations.messages(id),
          conversations.abort(id)
        ]) {
          const asked = yield* Effect.forkChild(Effect.exit(Effect.asVoid<unknown, unknown, never>(call)), {
            startImmediately: true
          })
          yield* TestClock.adjust("7999 millis")
          assert.isUndefined(asked.pollUnsafe())
          yield* TestClock.adjust("1 milli")
          const exit = yield* Fiber.join(asked)
          assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "it was taken", damaged.message)
        }
        isDamaged = false
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual((yield* conversations.state(id)).status, "idle")
      }
    )
  })
})
