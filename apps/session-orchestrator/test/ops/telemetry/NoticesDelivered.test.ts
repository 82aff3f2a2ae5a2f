/** Tests the way from observations of turns to receivers: database, log and order. */
import { assert, describe, it } from "@effect/vitest"
import { Timer } from "@holdfast/journal"
import type { Observer } from "@holdfast/kernel"
import { type Failure, Ids } from "@holdfast/wire"
import { Context, Effect, Exit, Layer, Metric, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Deliveries from "../../../src/ops/delivery/Deliveries.ts"
import { Outbox } from "../../../src/storage/Outbox.ts"
import * as MemoryStore from "../../storage/MemoryStore.ts"
import * as Notifications from "../../../src/ops/telemetry/incidents/Notifications.ts"
import { SharedMemory, started } from "./incidents/SharedMemory.ts"
import * as Observations from "./Observations.ts"
import * as It from "../../It.ts"

const MINUTE = 60_000

/** The listeners of a service; without a given database it has no receivers. */
const start = (given?: SharedMemory) =>
  started(given ?? new SharedMemory(), {
    redact: (text) => text.replaceAll("planted", "[redacted]"),
    receivers: { names: given === undefined ? [] : ["webhook", "command"] },
    isAlone: true
  })

/** Notices of a database, by type and model. */
const told = (memory: SharedMemory) => memory.notices().map(({ model, type }) => `${type} ${model}`)

/** Runs a test; `said` has the log lines. */
const logging = (test: It.Body<[said: ReadonlyArray<string>], Timer.Timer | Scope.Scope>) => {
  const { layer, lines } = It.logged()
  return Effect.gen(() => test(lines)).pipe(
    Effect.scoped,
    Effect.provide(Timer.layer),
    Effect.provide(layer),
    Effect.provideService(Metric.MetricRegistry, new Map())
  )
}

const logged = (title: string, test: Parameters<typeof logging>[0]) => it.effect(title, () => logging(test))

const conversation = (n: number) => Ids.ConversationId.make(`c${n}`)
const at = (model: string) => ({ provider: "openai", model })

const waits = (listeners: Observer.Listeners, over: Partial<Observer.Decided> = {}, delayMs = 3_600_000): void =>
  listeners.decision?.(Observations.retry(over.at ?? 0, delayMs, over))

const fails = (listeners: Observer.Listeners, n: number, model: string, over: object = {}): void =>
  listeners.seal?.({
    ...Observations.seal({ status: "failed", endedAt: 0, error: Observations.overloaded, ...over }),
    conversationId: conversation(n),
    target: at(model)
  })

describe("a notice", () => {
  logged("Notifications.N2: is in the outbox with its transition, once for each receiver, in its order", function* () {
    const memory = new SharedMemory()
    const listeners = yield* start(memory)
    waits(listeners)
    yield* TestClock.adjust(6 * MINUTE)
    assert.strictEqual(memory.rows.size, 1)
    listeners.attempt?.(Observations.attempt({ outcome: { ...Observations.completed, endedAt: 6 * MINUTE } }))
    yield* TestClock.adjust(MINUTE)
    assert.strictEqual(memory.rows.size, 0)
    assert.deepStrictEqual(
      memory.messages.map(({ id, lane }) => [lane, id]),
      ["began", "ended"].flatMap((what) =>
        ["webhook", "command"].map((to) => [`notices/${to}`, `openai/gpt-5@0/incident-${what}/${to}`])
      )
    )
    const { writes } = memory
    yield* TestClock.adjust(10 * MINUTE)
    assert.strictEqual(memory.writes, writes)
  })

  logged("Notifications.N3: reaches each receiver by itself; a refusal is logged without secrets", function* (said) {
    const outbox = Context.get(yield* Layer.build(MemoryStore.layer), Outbox)
    const refusal: Failure.Failure = { reason: "auth", message: "No planted here", retryable: false }
    const memory = new SharedMemory()
    waits(yield* start(memory))
    yield* TestClock.adjust(6 * MINUTE)
    yield* outbox.add(memory.messages)
    const taken: Array<string> = []
    const sends: Readonly<Record<string, Deliveries.SendMessage>> = {
      webhook: () => Effect.fail(refusal),
      command: ({ id }) => Effect.sync(() => void taken.push(id))
    }
    const options: Deliveries.Options = {
      outbox,
      redact: (text) => text.replaceAll("planted", "[redacted]"),
      kindOf: ({ receiver }) => {
        const send = sends[receiver]
        return send && { patience: Deliveries.OF_NOTICES, send }
      }
    }
    const { idle, look } = yield* Deliveries.make(options)
    yield* look
    yield* idle
    assert.deepStrictEqual(taken, ["openai/gpt-5@0/incident-began/command"])
    assert.deepStrictEqual(
      said.filter((line) => !line.startsWith("Info")),
      ["Error Notice openai/gpt-5@0/incident-began/webhook was given up after 1 attempt(s): No [redacted] here"]
    )
    const count = (receiver: string, outcome: string) =>
      Effect.map(
        Metric.value(Metric.withAttributes(Deliveries.notices, { receiver, outcome })),
        ({ count, incremental }) => incremental && count
      )
    const counts = ["webhook", "command"].flatMap((to) => [count(to, "refused"), count(to, "taken")])
    assert.deepStrictEqual(yield* Effect.all(counts), [1, 0, 0, 1])
  })

  logged("of an incident is in the log, with receivers or without; `TurnLog` logs failed turns", function* (said) {
    const listeners = yield* start()
    waits(listeners)
    fails(listeners, 2, "other")
    yield* TestClock.adjust(0)
    yield* TestClock.adjust(5 * MINUTE)
    assert.lengthOf(said, 1)
    assert.match(said[0] ?? "", /^Info openai\/gpt-5 has answered no turn for 5 m /)
  })
})

describe("an observation of a turn", () => {
  /** The notices of six minutes. */
  const noticesOf = (test: (listeners: Observer.Listeners) => void) =>
    Effect.gen(function* () {
      const memory = new SharedMemory()
      yield* logging(function* () {
        test(yield* start(memory))
        yield* TestClock.adjust(6 * MINUTE)
      })
      return { told: told(memory), taken: memory.notices() }
    })

  It.effect("rule X12: a wait begins an incident, at the endpoint that the turn waits for", function* () {
    const busy = { ...Observations.overloaded, message: "Busy" }
    const { taken } = yield* noticesOf((listeners) => {
      waits(listeners)
      waits(listeners, { failure: busy })
      waits(listeners, { conversationId: conversation(2), target: at("b"), failure: { ...busy, status: 503 } })
    })
    assert.deepStrictEqual(
      taken.map(({ code, message, model, type }) => [type, model, message, code].join(" ")),
      ["incident-began gpt-5 Busy 529", "incident-began b Busy 503"]
    )
    const route = { target: at("spare") }
    const elsewhere = yield* noticesOf((listeners) =>
      waits(listeners, { directive: { _tag: "Retry", attempt: 0, delayMs: 3_600_000, retryAt: 3_600_000, route } })
    )
    assert.deepStrictEqual(elsewhere.told, ["incident-began spare"])
    const gaveUp = yield* noticesOf((listeners) =>
      waits(listeners, { directive: { _tag: "GiveUp", because: "exhausted" } })
    )
    assert.deepStrictEqual(gaveUp.told, [])
  })

  It.effect("rule X12: a complete response is an answer though it is invalid (A9), a part is none", function* () {
    const answers = (over: object) =>
      Effect.map(
        noticesOf((listeners) => {
          waits(listeners)
          listeners.attempt?.(Observations.attempt({ outcome: { ...Observations.failed, endedAt: 1_000, ...over } }))
        }),
        ({ told }) => told
      )
    assert.deepStrictEqual(yield* answers({ whole: true }), [])
    assert.deepStrictEqual(yield* answers({}), ["incident-began gpt-5"])
  })

  logged("rule X12: a turn that switches to another endpoint waits for the first no more", function* () {
    const listeners = yield* start()
    const open = Effect.map(Metric.value(Notifications.openIncidents), ({ value }) => value)
    waits(listeners)
    waits(listeners, { conversationId: conversation(2) })
    waits(listeners, { target: at("gone"), directive: { _tag: "GiveUp", because: "exhausted" } })
    yield* TestClock.adjust(5 * MINUTE)
    assert.strictEqual(yield* open, 1)
    waits(listeners, { at: 5 * MINUTE }, 0)
    assert.strictEqual(yield* open, 1)
    listeners.wait?.(Observations.wait({ conversationId: conversation(2), at: 5 * MINUTE }))
    assert.strictEqual(yield* open, 1)
    const by = { commandId: Ids.CommandId.make("k"), origin: "a test" }
    const wake = { type: "switched" as const, target: at("other"), by }
    listeners.wait?.(Observations.wait({ conversationId: conversation(2), at: 5 * MINUTE, wake }))
    assert.strictEqual(yield* open, 0)
  })

  It.effect("rule X12: a turn that asks at a limit of spending waits for no endpoint", function* () {
    const limit = { ...Observations.overloaded, reason: "quota-exhausted", code: "spend-limit", shared: true } as const
    const { told } = yield* noticesOf((listeners) => waits(listeners, { failure: limit }))
    assert.deepStrictEqual(told, [])
  })

  It.effect("rule X12: failed turns are reported with the cause, cut, without secrets; others are not", function* () {
    const { taken, told } = yield* noticesOf((listeners) => {
      const error = { ...Observations.overloaded, message: `planted ${"x".repeat(2_000)}` }
      fails(listeners, 1, "a", { error })
      fails(listeners, 2, "b", { status: "completed" })
      fails(listeners, 3, "c", { error: undefined })
    })
    assert.deepStrictEqual(told.toSorted(), ["turns-failed a", "turns-failed c"])
    const [a, c] = taken.toSorted((x, y) => (x.model < y.model ? -1 : 1))
    assert.match(a?.message ?? "", /^\[redacted\] x+…$/)
    assert.lengthOf(a?.message ?? "", 1_000)
    assert.strictEqual(a?.code, "529")
    assert.deepInclude(c, { reason: "unknown", message: "no error was recorded" })
  })

  logged("is in the database within five seconds, and when the service shuts down", function* () {
    const memory = new SharedMemory()
    const scope = yield* Scope.make()
    const listeners = yield* Scope.provide(start(memory), scope)
    waits(listeners)
    yield* TestClock.adjust("4999 millis")
    assert.strictEqual(memory.writes, 0)
    yield* TestClock.adjust("1 milli")
    assert.deepStrictEqual([memory.writes, memory.rows.size], [1, 1])
    waits(listeners, { conversationId: conversation(2), target: at("other"), at: 5_000 })
    yield* Scope.close(scope, Exit.void)
    assert.deepStrictEqual([memory.writes, memory.rows.size], [2, 2])
    // The next process reports what had begun before it.
    yield* start(memory)
    yield* TestClock.adjust(6 * MINUTE)
    assert.deepStrictEqual(told(memory).toSorted(), ["incident-began gpt-5", "incident-began other"])
  })

  logged("of a failed turn is in the database at once", function* () {
    const memory = new SharedMemory()
    const listeners = yield* start(memory)
    fails(listeners, 1, "gpt-5")
    yield* TestClock.adjust(0)
    assert.strictEqual(memory.writes, 1)
  })
})
