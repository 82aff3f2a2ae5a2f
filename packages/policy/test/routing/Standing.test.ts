import { describe, expect, it } from "@effect/vitest"
import { Failure } from "@holdfast/wire"
import { Schema } from "effect"
import * as fc from "fast-check"
import { Standing } from "../../src/index.ts"
import { target } from "./RoutedStep.ts"

const { KINDS } = Standing

/** Few moments and names, so that they meet. */
const moment = fc.integer({ min: 0, max: 5 })
const pause: fc.Arbitrary<Standing.Pause> = fc.record(
  {
    until: moment,
    reason: fc.constantFrom(...Failure.Reason.literals),
    retryable: fc.boolean(),
    askedUntil: moment,
    since: moment
  },
  { requiredKeys: ["until", "reason", "retryable"] }
)
const thing: fc.Arbitrary<Standing.Thing> = fc.record({
  kind: fc.constantFrom(...KINDS),
  name: fc.constantFrom("a/a", "b/b", "c/c")
})

/** A finding of one turn: a failure, or a success. */
const finding: fc.Arbitrary<Standing.Standing> = fc.oneof(
  fc.tuple(thing, pause).map(([thing, pause]) => Standing.paused(thing, pause)),
  fc.tuple(thing, moment, moment).map(([{ kind, name }, at, until]) => ({
    ...Standing.empty,
    [kind]: { [name]: { pauses: [], cleared: { at, until } } }
  }))
)
const together = (findings: ReadonlyArray<Standing.Standing>) => findings.reduce(Standing.merge, Standing.empty)
const standing = fc.array(finding, { maxLength: 8 }).map(together)

describe("Standing", () => {
  it("rule P7, P8, C12: merging in any order, any number of times, gives the same", () => {
    fc.assert(
      fc.property(standing, standing, standing, (a, b, c) => {
        expect(Standing.merge(a, a)).toEqual(a)
        expect(Standing.merge(a, b)).toEqual(Standing.merge(b, a))
        expect(Standing.merge(Standing.merge(a, b), c)).toEqual(Standing.merge(a, Standing.merge(b, c)))
        expect(Standing.merge(Standing.merge(a, b), b)).toEqual(Standing.merge(a, b))
        expect(Standing.merge(a, Standing.empty)).toEqual(a)
      }),
      { numRuns: 5_000 }
    )
  })

  it("rule P7, P8, C12: the latest end of the pauses that no success has ended counts, and the latest hint", () => {
    const things = { kind: "models", name: "a/a" } as const
    const seen = fc.array(fc.oneof(pause, moment), { maxLength: 8 })
    fc.assert(
      fc.property(seen, moment, (seen, now) => {
        const successes = seen.filter((one) => typeof one === "number")
        const last = Math.max(-1, ...successes)
        const merged = together(
          seen.map((one) =>
            typeof one === "number"
              ? { ...Standing.empty, models: { "a/a": { pauses: [], cleared: { at: one, until: 9 } } } }
              : Standing.paused(things, one)
          )
        )
        const left = seen
          .filter((one) => typeof one !== "number")
          .filter(({ since = -2, until }) => until > now && (successes.length === 0 || since > last))
        const pause = Standing.of(merged, things, now)
        expect(pause?.until ?? -Infinity).toBe(Math.max(...left.map(({ until }) => until)))
        expect(pause?.askedUntil ?? -1).toBe(Math.max(-1, ...left.map(({ askedUntil = -1 }) => askedUntil)))
      }),
      { numRuns: 5_000 }
    )
  })

  it("rule P7, P8: a pause that another one covers leaves no trace", () => {
    const thing = { kind: "targets", name: "a/a" } as const
    const merged = (...pauses: ReadonlyArray<Standing.Pause>) =>
      together(pauses.map((one) => Standing.paused(thing, one))).targets["a/a"]?.pauses
    const most = { until: 9, reason: "overloaded", retryable: true, askedUntil: 7, since: 3 } as const
    for (const less of [{ until: 8 }, { askedUntil: 6 }, { since: 2 }, { until: 8, askedUntil: 6, since: 2 }]) {
      expect(merged(most, { ...most, ...less })).toEqual([most])
      expect(merged({ ...most, ...less }, most)).toEqual([most])
    }
    const longer = { ...most, until: 10, since: 2 }
    expect(merged(most, longer)).toHaveLength(2)
  })

  it("rule P8: of two pauses that differ only in whether they pass with time, the one that passes counts", () => {
    const thing = { kind: "targets", name: "a/a" } as const
    const hopeful = { until: 9, reason: "overloaded", retryable: true, since: 3 } as const
    const hopeless = { ...hopeful, retryable: false }
    for (const both of [
      [hopeful, hopeless],
      [hopeless, hopeful]
    ]) {
      const standing = together(both.map((one) => Standing.paused(thing, one)))
      expect(standing.targets["a/a"]?.pauses).toEqual([hopeful])
    }
  })

  it("rule P8: which of several pauses counts does not depend on the order that they are stored in", () => {
    const ofPauses = (pauses: ReadonlyArray<Standing.Pause>, now: number) =>
      Standing.of({ ...Standing.empty, targets: { "a/a": { pauses } } }, { kind: "targets", name: "a/a" }, now)
    fc.assert(
      fc.property(fc.array(pause, { maxLength: 4 }), moment, (pauses, now) => {
        expect(ofPauses(pauses.toReversed(), now)).toEqual(ofPauses(pauses, now))
      }),
      { numRuns: 1_000 }
    )
  })

  it("rule C12: a success ends the pauses of the things it used that were known when its call began, and no other", () => {
    fc.assert(
      fc.property(standing, moment, (standing, began) => {
        const used = Standing.usedBy(target("b/b"), "K")
        const changes = Standing.cleared(standing, used, began)
        const after = Standing.merge(standing, changes)
        for (const kind of KINDS) {
          for (const name of ["a/a", "b/b", "c/c"]) {
            const entry = standing[kind][name]
            const isUsed = used.some((thing) => thing.kind === kind && thing.name === name)
            const left = entry?.pauses.filter(({ since = -1 }) => !isUsed || since > began) ?? []
            expect(after[kind][name]?.pauses ?? []).toEqual(left)
          }
        }
        // If it ends no pause there is nothing to store.
        const ended = standing.targets["b/b"]?.pauses.some(({ since = -1 }) => since <= began) ?? false
        expect(Standing.isEmpty(changes)).toBe(!ended)
      })
    )
  })

  it("rule C12: a pause that comes late does not return once a success has ended it", () => {
    const late = { until: 100, reason: "quota-exhausted", retryable: true, since: 3 } as const
    const thing = Standing.model(target("g/pro"), "KEY")
    const known = Standing.paused(thing, late)
    const success = Standing.cleared(known, [thing], 5)
    expect(Standing.of(Standing.merge(Standing.expire(success, 50), known), thing, 50)).toBeUndefined()
    expect(Standing.of(Standing.merge(success, Standing.paused(thing, { ...late, since: 6 })), thing, 50)?.until).toBe(
      100
    )
  })

  it("rule P9: a pause is over at its end, and then leaves no trace", () => {
    fc.assert(
      fc.property(standing, fc.integer({ min: 0, max: 6 }), (standing, now) => {
        const left = Standing.expire(standing, now)
        for (const kind of KINDS) {
          for (const name of ["a/a", "b/b", "c/c"]) {
            expect(Standing.of(left, { kind, name }, now)).toEqual(Standing.of(standing, { kind, name }, now))
            for (const { until } of left[kind][name]?.pauses ?? []) expect(until).toBeGreaterThan(now)
            expect(Standing.of(standing, { kind, name }, now)?.until ?? Infinity).toBeGreaterThan(now)
          }
        }
        expect(Standing.isEmpty(Standing.expire(standing, 6))).toBe(true)
      })
    )
  })

  it("is the same after JSON, as another runner reads it", () => {
    const read = Schema.decodeUnknownSync(Schema.fromJsonString(Standing.Standing))
    fc.assert(
      fc.property(standing, (standing) => {
        expect(read(JSON.stringify(standing))).toEqual(standing)
      })
    )
  })

  it("distinguishes credentials of one name at two providers", () => {
    const pause = { until: 10, reason: "quota-exhausted", retryable: false } as const
    const standing = Standing.paused(Standing.credential("a", "KEY"), pause)
    expect(Standing.of(standing, Standing.credential("a", "KEY"), 0)).toEqual(pause)
    expect(Standing.of(standing, Standing.credential("b", "KEY"), 0)).toBeUndefined()
    expect(Standing.of(standing, Standing.account("a", "KEY"), 0)).toBeUndefined()
  })
})
