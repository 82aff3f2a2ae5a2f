/** Tests the seal of a queued turn beside the writes of the turn that runs, and beside a hand-over. */
import { assert, describe, it } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Deferred, Effect, Exit, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { appendsAfter, asking, watching, withService, writes } from "../conversation/ConversationSetup.ts"

const { answer, hangs } = ScriptedProvider

const turnId = Ids.TurnId.make("a")
const b = Ids.TurnId.make("b")

describe("an abort of a queued turn", () => {
  it.effect("TurnQueue.Q4: is on disk, or is not, before another process has the conversation", () => {
    const door = Deferred.makeUnsafe<void>()
    const written = Deferred.makeUnsafe<void>()
    return withService(
      {
        scripts: [hangs(Deferred.makeUnsafe())],
        log: appendsAfter((append) =>
          append.turnId === b ? Effect.andThen(Deferred.succeed(written, undefined), Deferred.await(door)) : Effect.void
        )
      },
      function* ({ conversations, held, log }) {
        const c = yield* conversations.create({})
        for (const id of [turnId, b]) yield* conversations.prompt(c, { prompt: "Hi", turnId: id })
        const aborted = yield* asking(conversations.abort(c, b))
        yield* Deferred.await(written)
        const released = yield* asking(held.release(c))
        yield* Effect.repeat(Effect.yieldNow, { times: 100 })
        assert.isUndefined(released.pollUnsafe())
        yield* Deferred.succeed(door, undefined)
        yield* Fiber.join(released)
        const open = (yield* log.tail(c)).map(({ turnId }) => turnId)
        assert.deepStrictEqual(open, [turnId])
        yield* Fiber.await(aborted)
      }
    )
  })

  for (const [what, lost] of [
    ["the turn that runs", turnId],
    ["the queued turn", b]
  ] as const) {
    it.effect(`rule X3: misses no watcher when a write of ${what} is made and its answer is lost`, () => {
      /** The write of the other turn has come; the log waits for that a little before it reports its error. */
      let others = 0
      let isLost = false
      const writing = Deferred.makeUnsafe<void>()
      return withService(
        {
          scripts: [answer("one")],
          log: (real) => ({
            append: (appends) =>
              Effect.gen(function* () {
                const isMeant = appends.some(
                  (append) => append.turnId === lost && writes(append, lost === b ? "turn-end" : "message")
                )
                const outcomes = yield* real.append(appends)
                if (!isMeant) others++
                if (!isMeant || isLost) return outcomes
                isLost = true
                const before = others
                yield* Deferred.succeed(writing, undefined)
                yield* Effect.repeat(Effect.yieldNow, { times: 500, until: () => others > before })
                return appends.map(() => Exit.fail(new StorageError({ message: "The connection was lost." })))
              })
          })
        },
        function* ({ conversations, log }) {
          const c = yield* conversations.create({})
          const watcher = yield* watching(conversations.watch(c, 0))
          yield* Effect.all([
            conversations.prompt(c, { prompt: "Hi", turnId }),
            conversations.prompt(c, { prompt: "And?", turnId: b })
          ])
          if (lost === turnId) yield* Deferred.await(writing)
          const aborted = yield* asking(conversations.abort(c, b))
          yield* Effect.repeat(Effect.yieldNow, { times: 1_000 })
          yield* TestClock.adjust("5 seconds")
          assert.isTrue(yield* Fiber.join(aborted))
          assert.strictEqual((yield* conversations.result(turnId)).text, "one")
          yield* TestClock.adjust("1 second")
          const stored = Array.from(yield* Stream.runCollect(log.events(c, 0)), ({ id }) => id)
          assert.isTrue(isLost)
          const seen = watcher.seen.flatMap(({ id }) => id ?? [])
          assert.deepStrictEqual(seen, stored)
        }
      )
    })
  }
})
