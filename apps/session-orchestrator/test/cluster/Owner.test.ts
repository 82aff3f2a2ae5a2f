import { describe, expect } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { TurnStopped } from "@holdfast/kernel"
import { Cause, Clock, Deferred, type Duration, Effect, Exit, Fiber, Stream } from "effect"
import { ClusterError, EntityAddress, EntityId, EntityType, ShardId } from "effect/cluster"
import { TestClock } from "effect/testing"
import * as Frames from "../../src/cluster/Frames.ts"
import * as Owner from "../../src/cluster/Owner.ts"
import * as NumberedData from "../storage/NumberedData.ts"
import * as It from "../It.ts"

type Batch = Frames.Batch

const away = new StorageError({ message: "The database is away." })

const address = EntityAddress.make({
  shardId: ShardId.make("default", 1),
  entityType: EntityType.make("Conversation"),
  entityId: EntityId.make("c")
})

/** The cluster's error without an owner, after some time. */
const unowned = (takes: Duration.Input = 0) =>
  Effect.delay(Effect.fail(new ClusterError.EntityNotAssignedToRunner({ address })), takes)

/** How long something takes on the test clock, and what it ends with. */
const timed = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const begun = yield* Clock.currentTimeMillis
    const ended = yield* Deferred.make<number>()
    const fiber = yield* Effect.forkChild(
      Effect.onExit(Effect.exit(effect), () =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => Deferred.succeed(ended, now - begun))
      )
    )
    yield* TestClock.adjust("5 minutes")
    return { exit: yield* Fiber.join(fiber), ms: yield* Deferred.await(ended) }
  })

const messageOf = <A, E>(exit: Exit.Exit<A, E>): string =>
  Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "it succeeded"

describe("Owner.reached", () => {
  It.effect("gives up after 30 seconds, however long each try takes", function* () {
    for (const takes of [0, 1_000, 4_900, 60_000]) {
      const { exit, ms } = yield* timed(Owner.reached(Effect.void)(unowned(takes)))
      expect(messageOf(exit)).toContain("No runner could be reached that owns this conversation")
      expect(ms).toBe(30_000)
    }
    const { exit, ms } = yield* timed(Owner.reached(Effect.void)(Effect.uninterruptible(Effect.never)))
    expect([messageOf(exit), ms]).toEqual([expect.stringContaining("No runner could be reached"), 30_000])
  })

  It.effect("gives up within 10 seconds without a database, with the database's error", function* () {
    for (const takes of [0, 1_000, 3_000]) {
      const { exit, ms } = yield* timed(Owner.reached(Effect.delay(Effect.fail(away), "1500 millis"))(unowned(takes)))
      expect(messageOf(exit)).toContain("The database is away.")
      expect(ms).toBeGreaterThanOrEqual(5_000)
      expect(ms).toBeLessThan(10_000)
    }
  })

  It.effect("so it does where a try does not answer, in a region without interruption too", function* () {
    for (const call of [Effect.never, Effect.uninterruptible(Effect.never)]) {
      const { exit, ms } = yield* timed(Owner.reached(Effect.fail(away))(call))
      expect([messageOf(exit), ms]).toEqual([expect.stringContaining("The database is away."), 6_000])
    }
  })

  It.effect("a silent database is asked again, and a late owner is not given up for it", function* () {
    let checks = 0
    const check = Effect.suspend(() => (++checks % 2 === 1 ? Effect.fail(away) : Effect.void))
    const { exit, ms } = yield* timed(Owner.reached(check)(Effect.delay(Effect.succeed("done"), "20 seconds")))
    expect([exit, ms]).toEqual([Exit.succeed("done"), 20_000])
    expect(checks).toBeGreaterThan(2)
  })

  It.effect("Owner.O1: a take-over is waited for, and the database is asked seldom meanwhile", function* () {
    let [checks, tries] = [0, 0]
    const check = Effect.sync(() => void checks++)
    const owner = Effect.suspend(() => (++tries <= 100 ? unowned() : Effect.succeed("done")))
    const { exit, ms } = yield* timed(Owner.reached(check)(owner))
    expect([exit, ms]).toEqual([Exit.succeed("done"), 20_000])
    expect(checks).toBe(16) // from the fifth second to the twentieth
  })

  It.effect("Owner.O1: an owner that goes while it is asked is followed by the next; a refusal stays", function* () {
    let tries = 0
    const going = Effect.suspend(() => (++tries === 1 ? Effect.interrupt : Effect.succeed("done")))
    expect((yield* timed(Owner.reached(Effect.die("not asked"))(going))).exit).toEqual(Exit.succeed("done"))
    const refusing = yield* timed(Owner.reached(Effect.die("not asked"))(Effect.fail(away)))
    expect([refusing.exit, refusing.ms]).toEqual([Exit.fail(away), 0])
  })

  It.effect("Owner.O1: a call in this process has no limits of these, until its owner goes", function* () {
    const here = (call: Effect.Effect<string>) => timed(Owner.reached(Effect.fail(away))(call, () => true))
    expect((yield* here(Effect.delay(Effect.succeed("done"), "1 minute"))).ms).toBe(60_000)
    expect(messageOf((yield* here(Effect.delay(Effect.interrupt, "1 minute"))).exit)).toContain("The database is away.")
  })
})

describe("Owner.followed", () => {
  It.effect("rule X3: goes on at the next owner after the last id, and gives no persisted event twice", function* () {
    const { conversationId, turnId } = NumberedData.turn(1, 1)
    const step: Batch = [[JSON.stringify({ type: "step-start", conversationId, turnId, step: 0, target: "a/m" }), null]]
    const message = (id: number): Batch => [[JSON.stringify(NumberedData.message(1, 1, 1)), id]]
    const end: Batch = [[JSON.stringify(NumberedData.end(1, 1)), 3]]
    // The last messages are delivered again, at once with the first.
    const all = [message(1), step, message(2), end]
    const owners = [[message(1), step], undefined, [...all, [], ...all]]
    const asked: Array<number> = []
    const open = (after: number) => {
      const batches = owners[asked.push(after) - 1]
      return batches ? Owner.received(Stream.fromIterable(batches)) : Stream.fromEffect(Effect.interrupt)
    }
    const fiber = yield* Effect.forkChild(Stream.runCollect(Owner.followed(0, open, Frames.isEnd)))
    yield* TestClock.adjust("1 second")
    expect((yield* Fiber.join(fiber)).map(({ id }) => id)).toEqual([1, undefined, undefined, 2, 3])
    expect(asked).toEqual([0, 1, 1])
    const refused = Owner.followed(0, () => Stream.fail(away), Frames.isEnd)
    expect(yield* Effect.flip(Stream.runDrain(refused))).toBe(away)
  })

  It.effect("Owner.O6: a request to a silent runner ends, and goes on where it gives signs of life", function* () {
    const asked: Array<number> = []
    const signs = Stream.map(Stream.tick(Frames.SIGN_INTERVAL), (): Batch => [])
    const owners = [Stream.never, Stream.concat(Stream.take(signs, 5), Stream.never), signs]
    const open = () =>
      Owner.received(
        Stream.unwrap(Effect.map(Clock.currentTimeMillis, (now) => owners[asked.push(now) - 1] ?? Stream.empty))
      )
    yield* Owner.followed(0, open, Frames.isEnd).pipe(Stream.runDrain, Effect.forkScoped)
    yield* TestClock.adjust("1 hour")
    expect(asked).toEqual([0, 10_200, 10_200 + 40_000 + 30_200])
  })

  It.effect("asks less and less often for a turn that stops whenever it is run", function* () {
    const asked: Array<number> = []
    const stopped = Stream.unwrap(
      Effect.map(Clock.currentTimeMillis, (now) => {
        const isNews = asked.push(now) === 5
        const news = isNews ? [{ id: undefined, json: "", event: NumberedData.message(1, 1, 1) }] : []
        const failed = Stream.fail(new TurnStopped.TurnStopped({ message: "It has gone on otherwise." }))
        return Stream.concat(Stream.fromIterable(news), failed)
      })
    )
    yield* Owner.followed(0, () => stopped, Frames.isEnd).pipe(Stream.runDrain, Effect.forkScoped)
    yield* TestClock.adjust("2 seconds")
    // Half as long again each time, up to five seconds, and from the beginning after an event.
    expect(asked).toEqual([0, 200, 500, 950, 1_625, 1_825])
    yield* TestClock.adjust("5 minutes")
    const last = asked.at(-1) ?? 0
    expect(last - (asked.at(-2) ?? 0)).toBe(5_000)
    expect(asked.length).toBeLessThan(75)
  })
})
