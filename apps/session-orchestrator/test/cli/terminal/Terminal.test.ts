import { defined } from "@holdfast/wire"
import { describe, expect, it } from "@effect/vitest"
import * as Terminal from "../../../src/cli/terminal/Terminal.ts"
import type { Environment } from "../../../src/config/reading/Environment.ts"

const columnsOf = (stdout: number | undefined, stderr: number | undefined): number => {
  const stream = (columns?: number): Terminal.Stream => ({ isTTY: true, write: () => true, ...defined({ columns }) })
  return Terminal.make(stream(stdout), stream(stderr), {}).columns()
}

/** The output of each stream for a text. */
const written = (isTTY: boolean, text: string): ReadonlyArray<string> => {
  const got: Array<string> = []
  const stream = (): Terminal.Stream => ({ isTTY, columns: 80, write: (text) => got.push(text) })
  const terminal = Terminal.make(stream(), stream(), {})
  terminal.stdout(text)
  terminal.stderr(text)
  return got
}

describe("Terminal", () => {
  it("prints no control sequences except colours and repainting, from any source", () => {
    const own = "\r\u001b[K\u001b[2A\u001b[J\u001b[33mwait\u001b[0m\n"
    expect(written(true, own)).toEqual([own, own])
    const outside = "a\u202eb\u001b]0;title\u0007c\u001b[5;5Hd\u009be\u2066f\u0008g"
    expect(written(true, outside)).toEqual(["ab]0;titlec[5;5Hdefg", "ab]0;titlec[5;5Hdefg"])
  })

  it("writes every byte to a file or a pipe", () => {
    expect(written(false, "a\u202eb\u0000")).toEqual(["a\u202eb\u0000", "a\u202eb\u0000"])
  })

  it("is as wide as its window, or 80 where that is unknown: a terminal without a window reports 0", () => {
    const [stdouts, stderrs] = [
      [120, 120, undefined, 0, 120, 120],
      [100, undefined, undefined, 0, 0, 1]
    ]
    expect(stdouts.map((stdout, n) => columnsOf(stdout, stderrs[n]))).toEqual([100, 120, 80, 80, 120, 1])
  })

  it("has colours on a terminal that supports them, or if they are forced", () => {
    const colors = (environment: Environment, isTTY = true) => {
      const stream = { isTTY, write: () => true }
      const terminal = Terminal.make(stream, stream, environment)
      return [terminal.colors.stdout, terminal.colors.stderr, terminal.canRepaint]
    }
    expect(colors({})).toEqual([true, true, true])
    expect(colors({}, false)).toEqual([false, false, false])
    expect(colors({ TERM: "dumb" })).toEqual([false, false, false])
    expect(colors({ NO_COLOR: "1", FORCE_COLOR: "1" })).toEqual([false, false, true])
    expect(colors({ FORCE_COLOR: "1" }, false)).toEqual([true, true, false])
    expect(colors({ FORCE_COLOR: "3", TERM: "dumb" })).toEqual([true, true, false])
    for (const forced of ["0", "false"]) expect(colors({ FORCE_COLOR: forced })).toEqual([false, false, true])
  })

  it("repaints no line while its process is in the background, where a shell has the line", () => {
    const stream = { isTTY: true, write: () => true }
    expect(Terminal.make(stream, stream, {}, false).canRepaint).toBe(false)
  })

  it("finds from the line in /proc whether it is in the foreground, whatever its name is", () => {
    expect(Terminal.isInForeground("12 (no) de)) S 1 12 5 34816 12 4194304")).toBe(true)
    expect(Terminal.isInForeground("12 (node) S 1 12 5 34816 5 4194304")).toBe(false)
    expect(Terminal.isInForeground(undefined)).toBe(true)
  })

  it("colours a text if wanted, and an empty text not", () => {
    expect(Terminal.paint(true, "red", "a")).toBe("\u001b[31ma\u001b[0m")
    expect(Terminal.paint(true, "red", "")).toBe("")
    expect(Terminal.paint(false, "red", "a")).toBe("a")
  })
})
