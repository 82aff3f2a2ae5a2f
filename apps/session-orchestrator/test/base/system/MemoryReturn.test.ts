import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryReturn from "../../../src/base/system/MemoryReturn.ts"
import * as It from "../../It.ts"

const { FEW_CONNECTIONS, INTERVAL_MS, QUIET_MS } = MemoryReturn

/** The state of a process for a time; a resident set of `undefined` cannot be read. */
interface Stretch {
  readonly ms: number
  readonly resident: number | undefined
  readonly connections?: number
}

/** The moments of the collections, in milliseconds. Each returns all but 110 of the resident set. */
const collections = Effect.fnUntraced(function* (...stretches: ReadonlyArray<Stretch>) {
  const at: Array<number> = []
  let now = 0
  let resident: number | undefined
  let open = 0
  const process = MemoryReturn.run(
    () => {
      at.push(now)
      resident = 110
    },
    () => {
      if (resident === undefined) throw new Error("EMFILE: too many open files")
      return resident
    },
    () => open
  )
  for (const [i, stretch] of stretches.entries()) {
    resident = stretch.resident
    open = stretch.connections ?? 0
    if (i === 0) yield* Effect.forkChild(process, { startImmediately: true })
    for (const end = now + stretch.ms; now < end;) {
      now += INTERVAL_MS
      yield* TestClock.adjust(INTERVAL_MS)
    }
  }
  return at
})

const start: Stretch = { ms: INTERVAL_MS, resident: 80 }
const crowd: Stretch = { ms: 20_000, resident: 300, connections: 1_000 }

It.effect("a peak is collected once, a minute after its connections have closed", function* () {
  const [at, ...more] = yield* collections(start, crowd, {
    ms: 10 * QUIET_MS,
    resident: 300,
    connections: FEW_CONNECTIONS
  })
  assert.deepStrictEqual(more, [])
  assert.strictEqual((at ?? 0) - (start.ms + crowd.ms), QUIET_MS)
})

It.effect("each of several peaks is collected, each after a minute of quiet of its own", function* () {
  const [quiet, again] = [1, 120].map((more): Stretch => ({ ms: QUIET_MS + more * INTERVAL_MS, resident: 300 }))
  const at = yield* collections(start, crowd, quiet ?? start, again ?? start, crowd, again ?? start)
  const pauses = at.slice(0, 2).map((ms) => ms - start.ms - crowd.ms)
  assert.deepStrictEqual(pauses, [QUIET_MS, 2 * QUIET_MS])
  assert.lengthOf(at, 3)
})

It.effect("nothing is collected in pauses between turns, or while more than a few connections are open", function* () {
  const pause: Stretch = { ms: QUIET_MS - 2 * INTERVAL_MS, resident: 300 }
  const slow: Stretch = { ms: 10 * QUIET_MS, resident: 300, connections: FEW_CONNECTIONS + 1 }
  assert.deepStrictEqual(yield* collections(start, crowd, pause, crowd, pause, slow), [])
})

It.effect("a service that has not grown by a quarter is left alone, and so keeps its optimised code", function* () {
  assert.deepStrictEqual(yield* collections(start, { ms: 100 * QUIET_MS, resident: 100 }), [])
})

It.effect("what cannot be measured ends nothing: the next peak is collected", function* () {
  const unreadable: Stretch = { ms: 20_000, resident: undefined, connections: 1_000 }
  assert.lengthOf(yield* collections(unreadable, start, crowd, { ms: 2 * QUIET_MS, resident: 300 }), 1)
})
