import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryReturn from "../../src/system/MemoryReturn.ts"

interface Process {
  readonly connections?: (interval: number) => number
  readonly grownBytes?: number
  /** Connections stay open in quiet intervals too. */
  readonly isSlow?: boolean
  readonly tookMs?: number
}

/**
 * An event loop that is busy for a share of each interval, as `shares` lists them. Each collection takes `tookMs`. The process grows by
 * `grownBytes` in an interval without a pause, and has `connections` in it; a collection returns half of that at once, and the rest in the next interval.
 */
const collections = Effect.fnUntraced(function* (
  shares: ReadonlyArray<number>,
  {
    connections = () => MemoryReturn.MANY_CONNECTIONS,
    grownBytes = 2 * MemoryReturn.GROWN_BYTES,
    isSlow = false,
    tookMs = 10
  }: Process = {}
) {
  const loop = { active: 0, idle: 0, utilization: 0 }
  const at: Array<number> = []
  let interval = 0
  let resident = 0
  let returned = 0
  let open = 0
  const collect = () => {
    at.push(interval)
    loop.active += tookMs
    returned = resident / 2
    resident -= returned
  }
  yield* Effect.forkChild(
    MemoryReturn.run(
      collect,
      () => ({ ...loop }),
      () => resident,
      () => open
    ),
    { startImmediately: true }
  )
  for (const share of shares) {
    loop.active += share * MemoryReturn.INTERVAL_MS
    loop.idle += (1 - share) * MemoryReturn.INTERVAL_MS
    resident += (share > 0.5 ? grownBytes : 0) - returned
    returned = 0
    open = share > 0.5 || isSlow ? connections(interval) : 0
    yield* TestClock.adjust(MemoryReturn.INTERVAL_MS)
    interval++
  }
  return at
})

it.effect("MemoryReturn.M1: collects once after a peak, and not during it", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* collections([0.01, 0.9, 0.9, 0.1, 0.01, 0.01, 0.01, 0.01]), [4])
  })
)

it.effect("MemoryReturn.M1: after a collection with slow streams open it collects once more at their end", () =>
  Effect.gen(function* () {
    const streams = (interval: number) => (interval < 4 ? MemoryReturn.MANY_CONNECTIONS : 0)
    const shares = [0.9, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01]
    assert.deepStrictEqual(yield* collections(shares, { connections: streams, isSlow: true }), [1, 4])
  })
)

const few = () => MemoryReturn.MANY_CONNECTIONS - 1

const quiet = (intervals: number) => Array.from({ length: intervals }, () => 0.01)

const long = MemoryReturn.LONG_MS / MemoryReturn.INTERVAL_MS

it.effect(
  "MemoryReturn.M1: after few connections it collects at the end of the work, and not in the pauses between turns",
  () =>
    Effect.gen(function* () {
      const turns = [0.8, ...quiet(long - 1), 0.8, ...quiet(long - 1)]
      assert.deepStrictEqual(yield* collections(turns, { connections: few }), [])
      assert.deepStrictEqual(yield* collections([...turns, 0.01, 0.01], { connections: few }), [turns.length])
    })
)

it.effect("MemoryReturn.M1: a crowd of turns that has few connections is collected at its end, by its growth", () =>
  Effect.gen(function* () {
    const crowd = { connections: () => 2, grownBytes: MemoryReturn.MUCH_GROWN_BYTES }
    assert.deepStrictEqual(yield* collections([0.8, ...quiet(2 * long)], crowd), [1])
    const less = { ...crowd, grownBytes: crowd.grownBytes - 1 }
    assert.deepStrictEqual(yield* collections([0.8, ...quiet(2 * long)], less), [long])
  })
)

it.effect(
  "MemoryReturn.M1: after a collection that left much it collects once more, after the work and long quiet",
  () =>
    Effect.gen(function* () {
      // A share of a half is work without growth.
      const turns = [0.8, 0.01, 0.5, ...quiet(2 * long), 0.5, ...quiet(2 * long)]
      const crowd = { connections: () => 2, grownBytes: 2 * MemoryReturn.MUCH_GROWN_BYTES }
      assert.deepStrictEqual(yield* collections(turns, crowd), [1, 2 + long])
      const less = { ...crowd, grownBytes: crowd.grownBytes - 2 }
      assert.deepStrictEqual(yield* collections(turns, less), [1])
    })
)

it.effect("MemoryReturn.M1: quiet adds up under a light load in the background", () =>
  Effect.gen(function* () {
    const background = Array.from({ length: 4 }, () => [...quiet(24), 0.03]).flat()
    // The load takes back three intervals: 24 - 3 + 9 are long.
    assert.deepStrictEqual(yield* collections([0.8, ...background], { connections: few }), [24 + 1 + 9])
    // A sample of the load itself is not a quiet moment.
    assert.deepStrictEqual(yield* collections([0.8, ...quiet(long - 1), 0.03], { connections: few }), [])
  })
)

it.effect("MemoryReturn.M1: quiet does not add up over pauses of seconds between a few streams", () =>
  Effect.gen(function* () {
    const streams = (share: number) => Array.from({ length: 100 }, () => [...Array(4).fill(share), ...quiet(5)]).flat()
    assert.deepStrictEqual(yield* collections([0.8, ...streams(0.03)], { connections: few }), [])
    assert.deepStrictEqual(yield* collections([0.8, ...streams(0.2)], { connections: few }), [])
    // Nor is the quiet of a service before its first turns of use to them.
    assert.deepStrictEqual(yield* collections([...quiet(9 * long), 0.8, ...streams(0.03)], { connections: few }), [])
  })
)

it.effect("MemoryReturn.M1: connections from before a collection do not count after it", () =>
  Effect.gen(function* () {
    const manyFirst = (interval: number) => (interval === 0 ? MemoryReturn.MANY_CONNECTIONS : few())
    assert.deepStrictEqual(yield* collections([0.8, 0.01, 0.8, 0.01], { connections: manyFirst }), [1])
  })
)

it.effect("MemoryReturn.M1: does not collect in a service without work", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* collections(Array.from({ length: 40 }, () => 0.001)), [])
  })
)

it.effect("MemoryReturn.M1: does not collect in a service that has not grown, and so keeps its optimised code", () =>
  Effect.gen(function* () {
    const peaks = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? 0.8 : 0.01))
    const each = MemoryReturn.GROWN_BYTES / 4
    // Its fourth peak has grown enough.
    assert.deepStrictEqual(yield* collections(peaks, { grownBytes: each }), [7])
    assert.deepStrictEqual(yield* collections(peaks.slice(0, 6), { grownBytes: each }), [])
  })
)

it.effect(
  "MemoryReturn.M2: collections that take long become rare: a hundredth of the time, after the credit is spent",
  () =>
    Effect.gen(function* () {
      const peaks = Array.from({ length: 400 }, (_, i) => (i % 2 === 0 ? 0.8 : 0.01))
      const tookMs = MemoryReturn.MOST_CREDIT_MS / 4
      const quick = yield* collections(peaks)
      const slow = yield* collections(peaks, { tookMs })
      assert.lengthOf(quick, 200)
      // The credit is for four, and what was earned meanwhile begins the fifth.
      assert.deepStrictEqual(slow.slice(0, 5), [1, 3, 5, 7, 9])
      const earnedMs = (intervals: number) => MemoryReturn.MOST_CREDIT_MS + (intervals * MemoryReturn.INTERVAL_MS) / 100
      for (const [before, interval] of slow.entries())
        assert.isBelow(before * tookMs, earnedMs(interval + 1) + 0.1 * tookMs)
      assert.isAbove((slow.length + 1) * tookMs, earnedMs(peaks.length))
    })
)

it.effect("the memory of dropped objects is returned", () =>
  Effect.gen(function* () {
    const loop = { active: 0, idle: 0, utilization: 0 }
    const isGone = new WeakRef({ large: "x".repeat(1_000) })
    yield* Effect.forkChild(
      MemoryReturn.run(
        undefined,
        () => ({ ...loop }),
        () => loop.active * MemoryReturn.GROWN_BYTES,
        () => MemoryReturn.MANY_CONNECTIONS
      ),
      { startImmediately: true }
    )
    // A weak reference keeps its object alive until the end of the task that made it.
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    loop.active += 5_000
    yield* TestClock.adjust(MemoryReturn.INTERVAL_MS)
    loop.idle += MemoryReturn.INTERVAL_MS
    yield* TestClock.adjust(MemoryReturn.INTERVAL_MS)
    assert.isUndefined(isGone.deref())
  })
)

it.effect("a resident set that cannot be read ends nothing, and is read again", () =>
  Effect.gen(function* () {
    let reads = 0
    const resident = () => void reads++
    const running = yield* Effect.forkChild(
      MemoryReturn.run(
        () => assert.fail("nothing is known to collect"),
        undefined,
        resident,
        () => 0
      ),
      { startImmediately: true }
    )
    yield* TestClock.adjust(3 * MemoryReturn.INTERVAL_MS)
    assert.strictEqual(reads, 4)
    assert.isUndefined(running.pollUnsafe())
  })
)
