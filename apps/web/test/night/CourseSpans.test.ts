import { Ids, type TurnCourse } from "@holdfast/wire"
import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as CourseSpans from "../../src/night/CourseSpans.ts"

const outcome = fc.constantFrom("answered", "failed", "shared", "lost", "cut-short", "under-way" as const)

/** Courses as the service has them: spans in order. */
const course = fc
  .array(fc.tuple(fc.nat(50), fc.nat(500), outcome, fc.constantFrom("a/m", "b/m"), fc.boolean()), {
    maxLength: 30,
    size: "max"
  })
  .map((drawn): TurnCourse.TurnCourse => {
    let at = 1_000
    const attempts = drawn.map(([call, waits, outcome, target, isWaiting], attempt) => {
      const [from, to] = [at, at + call]
      at = isWaiting ? to + waits : to
      return { step: 0, attempt, target, from, to, outcome, ...(isWaiting ? { wait: { from: to, to: at } } : {}) }
    })
    return { turnId: Ids.TurnId.make("t"), attempts, omitted: 0 }
  })

it("a course is one path for each of its shapes, within the row", () => {
  fc.assert(
    fc.property(course, fc.nat(3_000), fc.integer({ min: 1, max: 5_000 }), (course, since, length) => {
      const paths = CourseSpans.pathsOf(course, since, since + length)
      expect(paths.length).toBeLessThanOrEqual(CourseSpans.SHAPES.length)
      expect(new Set(paths.map(([shape]) => shape)).size).toBe(paths.length)
      for (const [, path] of paths) {
        for (const [, x] of path.matchAll(/[MH](\d+)/g)) expect(Number(x)).toBeLessThanOrEqual(CourseSpans.WIDTH)
        expect(path).toMatch(/^(M\d+ \d+[HV]\d+)+$/)
      }
    })
  )
})

it("the attempt at a place is the one whose call or wait is there", () => {
  fc.assert(
    fc.property(course, fc.nat(20_000), (course, at) => {
      const found = CourseSpans.attemptAt(course, at)
      const within = course.attempts.filter(({ from, to = from, wait }) => from <= at && at <= (wait?.to ?? to))
      if (within.length > 0) expect(found).toBe(within.at(-1))
      else if (at < 1_000) expect(found?.from).toBe(course.attempts[0]?.from)
      else expect(found).toBe(course.attempts.at(-1))
    })
  )
})

it("a course has words for people who do not see it", () => {
  const attempts: TurnCourse.TurnCourse["attempts"] = [
    {
      step: 0,
      attempt: 0,
      target: "a/m",
      from: 0,
      to: 5,
      outcome: "failed",
      code: "529",
      wait: { from: 5, to: 9, deaths: [7] }
    },
    { step: 0, attempt: 1, target: "b/m", from: 9, to: 12, outcome: "lost" },
    { step: 0, attempt: 2, target: "b/m", from: 12, to: 15, outcome: "answered" }
  ]
  expect(CourseSpans.wordsOf({ turnId: Ids.TurnId.make("t"), attempts, omitted: 2 })).toBe(
    "1 failed call (529), 1 call cut by a crash, 1 wait, 1 death of the service in a wait, on a/m, then b/m, and 2 earlier attempts"
  )
})
