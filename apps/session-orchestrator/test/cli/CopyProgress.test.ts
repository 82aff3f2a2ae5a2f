import { describe, expect, it } from "@effect/vitest"
import * as CopyProgress from "../../src/cli/CopyProgress.ts"
import * as Recorder from "./Recorder.ts"

const MIB = 1024 * 1024
const at = (copied: number, total: number) => ({ copiedBytes: copied * MIB, totalBytes: total * MIB })

/** A copy of 1 GiB, a tenth of it each second, as a terminal or a file gets it. */
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
  it("is a bar on a terminal that is painted anew, and gone at the end", () => {
    const { recorder, seen } = copied(true)
    expect(seen[9]).toBe("[###############---------------] 50 % of 1.0 GiB, 102.4 MiB/s, 5 s left")
    expect(seen.at(-1)).toBe("[##############################] checking 1.0 GiB")
    expect(recorder.seen().join("\n")).toBe("")
    expect(recorder.stdout()).toBe("")
  })

  it("is no wider than its terminal, with a shorter bar or none", () => {
    for (const columns of [20, 40, 50, 60, 80, 200]) {
      for (const line of copied(true, columns).seen) expect(line.length).toBeLessThan(columns)
    }
    expect(copied(true, 60).seen[9]).toMatch(/^\[#+-+\] 50 %/)
    expect(copied(true, 30).seen[9]).toMatch(/^50 %/)
  })

  it("is a line each tenth where there is no terminal, without an escape code", () => {
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

  it("is nothing for a small copy, but where that takes long", () => {
    const recorder = Recorder.make({ stdout: true, stderr: true })
    const progress = CopyProgress.make(recorder.terminal, 0)
    progress.show(at(1, 2), 1_999)
    expect(recorder.all()).toBe("")
    progress.show(at(1, 2), 2_000)
    expect(recorder.all()).toContain("50 % of 2.0 MiB")
    progress.close()
  })
})
