import { describe, expect, it } from "@effect/vitest"
import { TurnStopped } from "@holdfast/kernel"
import type { TurnEvent } from "@holdfast/wire"
import { Effect, Exit, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { Batch } from "../../src/cluster/ConversationEntity.ts"
import * as Frames from "../../src/cluster/Frames.ts"
import * as Owner from "../../src/cluster/Owner.ts"
import * as Given from "../storage/Given.ts"

const ids = { conversationId: Given.conversationId(1), turnId: Given.turnId(1) }
const frame = (event: TurnEvent.TurnEvent, id: number | null = null): Batch => [[JSON.stringify(event), id]]
const said = (delta: string): Batch => frame({ type: "text-delta", ...ids, delta })
const begins = frame({ type: "step-start", ...ids, step: 0, target: "simulated/steady" })
const discarded = (id: number): Batch => frame({ type: "step-discarded", ...ids, step: 0, message: "Restarted." }, id)
const message = (id: number): Batch => frame(Given.message(1, 1, 1), id)
const end = (id: number): Batch => frame(Given.end(1, 1), id)

/** Watches owners of which each says something and then goes; gives what came, and after which ids they were asked. */
const watchFrom = (after: number, ...owners: ReadonlyArray<ReadonlyArray<Batch>>) =>
  Effect.gen(function* () {
    const asked: Array<number> = []
    const seen: Array<string> = []
    const open = (after: number): Stream.Stream<Batch, never> => {
      asked.push(after)
      return Stream.fromIterable(owners[asked.length - 1] ?? [])
    }
    const fiber = yield* Owner.followed(after, open, Frames.isEnd).pipe(
      Stream.runForEach(({ event, id }) =>
        Effect.sync(() => {
          seen.push(event.type === "text-delta" ? event.delta : `${event.type}${id === undefined ? "" : ` ${id}`}`)
        })
      ),
      Effect.forkChild({ startImmediately: true })
    )
    yield* TestClock.adjust("1 second")
    return { asked, seen, exit: fiber.pollUnsafe() }
  })

const watch = (...owners: ReadonlyArray<ReadonlyArray<Batch>>) => watchFrom(0, ...owners)

describe("Owner.followed", () => {
  it.effect("X3: goes on at the next owner after the last id, and gives no persisted event twice", () =>
    Effect.gen(function* () {
      const { asked, exit, seen } = yield* watch([message(1)], [message(1), begins, said("b"), message(2), end(3)])
      expect(asked).toEqual([0, 1])
      expect(seen).toEqual(["message 1", "step-start", "b", "message 2", "turn-end 3"])
      expect(exit).toEqual(Exit.void)
    })
  )

  it.effect("X2: text of an owner that died is void before the next one says anything", () =>
    Effect.gen(function* () {
      const { exit, seen } = yield* watch([begins, said("a")], [discarded(1), said("b"), message(2), end(3)])
      expect(seen).toEqual(["step-start", "a", "step-discarded 1", "b", "message 2", "turn-end 3"])
      expect(exit).toEqual(Exit.void)
    })
  )

  it.effect("X3: text that is told anew by an owner that was out of reach begins with its step", () =>
    Effect.gen(function* () {
      const { exit, seen } = yield* watch([begins, said("a")], [begins, said("ab"), message(1), end(2)])
      expect(seen).toEqual(["step-start", "a", "step-start", "ab", "message 1", "turn-end 2"])
      expect(exit).toEqual(Exit.void)
    })
  )

  it.effect("X3: an owner whom nobody heard anything of is followed by one that is asked the same", () =>
    Effect.gen(function* () {
      const { asked, seen } = yield* watchFrom(7, [begins], [message(8), end(9)])
      expect(asked).toEqual([7, 7])
      expect(seen).toEqual(["step-start", "message 8", "turn-end 9"])
    })
  )

  it.effect("X3: what an owner tells of a conversation that never had the watcher's id comes", () =>
    Effect.gen(function* () {
      const { asked, seen } = yield* watchFrom(40, [message(1)], [message(2), end(3)])
      expect(asked).toEqual([40, 1])
      expect(seen).toEqual(["message 1", "message 2", "turn-end 3"])
    })
  )

  it.effect("O3: asks less and less often for a turn that stops whenever it is run", () =>
    Effect.gen(function* () {
      let asked = 0
      const stopped = Stream.suspend(() => {
        asked++
        return Stream.fail(new TurnStopped.TurnStopped({ message: "It has gone on otherwise." }))
      })
      yield* Owner.followed(0, () => stopped, Frames.isEnd).pipe(Stream.runDrain, Effect.forkScoped)
      yield* TestClock.adjust("1 second")
      expect(asked).toBeGreaterThan(2)
      yield* TestClock.adjust("5 minutes")
      expect(asked).toBeLessThan(75)
    })
  )
})
