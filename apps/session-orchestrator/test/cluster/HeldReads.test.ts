/** Tests reads of held calls whose client is at another runner. */
import { assert, describe, it } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { Ids } from "@holdfast/wire"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as HeldReads from "../../src/cluster/HeldReads.ts"
import * as Owner from "../../src/cluster/Owner.ts"
import * as HeldCallIds from "../../src/storage/HeldCallIds.ts"

const held = HeldCallIds.make("k".repeat(HeldCallIds.KEY_LENGTH), 0, "one")
const at = Ids.ConversationId.make("in-a-shard-of-that-runner")
const away = Effect.fail(new StorageError({ message: "The database is away." }))
const nowhere = Effect.succeed(undefined)
const elsewhere = new HeldReads.Elsewhere()
const owner = Stream.concat(Stream.make("owner"), Stream.never)

/** What a subscriber gets, up to the end of the stream. */
const watched = (
  locate: Parameters<typeof HeldReads.watch>[0],
  there: Stream.Stream<string, HeldReads.Elsewhere> = Stream.make("there")
) => Stream.runCollect(HeldReads.watch<string, never, never>(locate, held, () => there, owner))

describe("reading a held call", () => {
  it.effect("R1: asks the runner that has the client, and the owner where none has", () =>
    Effect.gen(function* () {
      const there = (asked: Ids.ConversationId) => Effect.succeed(`there, at ${asked}`)
      const byOwner = Effect.succeed("owner")
      assert.strictEqual(yield* HeldReads.ask(() => Effect.succeed(at), held, there, byOwner), `there, at ${at}`)
      assert.strictEqual(yield* HeldReads.ask(() => nowhere, held, there, byOwner), "owner")
      assert.strictEqual(
        yield* HeldReads.ask(
          () => Effect.succeed(at),
          held,
          () => Effect.fail(elsewhere),
          byOwner
        ),
        "owner"
      )
    })
  )

  it.effect("R1: asks the owner alone about any other conversation", () =>
    Effect.gen(function* () {
      const other = Ids.ConversationId.make("a-conversation")
      assert.strictEqual(yield* HeldReads.ask(() => away, other, Effect.die, Effect.succeed("owner")), "owner")
      assert.deepStrictEqual(
        yield* Stream.runCollect(HeldReads.watch(() => away, other, Stream.die, Stream.make("owner"))),
        ["owner"]
      )
    })
  )

  it.effect("R1: says that the runner of the client could not be looked up", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(HeldReads.ask(() => away, held, Effect.die, Effect.succeed("owner")))
      assert.strictEqual(message, "The database is away.")
    })
  )

  it.effect("R2: an owner's stream ends when a client has come, and not before", () =>
    Effect.gen(function* () {
      const places = [nowhere, nowhere, away, Effect.succeed(at)]
      const looks: Array<unknown> = []
      const fiber = yield* Effect.forkChild(
        watched(() => Effect.suspend(() => places[looks.push("look") - 1] ?? away)),
        { startImmediately: true }
      )
      for (let n = 1; n <= 3; n++) {
        assert.strictEqual(looks.length, n)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(Owner.SIGN_INTERVAL)
      }
      assert.deepStrictEqual(yield* Fiber.join(fiber), ["owner"])
    })
  )

  it.effect("R2: a runner that no longer has the client leaves the stream to the owner, for a while", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* watched(() => Effect.succeed(at)), ["there"])
      const fiber = yield* Effect.forkChild(
        watched(() => Effect.succeed(at), Stream.fail(elsewhere)),
        { startImmediately: true }
      )
      yield* TestClock.adjust(Owner.SIGN_INTERVAL)
      assert.deepStrictEqual(yield* Fiber.join(fiber), ["owner"])
    })
  )

  it.effect("R2: a database that does not answer keeps no stream from its owner", () =>
    Effect.gen(function* () {
      const got: Array<string> = []
      const frames = HeldReads.watch<string, never, never>(
        () => Effect.never,
        held,
        () => Stream.make("there"),
        owner
      )
      yield* Effect.forkChild(Stream.runForEach(frames, (frame) => Effect.sync(() => got.push(frame))))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(got, ["owner"])
    })
  )

  it.effect("R3: the stream of a runner ends when its client has left, and not before", () =>
    Effect.gen(function* () {
      let isHere = true
      const frames = HeldReads.whileHere(() => isHere, Stream.concat(Stream.make("there"), Stream.never))
      const fiber = yield* Effect.forkChild(Stream.runCollect(frames), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      assert.isUndefined(fiber.pollUnsafe())
      isHere = false
      yield* TestClock.adjust(Owner.SIGN_INTERVAL)
      assert.deepStrictEqual(yield* Fiber.join(fiber), ["there"])
    })
  )
})
