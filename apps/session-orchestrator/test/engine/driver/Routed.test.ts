/** Tests turns of any configuration in the loop. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import type { Profile } from "@holdfast/policy"
import { Ids } from "@holdfast/wire"
import { Duration, Effect, Random } from "effect"
import { TestClock } from "effect/testing"
import * as Tokenizer from "../../../src/base/tokens/Tokenizer.ts"
import * as ConversationSetup from "../conversation/ConversationSetup.ts"

const { answer, emits, overloaded } = ScriptedProvider

const turnId = Ids.TurnId.make("t")

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
}

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
  models: given.window === undefined ? {} : { "other/n": { contextWindow: given.window } }
})

/** The number of draws does not matter. */
const CHANCE = { nextDoubleUnsafe: () => 0.25, nextIntUnsafe: () => 1 }

/** Everything that is possible at one moment has been done. */
const settled = Effect.promise(async () => {
  for (let n = 0; n < 60; n++) await new Promise((resolve) => setImmediate(resolve))
})

describe("a turn of any configuration", () => {
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
        yield* ConversationSetup.withService(
          optionsOf(
            given,
            [1, 2, 3, 4].map(() => emits(overloaded))
          ),
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
})
