/** Tests the events of a subscription whose source fails and comes back. */
import { expect } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { TurnStopped } from "@holdfast/kernel"
import { Clock, Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type Frame, SubscriberTooSlow } from "../../../src/engine/conversation/Conversations.ts"
import { feed } from "../../../src/http/socket/Subscriptions.ts"
import * as It from "../../It.ts"
import * as Events from "../Events.ts"

It.effect("rule X3: events are watched again after the last one, at once or a second after a failure", function* () {
  const message = "It stopped."
  const failures = [SubscriberTooSlow, StorageError, TurnStopped.TurnStopped].map((Failed) => new Failed({ message }))
  const asked: Array<string> = []
  let last = 0
  const watch = (after: number) =>
    Stream.unwrap(
      Effect.map(Clock.currentTimeMillis, (now) => {
        const failure = failures[asked.push(`${now} ms: ${after}`) - 1]
        const events = Stream.make<[Frame]>({ id: asked.length, event: Events.of("c", "t").delta("x"), json: "" })
        return failure === undefined ? events : Stream.concat(events, Stream.fail(failure))
      })
    )
  const forward = (frames: ReadonlyArray<Frame>) => void (last = frames.at(-1)?.id ?? last)
  const fed = yield* Effect.forkChild(feed({ watch, after: () => last, forward }), { startImmediately: true })
  yield* TestClock.adjust("1 minute")
  expect(asked).toEqual(["0 ms: 0", "0 ms: 1", "1000 ms: 2", "2000 ms: 3"])
  expect([fed.pollUnsafe() !== undefined, last]).toEqual([true, 4])
})
