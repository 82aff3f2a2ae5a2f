import { assert, describe, it } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { TurnStopped } from "@holdfast/kernel"
import { Push } from "@holdfast/kernel/host"
import { Cause, Channel, Deferred, Effect, Exit, Fiber, Stream } from "effect"
import * as Frames from "../../src/cluster/Frames.ts"
import * as LocalWatch from "../../src/cluster/LocalWatch.ts"
import { ConversationNotFound, type Frame, type SubscriberTooSlow } from "../../src/conversation/Conversations.ts"
import type { StoredEvent } from "../../src/storage/Store.ts"
import { Hub } from "../../src/session/Hub.ts"
import * as NumberedData from "../storage/NumberedData.ts"

const ids = { conversationId: NumberedData.conversationId(1), turnId: NumberedData.turnId(1) }

type Failure = StorageError | SubscriberTooSlow | TurnStopped.TurnStopped | ConversationNotFound

const stored = (event: StoredEvent["event"], id: number): StoredEvent => ({ event, json: JSON.stringify(event), id })
const message = (id: number) => stored(NumberedData.message(1, 1, 1), id)
const end = (id: number) => stored(NumberedData.end(1, 1), id)

/** A watcher of a hub on this runner, that continues elsewhere with what it is given for the id that it had. */
const watched = Effect.fnUntraced(function* (
  elsewhere: (received: number) => Stream.Stream<Frame, Failure> = () => Stream.never
) {
  const hub = new Hub()
  const left = yield* Deferred.make<void>()
  const owner = yield* Deferred.make<void>()
  const seen: Array<string> = []
  let attending = 0
  let pulls = 0
  const here: Stream.Stream<Frame, Failure> = Stream.fromChannel(
    Channel.fromTransform((_upstream, scope) =>
      Effect.gen(function* () {
        const subscriber = hub.subscribe()
        yield* Effect.forkIn(
          Effect.onExit(Effect.never, () => Effect.sync(() => subscriber.close())),
          scope,
          { startImmediately: true }
        )
        return Push.attach(
          Effect.suspend(() => {
            pulls++
            return subscriber.pull
          }),
          () => Push.of(subscriber.pull)
        )
      })
    )
  )
  const frames = LocalWatch.watch({
    here,
    left: Deferred.await(left),
    attend: Effect.suspend(() => {
      attending++
      return Effect.onExit(Deferred.await(owner), () => Effect.sync(() => attending--))
    }),
    elsewhere,
    isLast: Frames.isEnd
  })
  const take = (chunk: ReadonlyArray<Frame>) => {
    for (const { event, id } of chunk) seen.push(event.type === "text-delta" ? event.delta : `${event.type} ${id}`)
    return undefined
  }
  const fiber = yield* Effect.scopedWith((scope) =>
    Effect.flatMap(Channel.toPullScoped(Stream.toChannel(frames), scope), (pull) => Push.forEach(pull, take))
  ).pipe(
    Effect.catchCause((cause) =>
      Cause.hasDies(cause) ? Effect.failCause(cause) : Effect.exit(Effect.failCause(cause))
    ),
    Effect.forkChild({ startImmediately: true })
  )
  const say = (delta: string) => {
    hub.live({ type: "text-delta", ...ids, delta })
    return until(() => seen.includes(delta))
  }
  yield* until(() => hub.isWatched && attending === 1)
  return { hub, left, owner, seen, fiber, say, attending: () => attending, pulls: () => pulls }
})

/** Waits for a fact. */
const until = (isThere: () => boolean) =>
  Effect.repeat(
    Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve))),
    { until: isThere }
  )

const failureOf = (exit: unknown) => JSON.stringify(exit)

describe("LocalWatch", () => {
  it.live("LocalWatch.W3: deltas are pushed: none is pulled after the first wait", () =>
    Effect.gen(function* () {
      const { pulls, say, seen } = yield* watched()
      yield* say("a")
      const before = pulls()
      for (const delta of ["b", "c", "d"]) yield* say(delta)
      assert.deepStrictEqual(seen, ["a", "b", "c", "d"])
      assert.strictEqual(pulls(), before)
    })
  )

  it.live("LocalWatch.W2: the conversation is attended to until the last frame", () =>
    Effect.gen(function* () {
      const { attending, fiber, hub, say, seen } = yield* watched()
      assert.strictEqual(attending(), 1)
      yield* say("a")
      hub.persisted([message(1), end(2)])
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, ["a", "message 1", "turn-end 2"])
      assert.strictEqual(attending(), 0)
    })
  )

  for (const [how, signal] of [
    ["the conversation leaves memory", "left"],
    ["its owner goes", "owner"]
  ] as const) {
    it.live(`LocalWatch.W1: X3: when ${how}, the watcher goes on at the owner after its last id`, () =>
      Effect.gen(function* () {
        const asked: Array<number> = []
        const watch = yield* watched((received) => {
          asked.push(received)
          return Stream.make(message(2), end(3))
        })
        yield* watch.say("a")
        watch.hub.persisted([message(1)])
        yield* until(() => watch.seen.length === 2)
        yield* Deferred.succeed(watch[signal], undefined)
        yield* Fiber.join(watch.fiber)
        assert.deepStrictEqual(asked, [1])
        assert.deepStrictEqual(watch.seen, ["a", "message 1", "message 2", "turn-end 3"])
        assert.isFalse(watch.hub.isWatched)
        assert.strictEqual(watch.attending(), 0)
      })
    )
  }

  it.live("LocalWatch.W1: a turn that stopped goes on at the owner", () =>
    Effect.gen(function* () {
      const { fiber, hub, say, seen } = yield* watched(() => Stream.make(end(1)))
      yield* say("a")
      hub.stopped(ids.turnId, new TurnStopped.TurnStopped({ message: "It has gone on otherwise." }))
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, ["a", "turn-end 1"])
    })
  )

  it.live("LocalWatch.W1: what does not pass ends the stream, here and elsewhere", () =>
    Effect.gen(function* () {
      const deleted = yield* watched()
      deleted.hub.deleted(new ConversationNotFound({ conversationId: ids.conversationId }))
      assert.include(failureOf(yield* Fiber.join(deleted.fiber)), "ConversationNotFound")
      const away = yield* watched(() => Stream.fail(new StorageError({ message: "The database is away." })))
      yield* Deferred.succeed(away.left, undefined)
      assert.include(failureOf(yield* Fiber.join(away.fiber)), "The database is away.")
      assert.strictEqual(deleted.attending() + away.attending(), 0)
    })
  )

  it.live("LocalWatch.W2: a client that leaves takes its subscription with it", () =>
    Effect.gen(function* () {
      const { attending, fiber, hub, say } = yield* watched()
      yield* say("a")
      assert.isTrue(hub.isWatched)
      yield* Fiber.interrupt(fiber)
      assert.isFalse(hub.isWatched)
      assert.strictEqual(attending(), 0)
      assert.isTrue(Exit.isFailure(yield* Fiber.await(fiber)))
    })
  )
})
