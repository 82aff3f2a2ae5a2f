/** Tests the way from observations of turns to receivers: file, log and order. */
import { assert, describe, it } from "@effect/vitest"
import { Timer } from "@holdfast/journal"
import type { Observer } from "@holdfast/kernel"
import { type Failure, Ids } from "@holdfast/wire"
import { Duration, Effect, Exit, Logger, Metric, Scope } from "effect"
import { TestClock } from "effect/testing"
import type * as Delivery from "../../src/telemetry/incidents/Delivery.ts"
import * as IncidentFile from "../../src/telemetry/incidents/IncidentFile.ts"
import type { Notice } from "../../src/telemetry/incidents/Notice.ts"
import * as Notifications from "../../src/telemetry/incidents/Notifications.ts"
import * as Outbox from "../../src/telemetry/incidents/Outbox.ts"
import * as Observations from "./Observations.ts"

const MINUTE = 60_000

/** A file in memory. */
const memory = (content: IncidentFile.Content = IncidentFile.EMPTY) => {
  const state = { content, writes: 0 }
  const file: IncidentFile.IncidentFile = {
    read: Effect.sync(() => state.content),
    write: (content) =>
      Effect.sync(() => {
        state.writes++
        state.content = content
      })
  }
  return { state, file }
}

/** Accepts notices and records them. */
const taking = () => {
  const taken: Array<Notice> = []
  const deliver: Delivery.Deliver = (notice) => Effect.sync(() => void taken.push(notice))
  return { taken, deliver, told: () => taken.map(({ target, type }) => `${type} ${target.model}`) }
}

const start = (
  receivers: ReadonlyArray<readonly [IncidentFile.Receiver, Delivery.Deliver]>,
  file: IncidentFile.IncidentFile = IncidentFile.none
) =>
  Effect.flatMap(Timer.Timer, (timer) =>
    Notifications.make({
      after: Duration.minutes(5),
      receivers: new Map(receivers),
      file,
      timer,
      redact: (text) => text.replaceAll("planted", "[redacted]")
    })
  )

/** Runs a test; `said` has the log lines. */
const logged = <E>(test: (said: ReadonlyArray<string>) => Effect.Effect<void, E, Timer.Timer | Scope.Scope>) => {
  const said: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => void said.push(`${logLevel} ${String(message)}`))
  return Effect.suspend(() => test(said)).pipe(
    Effect.scoped,
    Effect.provide(Timer.layer),
    Effect.provide(Logger.layer([logger])),
    Effect.provideService(Metric.MetricRegistry, new Map())
  )
}

const conversation = (n: number) => Ids.ConversationId.make(`c${n}`)
const at = (model: string) => ({ provider: "openai", model })

const waits = (listeners: Observer.Listeners, over: Partial<Observer.Decided> = {}, delayMs = 3_600_000): void => {
  const decided = over.at ?? 0
  listeners.decision?.(
    Observations.decision({
      at: decided,
      directive: { _tag: "Retry", attempt: 0, delayMs, retryAt: decided + delayMs },
      ...over
    })
  )
}

const fails = (listeners: Observer.Listeners, n: number, model: string, over: object = {}): void =>
  listeners.seal?.({
    ...Observations.seal({ status: "failed", endedAt: 0, error: Observations.overloaded, ...over }),
    conversationId: conversation(n),
    target: at(model)
  })

const notice: Notice = {
  type: "incident-began",
  incidentId: "openai/gpt-5@0",
  target: at("gpt-5"),
  since: 0,
  at: 1,
  said: { reason: "overloaded", message: "Overloaded" },
  waiting: 1
}

describe("a notice", () => {
  it.effect("Notifications.N2: is in the file before it is sent, and is removed when it was delivered", () =>
    logged(() =>
      Effect.gen(function* () {
        const { file, state } = memory()
        const kept: Array<number> = []
        const deliver = () => Effect.sync(() => void kept.push(state.content.outgoing.length))
        waits(yield* start([["webhook", deliver]], file))
        yield* TestClock.adjust(5 * MINUTE)
        assert.deepStrictEqual(kept, [1])
        assert.deepStrictEqual(state.content.outgoing, [])
        assert.lengthOf(state.content.troubles, 1)
        const { writes } = state
        yield* TestClock.adjust(10 * MINUTE)
        assert.strictEqual(state.writes, writes)
      })
    )
  )

  it.effect("Notifications.N2: of an earlier process is sent, to the receivers of this one", () =>
    logged(() =>
      Effect.gen(function* () {
        const outgoing = [
          { to: "webhook", notice },
          { to: "command", notice }
        ] as const
        const { file, state } = memory({ ...IncidentFile.EMPTY, outgoing })
        const webhook = taking()
        yield* start([["webhook", webhook.deliver]], file)
        yield* TestClock.adjust(MINUTE)
        assert.deepStrictEqual(webhook.taken, [notice])
        assert.deepStrictEqual(state.content.outgoing, [])
      })
    )
  )

  it.effect("Notifications.N3: reaches each receiver in order, whatever the other one does", () =>
    logged(() =>
      Effect.gen(function* () {
        const command = taking()
        const listeners = yield* start([
          ["webhook", () => Effect.never],
          ["command", command.deliver]
        ])
        waits(listeners)
        yield* TestClock.adjust(5 * MINUTE)
        listeners.attempt?.(Observations.attempt({ outcome: { ...Observations.completed, endedAt: 5 * MINUTE } }))
        yield* TestClock.adjust(MINUTE)
        assert.deepStrictEqual(command.told(), ["incident-began gpt-5", "incident-ended gpt-5"])
      })
    )
  )

  it.effect("is given up if its receiver refuses it, which is logged without secrets and counted", () =>
    logged((said) =>
      Effect.gen(function* () {
        const refusal: Failure.Failure = { reason: "auth", message: "No planted here", retryable: false }
        const { file, state } = memory()
        const command = taking()
        const listeners = yield* start(
          [
            ["webhook", () => Effect.fail(refusal)],
            ["command", command.deliver]
          ],
          file
        )
        waits(listeners)
        yield* TestClock.adjust(6 * MINUTE)
        assert.deepStrictEqual(
          said.filter((line) => !line.startsWith("Info")),
          [
            "Warn The webhook has not taken a notice (incident-began, openai/gpt-5): No [redacted] here",
            "Error A notice was given up: the webhook did not take it (incident-began, openai/gpt-5): No [redacted] here"
          ]
        )
        assert.deepStrictEqual(state.content.outgoing, [])
        const count = (receiver: string, outcome: string) =>
          Effect.map(
            Metric.value(Metric.withAttributes(Outbox.deliveries, { receiver, outcome })),
            ({ count }) => count
          )
        assert.deepStrictEqual(
          [
            yield* count("webhook", "refused"),
            yield* count("webhook", "taken"),
            yield* count("command", "taken"),
            yield* count("command", "refused")
          ],
          [1, 0, 1, 0]
        )
      })
    )
  )

  it.effect("among the newest hundred waits for a receiver that is down", () =>
    logged(() =>
      Effect.gen(function* () {
        const { file, state } = memory()
        const listeners = yield* start([["webhook", () => Effect.never]], file)
        for (let n = 0; n < 150; n++) {
          fails(listeners, n, `m${n}`, { endedAt: n })
          yield* TestClock.adjust(1)
        }
        yield* TestClock.adjust(MINUTE)
        assert.deepStrictEqual(
          state.content.outgoing.map(({ notice: { target } }) => target.model),
          Array.from({ length: 100 }, (_, n) => `m${n + 50}`)
        )
      })
    )
  )

  it.effect(
    "Notifications.N4: of an incident is in the log, with receivers or without; `TurnLog` logs failed turns",
    () =>
      logged((said) =>
        Effect.gen(function* () {
          const listeners = yield* start([])
          waits(listeners)
          fails(listeners, 2, "other")
          yield* TestClock.adjust(5 * MINUTE)
          assert.lengthOf(said, 1)
          assert.match(said[0] ?? "", /^Info openai\/gpt-5 has answered no turn for 5m /)
        })
      )
  )
})

describe("an observation of a turn", () => {
  /** The notices of six minutes. */
  const noticesOf = (test: (listeners: Observer.Listeners) => void) =>
    Effect.gen(function* () {
      const webhook = taking()
      const told: Array<string> = []
      yield* logged(() =>
        Effect.gen(function* () {
          const listeners = yield* start([["webhook", webhook.deliver]])
          test(listeners)
          yield* TestClock.adjust(6 * MINUTE)
          told.push(...webhook.told())
        })
      )
      return { told, taken: webhook.taken }
    })

  it.effect("X12: a wait begins an incident, at the endpoint that the turn waits for", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* noticesOf((listeners) => waits(listeners))).told, ["incident-began gpt-5"])
      const route = { target: at("spare") }
      const elsewhere = yield* noticesOf((listeners) =>
        waits(listeners, {
          directive: { _tag: "Retry", attempt: 0, delayMs: 3_600_000, retryAt: 3_600_000, route }
        })
      )
      assert.deepStrictEqual(elsewhere.told, ["incident-began spare"])
      const gaveUp = yield* noticesOf((listeners) =>
        waits(listeners, { directive: { _tag: "GiveUp", because: "exhausted" } })
      )
      assert.deepStrictEqual(gaveUp.told, [])
    })
  )

  it.effect("X12: a complete response is an answer although it is invalid (A9), a part of one is none", () =>
    Effect.gen(function* () {
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
  )

  it.effect("X12: a turn that switches to another endpoint waits for the first no more", () =>
    logged(() =>
      Effect.gen(function* () {
        const listeners = yield* start([])
        const open = Effect.map(Metric.value(Notifications.openIncidents), ({ value }) => value)
        waits(listeners)
        waits(listeners, { conversationId: conversation(2) })
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
    )
  )

  it.effect("X12: failed turns are reported with the cause, cut and without secrets; others are not", () =>
    Effect.gen(function* () {
      const { taken, told } = yield* noticesOf((listeners) => {
        const error = { ...Observations.overloaded, message: `planted ${"x".repeat(2_000)}` }
        fails(listeners, 1, "a", { error })
        fails(listeners, 2, "b", { status: "completed" })
        fails(listeners, 3, "c", { error: undefined })
      })
      assert.deepStrictEqual(told.toSorted(), ["turns-failed a", "turns-failed c"])
      const [a, c] = taken.toSorted((x, y) => (x.target.model < y.target.model ? -1 : 1))
      assert.match(a?.said.message ?? "", /^\[redacted\] x+…$/)
      assert.lengthOf(a?.said.message ?? "", 1_000)
      assert.strictEqual(a?.said.code, "529")
      assert.deepStrictEqual(c?.said, { reason: "unknown", message: "no error was recorded" })
    })
  )

  it.effect("Incidents.I4: is saved within five seconds, and when the service shuts down", () =>
    logged(() =>
      Effect.gen(function* () {
        const { file, state } = memory()
        const scope = yield* Scope.make()
        const listeners = yield* Scope.provide(start([], file), scope)
        waits(listeners)
        yield* TestClock.adjust("4999 millis")
        assert.strictEqual(state.writes, 0)
        yield* TestClock.adjust("1 milli")
        assert.deepStrictEqual([state.writes, state.content.troubles.length], [1, 1])
        waits(listeners, { conversationId: conversation(2), target: at("other"), at: 5_000 })
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual([state.writes, state.content.troubles.length], [2, 2])
      })
    )
  )
})
