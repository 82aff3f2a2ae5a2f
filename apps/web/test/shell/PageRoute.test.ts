import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as PageRoute from "../../src/shell/PageRoute.ts"

it("an address leads back to its place, whatever characters an id has", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: "grapheme" }), (conversationId) => {
      const route = { page: "conversation", conversationId } as const
      expect(PageRoute.parse(PageRoute.format(route))).toEqual(route)
    })
  )
  for (const page of ["conversations", "new", "night", "before", "health"] as const)
    expect(PageRoute.parse(PageRoute.format({ page }))).toEqual({ page })
})

it("an unknown address is the list", () => {
  for (const hash of ["", "#", "#/", "#/c", "#/c/", "#/elsewhere"]) {
    expect([hash, PageRoute.parse(hash)]).toEqual([hash, { page: "conversations" }])
  }
  expect(PageRoute.parse("#/c/%E0%A4%A")).toEqual({ page: "conversation", conversationId: "%E0%A4%A" })
})
