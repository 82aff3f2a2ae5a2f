import { describe, expect, it } from "@effect/vitest"
import { Push } from "@holdfast/kernel/host"
import { PushSource } from "@holdfast/kernel/testing"
import { Cause, Effect, Fiber, Pull, Scheduler } from "effect"
import * as fc from "fast-check"
import type { BytePull } from "../../src/http/Http.ts"
import * as ReadPace from "../../src/http/ReadPace.ts"

const bytesOf = (sizes: ReadonlyArray<number>) => {
  let byte = 0
  return sizes.map((size) => Uint8Array.from({ length: size }, () => byte++ % 251))
}

/** Pulls of these arrays, one after another, and then the end. */
const pulling = (pulls: ReadonlyArray<ReadonlyArray<Uint8Array>>): BytePull => {
  const left = [...pulls]
  return Effect.suspend(() => {
    const [first, ...rest] = left.shift() ?? []
    return first === undefined ? Cause.done() : Effect.succeed([first, ...rest] as const)
  })
}

const collect = Effect.fnUntraced(function* (bytes: BytePull) {
  const slices: Array<ReadonlyArray<Uint8Array>> = []
  yield* Effect.forever(Effect.map(bytes, (reads) => slices.push(reads))).pipe(Pull.catchDone(() => Effect.void))
  return slices
})

/** Reads a body to its end; returns how often its fiber had yielded to the event loop before each pull. */
const yieldsOf = (pulls: ReadonlyArray<ReadonlyArray<number>>, most: number): Promise<ReadonlyArray<number>> => {
  let yields = 0
  const scheduler = new Scheduler.MixedScheduler("async", (run) => {
    yields++
    const immediate = setImmediate(run)
    return () => clearImmediate(immediate)
  })
  const paced = ReadPace.paced(pulling(pulls.map(bytesOf)), most)
  return Effect.gen(function* () {
    const before = yields
    const seen: Array<number> = []
    yield* Effect.forever(
      Effect.map(paced, () => seen.push(yields - before)),
      { disableYield: true }
    ).pipe(Pull.catchDone(() => Effect.void))
    return seen
  }).pipe(Effect.provideService(Scheduler.Scheduler, scheduler), Effect.runPromise)
}

const sizeOf = (reads: ReadonlyArray<Uint8Array>) => reads.reduce((sum, read) => sum + read.length, 0)

describe("Pace", () => {
  it("returns the same bytes in order, in slices that are not too large and never empty", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 50 }),
        async (pulls, most) => {
          const all = bytesOf(pulls.flat())
          let at = 0
          const read = pulls.map((sizes) => sizes.map(() => all[at++] ?? new Uint8Array()))
          const slices = await Effect.runPromise(collect(ReadPace.paced(pulling(read), most)))
          expect(slices.flat().flatMap((read) => [...read])).toEqual(all.flatMap((read) => [...read]))
          for (const slice of slices) {
            expect(sizeOf(slice)).toBeLessThanOrEqual(most)
            for (const read of slice) expect(read.length).toBeGreaterThan(0)
          }
        }
      ),
      { numRuns: 200 }
    ))

  it("a read up to the size of a slice stays unchanged; the rest of a larger one comes with the next pull", async () => {
    const sizes = async (...reads: ReadonlyArray<number>) =>
      (await Effect.runPromise(collect(ReadPace.paced(pulling([bytesOf(reads)]), 10)))).map((slice) =>
        slice.map((read) => read.length)
      )
    expect(await sizes(4, 5)).toEqual([[4, 5]])
    expect(await sizes(4, 6)).toEqual([[4, 6]])
    expect(await sizes(4, 7)).toEqual([[4, 6], [1]])
    expect(await sizes(4, 7, 2)).toEqual([
      [4, 6],
      [1, 2]
    ])
    expect(await sizes(4, 6, 2)).toEqual([[4, 6], [2]])
    expect(await sizes(25)).toEqual([[10], [10], [5]])
  })

  it("ReadPace.P1: a slice has 64 KiB by default", async () => {
    const slices = await Effect.runPromise(collect(ReadPace.paced(pulling([[new Uint8Array(70_000)]]))))
    expect(slices.map(sizeOf)).toEqual([65_536, 4_464])
  })

  it("ReadPace.P2: a fiber yields once for each slice that it has read, whatever the number of pulls", async () => {
    expect(await yieldsOf([[25]], 10)).toEqual([0, 1, 2])
    expect(await yieldsOf([[10], [10], [1]], 10)).toEqual([0, 1, 2])
    const single = Array.from({ length: 31 }, () => [1])
    const expected = single.map((_, i) => Math.floor(i / 10))
    expect(await yieldsOf(single, 10)).toEqual(expected)
  })

  it.live("an endless body yields each turn of the event loop after two slices at most", () =>
    Effect.gen(function* () {
      const read = new Uint8Array(10_000)
      let taken = 0
      let turns = 0
      let most = 0
      let since = 0
      let next: NodeJS.Immediate
      const turn = () => {
        turns++
        most = Math.max(most, taken - since)
        since = taken
        next = setImmediate(turn)
      }
      next = setImmediate(turn)
      const endless = ReadPace.paced(Effect.sync(() => [read, read, read]))
      for (;;) {
        if (turns >= 20) break
        taken += sizeOf(yield* endless)
      }
      clearImmediate(next)
      expect(most).toBeLessThanOrEqual(2 * ReadPace.SLICE_BYTES)
    })
  )

  it.effect("reads within a slice are pushed, and the one that fills it is pulled, cut as ever", () =>
    Effect.gen(function* () {
      const { calls, end, give, pull } = PushSource.make<readonly [Uint8Array, ...ReadonlyArray<Uint8Array>]>()
      const seen: Array<number> = []
      const fiber = yield* Effect.forkChild(
        Push.forEach(ReadPace.paced(pull, 10), (reads) => void seen.push(...reads.map((read) => read.length))).pipe(
          Pull.catchDone(() => Effect.void)
        ),
        { startImmediately: true }
      )
      const pushed: Array<number> = []
      for (const size of [3, 3, 3, 4, 3, 3, 25, 1]) {
        give([new Uint8Array(size)])
        yield* Effect.yieldNow
        yield* Effect.yieldNow
        pushed.push(calls.pushes)
      }
      end()
      yield* Fiber.join(fiber)
      expect(seen).toEqual([3, 3, 3, 4, 3, 3, 10, 10, 5, 1])
      // The first is pulled, and so is the one behind a slice that is full.
      expect(pushed).toEqual([0, 1, 2, 3, 3, 4, 5, 6])
    })
  )
})
