import { describe, expect, it } from "@effect/vitest"
import * as CopyProgress from "../../../src/cli/terminal/CopyProgress.ts"
import * as Recorder from "../Recorder.ts"

const MIB = 1024 * 1024
const at = (copied: number, total: number) => ({ copiedBytes: copied * MIB, totalBytes: total * MIB })

/** The output of a copy of 1 GiB, a tenth each second, for a terminal or a file. */
const copied = (isTerminal: boolean, columns = 80) => {
  const recorder = Recorder.make({ stdout: isTerminal, stderr: isTerminal }, { NO_COLOR: "1" }, columns)
  const progress = CopyProgress.make(recorder.terminal, 0)
  const seen: Array<string> = []
  for (let tenth = 1; tenth <= 20; tenth++) {
    progress.show(at(tenth * 51.2, 1024), tenth * 500)
    seen.push(recorder.seen().join("\n"))
  }
  progress.close()
  return { recorder, seen }
}

describe("the progress of a copy", () => {
  it("is a bar on a terminal that is repainted, and removed at the end", () => {
    const { recorder, seen } = copied(true)
    expect(seen[9]).toBe("[###############---------------] 50 % of 1.0 GiB, 102.4 MiB/s, 5 s left")
    expect(seen.at(-1)).toBe("[##############################] checking 1.0 GiB")
    expect(recorder.seen().join("\n")).toBe("")
    expect(recorder.stdout()).toBe("")
  })

  it("is no wider than its terminal, with a shorter bar or none", () => {
    for (const columns of [2, 20, 40, 50, 60, 80, 200]) {
      for (const line of copied(true, columns).seen) expect(line.length).toBeLessThan(columns)
    }
    expect(copied(true, 60).seen[9]).toMatch(/^\[#+-+\] 50 %/)
    expect(copied(true, 30).seen[9]).toMatch(/^50 %/)
  })

  it("is a line per tenth without a terminal, without escape codes", () => {
    const { recorder } = copied(false)
    const lines = recorder.stderr().trimEnd().split("\n")
    expect(lines).toHaveLength(11)
    expect([lines[0], lines[5], lines[10]]).toEqual([
      "Copied 0 % of 1.0 GiB",
      "Copied 50 % of 1.0 GiB",
      "Checking 1.0 GiB"
    ])
    expect(recorder.stderr()).not.toContain("\u001b")
  })

  it("has no rate before it can be measured, and a full bar for an empty copy", () => {
    expect(CopyProgress.bar(at(512, 1024), 0, 80)).toBe("[###############---------------] 50 % of 1.0 GiB, 0 bytes/s")
    expect(CopyProgress.bar(at(0, 1024), 1_000, 80)).toBe("[------------------------------] 0 % of 1.0 GiB, 0 bytes/s")
    expect(CopyProgress.bar(at(0, 0), 1_000, 80)).toBe("[##############################] checking 0 bytes")
  })

  it("has a bar from five cells on, beside its words", () => {
    const words = "checking 1.0 GiB"
    const bar = (columns: number) => CopyProgress.bar(at(1024, 1024), 1_000, columns)
    // The last column stays free, and two brackets and a space surround the bar.
    expect(bar(words.length + 1 + 3 + 5)).toBe(`[#####] ${words}`)
    expect(bar(words.length + 1 + 3 + 4)).toBe(words)
    expect(bar(words.length + 1 + 3 + 30)).toBe(`[${"#".repeat(30)}] ${words}`)
    expect(bar(words.length + 1 + 3 + 31)).toBe(`[${"#".repeat(30)}] ${words}`)
  })

  it("is absent for a small copy, unless that takes long", () => {
    const recorder = Recorder.make({ stdout: true, stderr: true })
    const progress = CopyProgress.make(recorder.terminal, 0)
    progress.show(at(1, 2), 1_999)
    expect(recorder.all()).toBe("")
    progress.show(at(1, 2), 2_000)
    expect(recorder.all()).toContain("50 % of 2.0 MiB")
    progress.close()
  })
})
