/** Which events of a provider a turn reads, and where it stops reading. */
import { assert, describe, it } from "@effect/vitest"
import { Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Effect, Exit, Layer } from "effect"
import * as Checkpoint from "../src/ports/Checkpoint.ts"
import { EventSink } from "../src/ports/EventSink.ts"
import { Provider, type ProviderEvent } from "../src/ports/Provider.ts"
import * as Toolbox from "../src/ports/Toolbox.ts"
import * as Turn from "../src/turn/Turn.ts"
import { TurnStopped } from "../src/ports/TurnStopped.ts"

const { bothWays, settle } = Scenario
const { answer, call, finish, overloaded, text } = ScriptedProvider

const reasoning = (delta: string): ProviderEvent => ({ type: "reasoning-delta", delta })
const usage: ProviderEvent = { type: "usage", usage: { inputTokens: 7, outputTokens: 3 } }
const error: ProviderEvent = { type: "error", failure: { ...overloaded, retryable: false } }

const script = (...reads: ReadonlyArray<ReadonlyArray<ProviderEvent>>): ScriptedProvider.Script => ({
  reads,
  end: Effect.void
})

/** How the events after the end come: in the same read, or in later reads. */
const behind = [
  [
    "in the same read",
    (before: ReadonlyArray<ProviderEvent>, after: ReadonlyArray<ProviderEvent>) => [[...before, ...after]]
  ],
  ["later", (before: ReadonlyArray<ProviderEvent>, after: ReadonlyArray<ProviderEvent>) => [before, after]]
] as const

describe("the events of a response", () => {
  for (const [when, reads] of behind) {
    bothWays(`rule C6: no event is read after its finish, ${when}`, (start) =>
      Effect.gen(function* () {
        const run = yield* start({ scripts: [script(...reads([text("said"), finish], [text("unsaid"), error]))] })
        assert.strictEqual((yield* settle(run)).status, "completed")
        assert.strictEqual(run.sink.shown, "said")
      })
    )

    bothWays(`rule C3: no event is read after its error, ${when}`, (start) =>
      Effect.gen(function* () {
        const run = yield* start({ scripts: [script(...reads([text("said"), error], [text("unsaid"), finish]))] })
        const end = yield* settle(run)
        assert.deepStrictEqual([end.status, end.error?.message], ["failed", overloaded.message])
        assert.strictEqual(run.sink.shown, "said")
      })
    )

    bothWays(`rule C11: no event is read after the limit is exceeded, ${when}`, (start) =>
      Effect.gen(function* () {
        const limits = { maxResponseCharacters: 1_000 }
        const scripts = [script(...reads([text("said"), text("x".repeat(1_000))], [text("unsaid"), finish]))]
        const run = yield* start({ scripts, limits })
        const end = yield* settle(run)
        assert.deepStrictEqual([end.status, end.error?.reason], ["failed", "invalid-response"])
        assert.strictEqual(run.sink.shown, "said")
      })
    )
  }

  bothWays(
    "rule C8: neighbouring deltas of one kind in a read are one event, and do not wait for the next read",
    (start) =>
      Effect.gen(function* () {
        const reads = [
          [reasoning("a"), reasoning("b"), text("c"), text(""), text("d"), call("look"), text("e"), usage, text("f")],
          [text("g"), text("h")],
          [text("i"), finish]
        ]
        const run = yield* start({ scripts: [script(...reads), answer("ok")] })
        yield* settle(run)
        assert.deepStrictEqual(
          run.sink.events.flatMap((event) => ("delta" in event ? [[event.type, event.delta]] : [])),
          [
            ["reasoning-delta", "ab"],
            ["text-delta", "cd"],
            ["text-delta", "e"],
            ["text-delta", "f"],
            ["text-delta", "gh"],
            ["text-delta", "i"],
            ["text-delta", "ok"]
          ]
        )
        const [, message] = run.sink.of("message").map((event) => event.message)
        assert.deepStrictEqual<unknown>(message?.content, [
          { type: "reasoning", text: "ab" },
          { type: "text", text: "cd" },
          call("look"),
          { type: "text", text: "efghi" }
        ])
      })
  )

  bothWays("rule C8: an empty delta is not emitted, and is no part of a message", (start) =>
    Effect.gen(function* () {
      const reads = [text(""), reasoning(""), reasoning("hm"), reasoning(""), text(""), text("a"), text(""), finish]
      const run = yield* start({ scripts: [script(reads)] })
      yield* settle(run)
      const deltas = [...run.sink.of("text-delta"), ...run.sink.of("reasoning-delta")]
      assert.deepStrictEqual(deltas.map(({ delta }) => delta).toSorted(), ["a", "hm"])
      assert.deepStrictEqual<unknown>(run.sink.of("message").at(-1)?.message.content, [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "a" }
      ])
    })
  )

  bothWays("rule C8: an empty delta alone is no content: a failure after it is retried", (start) =>
    Effect.gen(function* () {
      for (const empty of [text(""), reasoning("")]) {
        const failing = ScriptedProvider.throws(overloaded, empty)
        const run = yield* start({ scripts: [failing, answer("ok")], strategy: TestStrategy.make() })
        assert.strictEqual((yield* settle(run)).status, "completed")
      }
    })
  )

  bothWays("the usage of a response is kept, whatever follows it", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [
          script([usage, { type: "reasoning-end", signature: "s" }, text("a"), call("look"), finish]),
          script([finish])
        ]
      })
      assert.deepStrictEqual((yield* settle(run)).usage, { inputTokens: 7, outputTokens: 3 })
    })
  )

  const openings: ReadonlyArray<readonly [string, ReadonlyArray<ReadonlyArray<ProviderEvent>>]> = [
    ["an empty delta", [[text("")], [text("Hello")]]],
    ["empty deltas in several reads", [[text("")], [reasoning("")], [text("Hello")]]],
    ["an empty delta in the same read", [[text(""), text("Hello")]]]
  ]
  it.effect.each(openings)("rule X2: a response that opens with %s does not begin again unseen", ([, reads]) =>
    Effect.gen(function* () {
      let deaths = 1
      const dying = Scenario.dying((name) => /\/attempt\/\d+$/.test(name) && deaths-- > 0)
      const run = yield* dying({ scripts: [script(...reads, [finish]), answer("Hello")] })
      assert.strictEqual((yield* settle(run)).status, "completed")
      assert.strictEqual(run.sink.shown, "HelloHello")
      assert.strictEqual(run.sink.of("step-discarded").length, 1)
    })
  )

  bothWays("rule M3: an attempt that something else interrupts counts as aborted, and may be retried", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [{ reads: [], end: Effect.interrupt }] })
      const { error } = yield* settle(run)
      assert.deepInclude(error, { reason: "aborted", retryable: true })
    })
  )
})

describe("a turn whose ports fail", () => {
  /** The end of a turn over a provider and a checkpoint, and its persisted events. */
  const ends = (provider: Provider["Service"], checkpoint: Checkpoint.Checkpoint["Service"]) =>
    Effect.gen(function* () {
      const persisted: Array<string> = []
      const sink: EventSink["Service"] = {
        live: () => {},
        persist: (events) => Effect.sync(() => void persisted.push(...events.map(({ type }) => type)))
      }
      const { conversationId, target, turnId } = Scenario
      const input = { conversationId, turnId, target, history: [], prompt: "Hello", startedAt: 0 }
      const exit = yield* Effect.exit(Turn.runTurn(input)).pipe(
        Effect.provide(
          Layer.mergeAll(
            Layer.succeed(Provider, provider),
            Layer.succeed(EventSink, sink),
            Layer.succeed(Checkpoint.Checkpoint, checkpoint),
            Toolbox.layerNoop
          )
        )
      )
      return { exit, persisted }
    })

  const stopped = new TurnStopped({ message: "another runner has it" })
  const memory = Effect.provide(Effect.service(Checkpoint.Checkpoint), Checkpoint.layerMemory)

  it.effect("rule X2: stops unsealed, and without content, if its mark cannot be recorded", () =>
    Effect.gen(function* () {
      const inner = yield* memory
      const { exit, persisted } = yield* ends(ScriptedProvider.make([answer("Hello")]), {
        ...inner,
        mark: () => Effect.fail(stopped)
      })
      assert.deepStrictEqual(exit, Exit.fail(stopped))
      assert.deepStrictEqual(persisted, ["turn-start", "message"])
    })
  )
})
