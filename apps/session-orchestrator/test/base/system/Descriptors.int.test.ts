/** Tests the count of file descriptors. */
import { closeSync, existsSync, openSync, readdirSync } from "node:fs"
import { devNull } from "node:os"
import { expect, it } from "vitest"
import * as Descriptors from "../../../src/base/system/Descriptors.ts"

it.runIf(existsSync("/proc/self/fd"))("descriptors are counted, also above a hole that an old one has left", () => {
  const before = readdirSync("/proc/self/fd").length
  const opened = Array.from({ length: 200 }, () => openSync(devNull, "r"))
  try {
    closeSync(opened.shift() ?? expect.fail("none was opened"))
    const inUse = Descriptors.countingOwn(() => 0)
    expect(Descriptors.areFew((before + 150) / 0.8, inUse)).toBe(true)
    expect(Descriptors.areFew((before + 250) / 0.8, inUse)).toBe(false)
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
})

it("a count is kept for a while, longer where the folder has to be read", () => {
  for (const [told, everyMs] of [
    [7, 100],
    [0, 1_000]
  ] as const) {
    let [counts, reads, at] = [0, 0, 5]
    const inUse = Descriptors.counting({ size: () => (counts++, told), count: () => ++reads }, () => at)
    expect([inUse(), inUse()]).toEqual(told > 0 ? [7, 7] : [1, 1])
    at += everyMs - 1
    inUse()
    expect(counts).toBe(1)
    at += 1
    inUse()
    expect([counts, reads]).toEqual([2, told > 0 ? 0 : 2])
  }
})

it("where nothing can be counted, the lowest free number is the least", () => {
  const inUse = Descriptors.counting({ size: () => expect.fail("no such folder"), count: () => 0 }, () => 0)
  expect(inUse()).toBeGreaterThan(2)
  expect(inUse()).toBeLessThan(Infinity)
})
