import { describe, expect, it } from "vitest"
import * as Deadline from "../../src/limits/Deadline.ts"

/** The sleeps of a wait of `ms` whose timers are late by `delays`, as after a freeze. */
const sleeps = (delays: ReadonlyArray<number>, ms: number): ReadonlyArray<number> => {
  const slept: Array<number> = []
  let now = 0
  const timers: Array<{ readonly at: number; readonly act: () => void }> = []
  const world = {
    elapsed: () => now,
    after: (ms: number, act: () => void) => {
      timers.push({ at: now + ms + (delays[slept.length] ?? 0), act })
      slept.push(ms)
      return () => {}
    }
  }
  Deadline.after(world, ms, () => {})
  for (let timer = timers.pop(); timer !== undefined; timer = timers.pop()) {
    now = timer.at
    timer.act()
  }
  return slept
}

describe("Deadline", () => {
  it("rule C8: a timer that ends on time is over", () => {
    expect(sleeps([], 5000)).toEqual([5000])
    expect(sleeps([Deadline.LATE_MS], 5000)).toEqual([5000])
  })

  it("rule C8: a timer that ends much later continues for the length of its delay, one second at most", () => {
    expect(sleeps([101], 5000)).toEqual([5000, 101])
    expect(sleeps([600_000], 5000)).toEqual([5000, Deadline.GRACE_MS])
  })

  it("rule C8: a process that is stopped during a grace period gets another one, up to a maximum", () => {
    expect(sleeps([9000, 300], 50)).toEqual([50, 1000, 300])
    const always = Array.from({ length: 9 }, () => 9000)
    expect(sleeps(always, 50)).toEqual([50, 1000, 1000, 1000])
  })
})
