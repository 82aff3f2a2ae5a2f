/** Tests the counts of calls against a count of each call. */
import type { Failure } from "@holdfast/wire"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { CallCounts, noCalls } from "../../../src/engine/gate/RecentCalls.ts"
import * as Law from "../../Law.ts"

const MINUTE = 60_000

const failure: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }

const target = (model: string) => ({ provider: "a", model })

describe("RecentCalls", () => {
  it("has the calls of this minute and the 59 before it, each in its part", () => {
    const call = fc.record({ afterMs: fc.nat(30 * MINUTE), model: fc.constantFrom("m", "n"), hasFailed: fc.boolean() })
    Law.holds(
      [fc.nat(10 * MINUTE), fc.array(call, { maxLength: 60, size: "max" }), fc.nat(70 * MINUTE)],
      (begin, calls, later) => {
        const counts = new CallCounts(begin)
        let end = begin
        const at = calls.map(({ afterMs }) => (end += afterMs))
        for (const [i, { hasFailed, model }] of calls.entries())
          counts.count({
            target: target(model),
            endedAt: at[i] ?? 0,
            failure: hasFailed ? failure : undefined,
            isAnswered: !hasFailed
          })
        const now = (at.at(-1) ?? begin) + later
        const first = Math.floor(now / MINUTE) - 59
        for (const { lastAnswerAt, lastFailure, lastHour, target } of counts.read(now)) {
          const own = calls.flatMap((each, i) => (each.model === target.model ? [{ ...each, at: at[i] ?? 0 }] : []))
          const recent = own.filter(({ at }) => Math.floor(at / MINUTE) >= first)
          const parts = (of: typeof own) =>
            noCalls.parts.calls.map(
              (_, part) => of.filter(({ at }) => Math.floor((Math.floor(at / MINUTE) - first) / 5) === part).length
            )
          const failed = recent.filter(({ hasFailed }) => hasFailed)
          expect(lastHour).toEqual({
            calls: recent.length,
            failed: failed.length,
            parts: { calls: parts(recent), failed: parts(failed) }
          })
          expect(lastFailure?.at).toBe(own.findLast(({ hasFailed }) => hasFailed)?.at)
          expect(lastAnswerAt).toBe(own.findLast(({ hasFailed }) => !hasFailed)?.at)
        }
        expect(counts.read(now).length).toBe(new Set(calls.map(({ model }) => model)).size)
      }
    )
  })

  it("calls of the future, as a clock that was set back leaves them, do not count", () => {
    const counts = new CallCounts(0)
    for (const minute of [100, 101, 105, 110])
      counts.count({ target: target("m"), endedAt: minute * MINUTE, failure, isAnswered: false })
    const parts = noCalls.parts.calls.map((_, part) => (part === 11 ? 1 : 0))
    const [known] = counts.read(100 * MINUTE)
    expect(known?.lastHour).toEqual({ calls: 1, failed: 1, parts: { calls: parts, failed: parts } })
  })

  it("of more endpoints than are kept the first ones are forgotten", () => {
    const counts = new CallCounts(7)
    for (let i = 0; i < 1_100; i++) counts.count({ target: target(`m${i}`), endedAt: 1, isAnswered: true })
    const known = counts.read(1).map(({ target }) => target.model)
    expect([known.length, known[0], known.at(-1), counts.since]).toEqual([1_000, "m100", "m1099", 7])
  })
})
