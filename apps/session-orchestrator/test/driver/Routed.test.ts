/** Tests that turns with a choice of routes do in groups what they do one by one. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Effect, Random, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
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

/** A chain of other targets, other keys, or both. */
const choices = fc.record({
  failures: fc.array(failing, { maxLength: 6 }),
  hasChain: fc.boolean(),
  keys: fc.constantFrom(["a"], ["a", "b"], ["a", "b", "c"])
})

/** Ids that a service draws. */
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/** The number of draws does not matter. */
const CHANCE = { nextDoubleUnsafe: () => 0.25, nextIntUnsafe: () => 1 }

/** Everything that is possible at one moment has been done. */
const settled = Effect.repeat(Effect.yieldNow, { times: 300 })

/** What one service does: in groups, or in fibers, as with a conversation that has chosen its tools. */
const done = (
  { failures, hasChain, keys }: typeof choices extends fc.Arbitrary<infer A> ? A : never,
  inGroups: boolean
) =>
  Effect.gen(function* () {
    const seen: Array<unknown> = []
    let groups = 0
    yield* ConversationSetup.withService(
      {
        scripts: [...failures, ...Array.from({ length: 12 }, () => answer("Hi"))],
        retry: {
          ...ConversationSetup.waits(...Array.from({ length: 12 }, () => 10)),
          ...(hasChain ? { routing: { type: "fallback-chain", chains: { default: ["other/n"] } } as const } : {})
        },
        credentials: { test: keys, other: [] },
        journal: (real) => ({ appendAll: (appends) => (groups++, real.appendAll(appends)) })
      },
      ({ conversations, journal, provider, store }) =>
        Effect.gen(function* () {
          const c = yield* conversations.create(inGroups ? {} : { tools: [] })
          yield* conversations.prompt(c, { prompt: "Hi", turnId })
          const { end } = yield* Effect.raceFirst(
            conversations.result(turnId),
            Effect.forever(Effect.andThen(settled, TestClock.adjust("10 minutes")))
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
  }).pipe(Effect.provide(TestClock.layer()), Effect.provideService(Random.Random, CHANCE), Effect.scoped)

describe("a turn with a choice of routes", () => {
  it("X1: has the records, events and calls in a group that it has in a fiber", () =>
    fc.assert(
      fc.asyncProperty(choices, async (given) => {
        const [driven, alone] = await Promise.all(
          [true, false].map((inGroups) =>
            Effect.runPromise(done(given, inGroups) as Effect.Effect<{ seen: unknown; groups: number }>)
          )
        )
        assert.deepStrictEqual(driven?.seen, alone?.seen)
        assert.strictEqual(alone?.groups, 0)
        if (given.hasChain || given.keys.length > 1) assert.isAbove(driven?.groups ?? 0, 0)
      }),
      { numRuns: 40 }
    ))
})
