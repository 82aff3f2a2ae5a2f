import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as Draft from "../../src/attach/Draft.ts"

const LIMITS = { fileBytes: 1_000_000, bodyBytes: 2_000_000 }

it("a file that is too large, empty or one too many is refused with its size and the limit", () => {
  const { fitting, problems } = Draft.admit(
    [],
    [
      { name: "a.png", size: 10 },
      { name: "film.mp4", size: 1_200_000 },
      { name: "none.txt", size: 0 }
    ],
    LIMITS
  )
  expect(fitting).toEqual([{ name: "a.png", size: 10 }])
  expect(problems).toEqual(["“film.mp4” has 1.2 MB. A file may have 1 MB at most.", "“none.txt” is empty."])
  const there = Array.from({ length: 99 }, () => ({ name: "a", size: 1 }))
  expect(Draft.admit(there, [{ name: "b", size: 1 }], LIMITS).problems).toEqual([
    "“b” is one too many. A prompt may have 99 files."
  ])
})

it("what is admitted fits one call, whatever was chosen", () => {
  const size = fc.oneof(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 1, max: 100 }))
  fc.assert(
    fc.property(fc.array(size, { maxLength: 120, size: "max" }), (sizes) => {
      const files = sizes.map((size, index) => ({ name: String(index), size }))
      const { fitting, problems } = Draft.admit([], files, LIMITS)
      expect(fitting.length + problems.length).toBe(files.length)
      expect(fitting.length).toBeLessThan(100)
      const characters = fitting.reduce((sum, { size }) => sum + Math.ceil(size / 3) * 4, 0)
      expect(characters).toBeLessThan(LIMITS.bodyBytes)
    })
  )
})

it("a prompt has its text first; it may be files alone, and an empty one is none", () => {
  const file = { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" } as const
  expect(Draft.partsOf("Look", [file])).toEqual([{ type: "text", text: "Look" }, file])
  expect(Draft.partsOf("", [file])).toEqual([file])
  expect(Draft.partsOf("Look", [])).toBe("Look")
  expect(Draft.partsOf("", [])).toBeUndefined()
})

it("types and names are as the service takes them", () => {
  expect(Draft.mediaTypeOf({ type: "Text/Plain; charset=utf-8" })).toBe("text/plain")
  expect(Draft.mediaTypeOf({ type: "" })).toBe("application/octet-stream")
  expect(Draft.nameOf("a/b\\c\u0007.png")).toBe("a_b_c_.png")
  expect(Draft.nameOf("")).toBe("file")
  expect(Draft.nameOf("x".repeat(400)).length).toBe(255)
})
