import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { OpenApi } from "effect/http-api"
import * as fc from "fast-check"
import { Api, ConversationsGroup } from "../../src/api/index.ts"
import * as Command from "../../src/Command.ts"
import * as Moment from "../../src/values/Moment.ts"

const overHttp = Schema.decodeUnknownResult(ConversationsGroup.bodies.waitUntil)
const overSocket = Schema.decodeUnknownResult(Command.Command)

const refusalOf = (until: unknown): string => {
  const result = overHttp({ until })
  return Result.isFailure(result) ? result.failure.message : ""
}

describe("Moment", () => {
  it("rule X4: a request names the end of a wait in milliseconds or as a date, and the command has milliseconds", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Moment.LATEST }), (at) => {
        for (const until of [at, new Date(at).toISOString()]) {
          expect(Result.getOrThrow(overHttp({ until }))).toEqual({ until: at })
        }
      })
    )
    expect(Result.getOrThrow(overHttp({ until: "2026-02-14T08:00:00+01:00" }))).toEqual({ until: 1_771_052_400_000 })
    const command = { type: "wait-until", conversationId: "c-1" }
    expect(Result.isSuccess(overSocket({ ...command, until: 1_771_052_400_000 }))).toBe(true)
    expect(Result.isSuccess(overSocket({ ...command, until: "2026-02-14T07:00:00Z" }))).toBe(false)
  })

  it("rule X4: a fraction of a millisecond does not end the wait before the moment that was asked for", () => {
    expect(Result.getOrThrow(overHttp({ until: "2026-02-14T07:00:00.0001Z" }))).toEqual({ until: 1_771_052_400_001 })
  })

  it("rule X4: an invalid moment is rejected with the value found and the form expected", () => {
    for (const until of [
      "tomorrow",
      "",
      "2026-02-14",
      "2026-02-14T07:00:00",
      "2026-02-30T07:00:00Z",
      "1969-12-31T23:59:59Z",
      "1771052400000",
      1_771_052_400_000_000_000,
      -1
    ]) {
      expect(refusalOf(until)).toContain(`found ${JSON.stringify(until)}; expected epoch milliseconds, as in`)
      expect(refusalOf(until)).toContain('"2026-02-14T07:00:00Z"')
    }
    for (const until of [true, null, ["2026-02-14T07:00:00Z"], {}]) {
      expect(refusalOf(until)).toContain("expected epoch milliseconds, as in")
    }
    expect(refusalOf("9".repeat(5000)).length).toBeLessThan(400)
  })

  it("rule X4: the document has both forms, with an example of each", () => {
    const { schemas } = OpenApi.fromApi(Api.Api).components
    const until = JSON.stringify(schemas["WaitUntil"])
    for (const part of [
      '"number"',
      '"string"',
      "epoch milliseconds",
      "RFC 3339",
      "1771052400000",
      "2026-02-14T07:00:00Z"
    ]) {
      expect(until).toContain(part)
    }
  })
})
