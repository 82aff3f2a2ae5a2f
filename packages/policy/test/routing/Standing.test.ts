import { describe, expect, it } from "@effect/vitest"
import { Failure } from "@holdfast/wire"
import { Schema } from "effect"
import * as fc from "fast-check"
import { Standing } from "../../src/index.ts"
import { target } from "./Rig.ts"

/** Few moments and names, so that they meet. */
const pause: fc.Arbitrary<Standing.Pause> = fc.record(
  {
    until: fc.integer({ min: 0, max: 5 }),
    reason: fc.constantFrom(...Failure.Reason.literals),
    retryable: fc.boolean(),
    askedUntil: fc.integer({ min: 0, max: 5 })
  },
  { requiredKeys: ["until", "reason", "retryable"] }
)
const pauses = fc.dictionary(fc.constantFrom("a/a", "b/b", "c/c"), pause, { noNullPrototype: true })
const standing: fc.Arbitrary<Standing.Standing> = fc.record({ targets: pauses, credentials: pauses })

describe("Standing", () => {
  it("P7, P8: what is merged in any order, and as often as one likes, is the same", () => {
    fc.assert(
      fc.property(standing, standing, standing, (a, b, c) => {
        expect(Standing.merge(a, a)).toEqual(a)
        expect(Standing.merge(a, b)).toEqual(Standing.merge(b, a))
        expect(Standing.merge(Standing.merge(a, b), c)).toEqual(Standing.merge(a, Standing.merge(b, c)))
        expect(Standing.merge(Standing.merge(a, b), b)).toEqual(Standing.merge(a, b))
        expect(Standing.merge(a, Standing.empty)).toEqual(a)
      }),
      { numRuns: 2_000 }
    )
  })

  it("P7, P8: of two pauses of one thing the later end wins, and nothing that was asked for is forgotten", () => {
    fc.assert(
      fc.property(pause, pause, (a, b) => {
        const merged = Standing.merge(Standing.coolDown(target("a/a"), a), Standing.coolDown(target("a/a"), b))
        const pause = merged.targets["a/a"]
        expect(pause?.until).toBe(Math.max(a.until, b.until))
        expect(pause?.askedUntil ?? -1).toBe(Math.max(a.askedUntil ?? -1, b.askedUntil ?? -1))
      })
    )
  })

  it("P9: a pause is over at its end, and then leaves no trace", () => {
    fc.assert(
      fc.property(standing, fc.integer({ min: 0, max: 6 }), (standing, now) => {
        const left = Standing.expire(standing, now)
        for (const name of ["a/a", "b/b", "c/c"]) {
          const pause = standing.targets[name]
          const inForce = pause !== undefined && pause.until > now ? pause : undefined
          expect(Standing.ofTarget(standing, target(name), now)).toEqual(inForce)
          expect(Standing.ofTarget(left, target(name), now)).toEqual(inForce)
          expect(left.targets[name]).toEqual(inForce)
        }
        expect(Standing.isEmpty(Standing.expire(standing, 6))).toBe(true)
      })
    )
  })

  it("is what it was after JSON, as another runner reads it", () => {
    const read = Schema.decodeUnknownSync(Schema.fromJsonString(Standing.Standing))
    fc.assert(
      fc.property(standing, (standing) => {
        expect(read(JSON.stringify(standing))).toEqual(standing)
      })
    )
  })

  it("tells credentials of one name at two providers apart", () => {
    const pause = { until: 10, reason: "quota-exhausted", retryable: false } as const
    const standing = Standing.limit("a", "KEY", pause)
    expect(Standing.ofCredential(standing, "a", "KEY", 0)).toEqual(pause)
    expect(Standing.ofCredential(standing, "b", "KEY", 0)).toBeUndefined()
  })
})
