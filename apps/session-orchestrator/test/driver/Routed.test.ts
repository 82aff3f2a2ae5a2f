/** Tests that turns of any configuration do in groups what they do one by one. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import type { Profile } from "@holdfast/policy"
import { Ids } from "@holdfast/wire"
import { Duration, Effect, Random, References, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import * as Tokenizer from "../../src/tokens/Tokenizer.ts"
import * as TurnUse from "../../src/inspection/TurnUse.ts"
import * as ConversationSetup from "../conversation/ConversationSetup.ts"

const { answer, badGateway, emits, overloaded, throws, unauthorized } = ScriptedProvider

const turnId = Ids.TurnId.make("t")

const failing = fc.constantFrom(
  emits(overloaded),
  throws(badGateway),
  emits(unauthorized),
  emits({ ...unauthorized, reason: "context-overflow" }),
  emits({ ...overloaded, reason: "rate-limited" })
)

/** What a turn may be configured with, besides its waits. */
interface Given {
  /** A chain of other targets, other keys, or both. */
  readonly hasChain?: boolean
  readonly keys?: ReadonlyArray<string>
  readonly hasReport?: boolean
  /** The context window of the other target. */
  readonly window?: number | undefined
  readonly isGuarded?: boolean
  readonly maxTurns?: number | undefined
  /** What follows when nothing is left to spend. */
  readonly spend?: "ask" | "fail" | undefined
}

const givens: fc.Arbitrary<Given> = fc.record({
  hasChain: fc.boolean(),
  keys: fc.constantFrom(["a"], ["a", "b"], ["a", "b", "c"]),
  hasReport: fc.boolean(),
  window: fc.constantFrom(undefined, 2, 1_000),
  isGuarded: fc.boolean(),
  maxTurns: fc.constantFrom(undefined, undefined, 1),
  spend: fc.constantFrom(undefined, undefined, undefined, "ask", "fail")
})

const retryOf = ({ hasChain, hasReport, isGuarded, maxTurns }: Given): Profile.RetrySettings => ({
  ...ConversationSetup.waits(...Array.from({ length: 12 }, () => 10)),
  ...(hasChain && { routing: { type: "fallback-chain", chains: { default: ["other/n"] } } }),
  ...(hasReport && { finalReport: { schema: { type: "object", required: ["sum"] } } }),
  ...(isGuarded && {
    spendGuard: { after: Duration.seconds(15), maxInputTokens: 1, answerWithin: Duration.minutes(1) }
  }),
  ...(maxTurns === undefined ? {} : { maxTurns })
})

const optionsOf = (given: Given, failures: ReadonlyArray<ScriptedProvider.Script>): ConversationSetup.Options => ({
  scripts: [...failures, ...Array.from({ length: 12 }, () => answer("Hi"))],
  retry: retryOf(given),
  credentials: { test: given.keys ?? [], other: [] },
  models: given.window === undefined ? {} : { "other/n": { contextWindow: given.window } },
  spend: given.spend && {
    limits: [{ per: "turn", tokens: 0, then: given.spend, answerWithin: Duration.minutes(1) }],
    prices: {},
    isShared: false,
    reading: TurnUse.reading
  }
})

/** Ids that a service draws. */
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/** The number of draws does not matter. */
const CHANCE = { nextDoubleUnsafe: () => 0.25, nextIntUnsafe: () => 1 }

/** Everything that is possible at one moment has been done. */
const settled = Effect.promise(async () => {
  for (let n = 0; n < 60; n++) await new Promise((resolve) => setImmediate(resolve))
})

/** What one service does: in groups, or in fibers, as with a conversation that has chosen its tools. */
const done = (given: Given, failures: ReadonlyArray<ScriptedProvider.Script>, inGroups: boolean) =>
  Effect.gen(function* () {
    const seen: Array<unknown> = []
    let groups = 0
    yield* Tokenizer.load
    yield* ConversationSetup.withService(
      {
        ...optionsOf(given, failures),
        journal: (real) => ({ appendAll: (appends) => (groups++, real.appendAll(appends)) })
      },
      ({ conversations, journal, provider, store }) =>
        Effect.gen(function* () {
          const c = yield* conversations.create(inGroups ? {} : { tools: [] })
          yield* conversations.prompt(c, { prompt: "Hi", turnId })
          const quiet = Effect.repeat(Effect.andThen(settled, conversations.counts), {
            until: ({ running }) => running === 0
          })
          const { end } = yield* Effect.raceFirst(
            conversations.result(turnId),
            Effect.forever(Effect.andThen(quiet, TestClock.adjust("10 seconds")))
          )
          seen.push(end)
          seen.push((yield* journal.load(turnId)).map(({ name, value }) => [name, value]))
          const events = yield* Stream.runCollect(store.events(c, 0))
          seen.push(events.map(({ event }) => event))
          seen.push(
            provider.requests.map(({ attempt, credential, step, target }) => ({ attempt, credential, step, target }))
          )
        })
    )
    return { groups, seen: JSON.parse(JSON.stringify(seen).replaceAll(UUID, "")) as unknown }
  }).pipe(
    Effect.provide(TestClock.layer()),
    Effect.provideService(Random.Random, CHANCE),
    Effect.provideService(References.MinimumLogLevel, "None"),
    Effect.scoped
  )

describe("a turn of any configuration", () => {
  it("rule X1: has the records, events and calls in a group that it has in a fiber", () =>
    fc.assert(
      fc.asyncProperty(givens, fc.array(failing, { maxLength: 6 }), async (given, failures) => {
        const [driven, alone] = await Promise.all(
          [true, false].map((inGroups) =>
            Effect.runPromise(done(given, failures, inGroups) as Effect.Effect<{ seen: unknown; groups: number }>)
          )
        )
        assert.deepStrictEqual(driven?.seen, alone?.seen)
        assert.strictEqual(alone?.groups, 0)
        if (failures.length > 0) assert.isAbove(driven?.groups ?? 0, 0)
      }),
      { numRuns: 60 }
    ))

  const each: ReadonlyArray<readonly [string, Given]> = [
    ["a fallback chain", { hasChain: true }],
    ["a second key", { keys: ["a", "b"] }],
    ["a final report", { hasReport: true }],
    ["a context window", { window: 1_000, hasChain: true }],
    ["a spend guard", { isGuarded: true }],
    ["one step alone", { maxTurns: 1 }]
  ]
  for (const [name, given] of each)
    it.effect(`rule X1: with ${name} it parks and comes back without a fiber, its events on disk`, () =>
      Effect.gen(function* () {
        yield* Tokenizer.load
        const alone: Array<string> = []
        const noted =
          <Args extends ReadonlyArray<unknown>, A>(name: string, write: (...args: Args) => A) =>
          (...args: Args): A => {
            alone.push(name)
            return write(...args)
          }
        yield* ConversationSetup.withService(
          {
            ...optionsOf(
              given,
              [1, 2, 3, 4].map(() => emits(overloaded))
            ),
            journal: ({ append, appendWith }) => ({
              append: noted("append", append),
              appendWith: noted("appendWith", appendWith)
            }),
            store: ({ appendEvents }) => ({ appendEvents: noted("appendEvents", appendEvents) })
          },
          ({ conversations, store }) =>
            Effect.gen(function* () {
              const c = yield* conversations.create({})
              const watcher = yield* ConversationSetup.watching(conversations.watch(c, 0))
              yield* conversations.prompt(c, { prompt: "Hi", turnId })
              for (const _ of [1, 2]) {
                yield* settled
                assert.deepStrictEqual(yield* conversations.counts, { running: 0, retrying: 1, queued: 0 })
                yield* TestClock.adjust("10 seconds")
              }
              yield* settled
              assert.deepStrictEqual(alone, [])
              const types = new Set((yield* store.turnEvents(turnId)).map(({ event }) => event.type))
              assert.strictEqual(types.has("model-change"), given.hasChain === true)
              assert.strictEqual(types.has("final-turn"), given.maxTurns === 1)
              assert.deepStrictEqual(
                watcher.seen.flatMap(({ event, id }) => (id === undefined ? [] : [event])),
                (yield* store.turnEvents(turnId)).map(({ event }) => event)
              )
            })
        )
      }).pipe(Effect.provideService(Random.Random, CHANCE))
    )

  it.effect("TurnRunner.R4: the fiber that takes the answer writes no event that is on disk", () => {
    const again: Array<string> = []
    return ConversationSetup.withService(
      {
        ...optionsOf({ hasChain: true }, [emits(overloaded)]),
        store: ({ appendEvents }) => ({ appendEvents: (...args) => (again.push(args[1]), appendEvents(...args)) })
      },
      ({ conversations, store }) =>
        Effect.gen(function* () {
          yield* conversations.prompt(yield* conversations.create({}), { prompt: "Hi", turnId })
          assert.strictEqual((yield* conversations.result(turnId)).text, "Hi")
          const types = (yield* store.turnEvents(turnId)).map(({ event }) => event.type)
          assert.deepStrictEqual(types.slice(2, 4), ["retry-fallback-applied", "model-change"])
          assert.deepStrictEqual(again, [])
        })
    )
  })
})
