import { describe, expect, it } from "@effect/vitest"
import * as Terminal from "../../src/cli/Terminal.ts"

const columnsOf = (stdout: number | undefined, stderr: number | undefined): number => {
  const stream = (columns: number | undefined): Terminal.Stream => ({
    isTTY: true,
    write: () => true,
    ...(columns === undefined ? {} : { columns })
  })
  return Terminal.make(stream(stdout), stream(stderr), {}).columns()
}

/** What each stream gets of a text. */
const written = (isTTY: boolean, text: string): ReadonlyArray<string> => {
  const got: Array<string> = []
  const stream = (): Terminal.Stream => ({ isTTY, columns: 80, write: (text) => got.push(text) })
  const terminal = Terminal.make(stream(), stream(), {})
  terminal.stdout(text)
  terminal.stderr(text)
  return got
}

describe("Terminal", () => {
  it("shows no control character but colours and what repaints a line, whoever wrote it", () => {
    const own = "\r\u001b[K\u001b[2A\u001b[J\u001b[33mwait\u001b[0m\n"
    expect(written(true, own)).toEqual([own, own])
    const outside = "a\u202eb\u001b]0;title\u0007c\u001b[5;5Hd\u009be\u2066f\u0008g"
    expect(written(true, outside)).toEqual(["ab]0;titlec[5;5Hdefg", "ab]0;titlec[5;5Hdefg"])
  })

  it("gives a file or a pipe every byte", () => {
    expect(written(false, "a\u202eb\u0000")).toEqual(["a\u202eb\u0000", "a\u202eb\u0000"])
  })

  it("is as wide as its window", () => {
    expect(columnsOf(120, 100)).toBe(100)
    expect(columnsOf(120, undefined)).toBe(120)
  })

  it("has its usual width where nobody has said how wide it is: one without a window says 0", () => {
    expect(columnsOf(undefined, undefined)).toBe(80)
    expect(columnsOf(0, 0)).toBe(80)
    expect(columnsOf(120, 0)).toBe(120)
  })
})
