import { Effect, Fiber } from "effect"
import { describe, expect, it } from "vitest"
import { Slices } from "../../src/pacing/Slices.ts"

/** The work of ten fibers that come at once, as the turns of the event loop in which each was done; each takes `ms`. */
const worked = async (ms: number): Promise<ReadonlyArray<number>> => {
  let now = 0
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  const slices = new Slices(() => now)
  const done: Array<number> = []
  const fibers = Array.from({ length: 10 }, (_, n) =>
    Effect.runFork(
      Effect.map(slices.turn, () => {
        now += ms
        done[n] = turns
        return n
      })
    )
  )
  count()
  await Effect.runPromise(Fiber.joinAll(fibers))
  isOver = true
  return done
}

describe("Slices", () => {
  it("S1: short work of many fibers is done in one turn of the event loop", async () => {
    expect(new Set(await worked(0.1)).size).toBe(1)
  })

  it("S1: the fibers of one slice end with the time of the slice", async () => {
    const turns = await worked(1)
    expect(turns).toEqual(turns.toSorted((a, b) => a - b))
    expect(new Set(turns).size).toBe(5)
  })

  it("S1: work that is longer than a slice has one of its own, and none is left out", async () => {
    expect(new Set(await worked(50)).size).toBe(10)
  })
})
