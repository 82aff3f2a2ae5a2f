import { describe, expect, it } from "@effect/vitest"
import { Classification } from "../../src/index.ts"
import * as Status from "../../src/classification/Status.ts"

const now = Date.UTC(2026, 2, 1, 12)

describe("an HTTP status", () => {
  it("rule C2: has three digits and no fraction; any other number is ignored", () => {
    expect([99, 100, 999, 1_000, 200.5, Number.NaN].map(Status.isStatus)).toEqual([
      false,
      true,
      true,
      false,
      false,
      false
    ])
    expect([99, 1_000].map(Status.reasonOf)).toEqual([undefined, undefined])
  })

  it("rule C2: has a reason by its class, up to the edges", () => {
    expect([100, 199, 200, 299, 300, 399, 400, 499, 500, 999].map(Status.reasonOf)).toEqual([
      "invalid-response",
      "invalid-response",
      undefined,
      undefined,
      "bad-request",
      "bad-request",
      "bad-request",
      "aborted",
      "server-error",
      "server-error"
    ])
  })

  it("rule C2: inside a body is an error's from 400 to 599, as a number or written out", () => {
    const statuses = [399, 400, 599, 600]
    for (const values of [statuses, statuses.map(String)]) {
      expect(values.map(Status.errorStatusOf)).toEqual([undefined, 400, 599, undefined])
    }
    for (const value of [" 429", "429 ", "4290", 429.5, true, undefined]) {
      expect(Status.errorStatusOf(value)).toBeUndefined()
    }
  })

  it("rule C5: of a thrown error counts if it can be one", () => {
    const thrown = (status: number) =>
      Classification.ofThrown(Object.assign(new Error("failed"), { status }), now).status
    expect([99, 429, 999, 1_000].map(thrown)).toEqual([undefined, 429, 999, undefined])
  })
})
