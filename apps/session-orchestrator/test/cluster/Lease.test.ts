import { describe, expect } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { RunnerAddress, RunnerStorage, ShardId } from "effect/cluster"
import { TestClock } from "effect/testing"
import * as Lease from "../../src/cluster/Lease.ts"
import * as It from "../It.ts"

const self = RunnerAddress.make("127.0.0.1", 1)
const [one, two, three] = [ShardId.make("default", 1), ShardId.make("default", 2), ShardId.make("default", 3)]

type Storage = RunnerStorage.RunnerStorage["Service"]

/** A lease over the cluster's own storage in memory; the test grants and takes locks. */
const makeWith = (change: (storage: Storage) => Storage) =>
  Effect.gen(function* () {
    const lease = new Lease.Lease(yield* Clock.Clock)
    const of = ({ id }: ShardId.ShardId) => lease.sure(id)
    return { of, storage: lease.overhear(change(yield* RunnerStorage.makeMemory)) }
  })

const make = makeWith((storage) => storage)

const isWaiting = (fiber: Fiber.Fiber<void>): boolean => fiber.pollUnsafe() === undefined

describe("Lease", () => {
  /** The clock of the test, whose two readings may stand apart. */
  const apart = Effect.map(Clock.Clock, (clock) => {
    const ahead = { wallMs: 0, monotonicMs: 0 }
    const skewed: Clock.Clock = {
      ...clock,
      sleep: (duration) => clock.sleep(duration),
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + ahead.wallMs,
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe() + BigInt(ahead.monotonicMs) * 1_000_000n
    }
    return { ahead, skewed }
  })

  for (const which of ["wallMs", "monotonicMs"] as const) {
    It.effect(`rule X6: time that has passed by one clock alone counts: ${which}`, function* () {
      const { ahead, skewed } = yield* apart
      const { storage, of } = yield* Effect.provideService(make, Clock.Clock, skewed)
      yield* storage.acquire(self, [one])
      ahead[which] = Lease.SURE_MS - 1
      yield* of(one)
      ahead[which] = Lease.SURE_MS
      const late = yield* Effect.forkChild(of(one), { startImmediately: true })
      expect(isWaiting(late)).toBe(true)
      yield* storage.refresh(self, [one])
      yield* Fiber.join(late)
    })
  }

  It.effect("Lease.L1: what counts is when it was asked, not when the answer came", function* () {
    const { of, storage } = yield* makeWith((storage) => ({
      ...storage,
      acquire: (...asked) => Effect.delay(storage.acquire(...asked), Lease.SURE_MS - 1_000)
    }))
    const asking = yield* Effect.forkChild(storage.acquire(self, [one]), { startImmediately: true })
    yield* TestClock.adjust(Lease.SURE_MS - 1_000)
    yield* Fiber.join(asking)
    yield* of(one)
    yield* TestClock.adjust(1_000)
    const late = yield* Effect.forkChild(of(one), { startImmediately: true })
    expect(isWaiting(late)).toBe(true)
  })

  It.effect("rule X6: a caller whose lock was lost meanwhile waits without end", function* () {
    const { storage, of } = yield* makeWith((storage) => ({
      ...storage,
      refresh: (...asked) => Effect.map(storage.refresh(...asked), (owned) => owned.filter(({ id }) => id !== 3))
    }))
    yield* storage.acquire(self, [one, two, three])
    yield* storage.release(self, one)
    const gone = yield* Effect.forkChild(of(one), { startImmediately: true })
    yield* storage.refresh(self, [two, three])
    const taken = yield* Effect.forkChild(of(three), { startImmediately: true })
    yield* storage.releaseAll(self)
    const all = yield* Effect.forkChild(of(two), { startImmediately: true })
    yield* TestClock.adjust(60_000)
    expect([gone, taken, all].map(isWaiting)).toEqual([true, true, true])
  })

  It.effect("rule M3: a waiting caller gets an error after 8 seconds that the lock is in doubt", function* () {
    const { storage, of } = yield* make
    const asking = yield* Effect.forkChild(Effect.flip(Lease.inTime(of(one))), { startImmediately: true })
    yield* TestClock.adjust(7_999)
    expect(asking.pollUnsafe()).toBeUndefined()
    yield* TestClock.adjust(1)
    expect((yield* Fiber.join(asking)).message).toContain("PostgreSQL has not confirmed")
    yield* storage.acquire(self, [one])
    yield* Lease.inTime(of(one))
  })
})
