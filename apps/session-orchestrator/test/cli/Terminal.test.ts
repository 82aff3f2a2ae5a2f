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

describe("Terminal", () => {
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
