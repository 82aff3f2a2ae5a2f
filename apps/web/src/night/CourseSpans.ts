/** The course of a turn as shapes on the line of time, and the attempt at a place of it. Pure. */
import { Count, type TurnCourse } from "@holdfast/wire"
import * as Period from "./Period.ts"

/** The shapes: spans of time, and marks at moments. */
export type SpanShape = "wait" | "call" | "failed" | "shared" | "lost" | "answered" | "switched"

/** In the order in which they are drawn. */
export const SHAPES: ReadonlyArray<SpanShape> = ["wait", "call", "failed", "shared", "switched", "lost", "answered"]

/** The words of the legend. */
export const WORDS: Readonly<Record<SpanShape, string>> = {
  wait: "waits",
  call: "calls",
  failed: "call failed",
  shared: "failure of another turn’s call",
  lost: "the service died",
  answered: "answered",
  switched: "other model"
}

/** The width of a row in units of its drawing. */
export const WIDTH = 10_000

/** The height of a row in the same units, which are stretched. */
export const HEIGHT = 16

/** One path for each shape that the course has, so that a row is a handful of elements however long the turn was. */
export const pathsOf = (
  { attempts }: TurnCourse.TurnCourse,
  since: number,
  until: number
): ReadonlyArray<readonly [shape: SpanShape, path: string]> => {
  const parts: Array<readonly [shape: SpanShape, part: string]> = []
  const add = (shape: SpanShape, part: string): void => void parts.push([shape, part])
  const x = (at: number): number => placeOf(at, since, until)
  const isShown = (at: number): boolean => at >= since && at <= until
  const line = (from: number, to: number): string => `M${x(from)} ${HEIGHT / 2}H${x(to)}`
  const mark = (at: number): string => marksOf([at], since, until)
  let before: string | undefined
  for (const { from, outcome, target, to = until, wait } of attempts) {
    if (to >= since && from <= until) add("call", line(from, to))
    if (outcome !== "under-way" && outcome !== "cut-short" && isShown(to)) add(outcome, mark(to))
    if (before !== undefined && before !== target && isShown(from)) add("switched", mark(from))
    if (wait !== undefined && wait.to >= since) add("wait", line(wait.from, wait.to))
    for (const at of wait?.deaths ?? []) if (isShown(at)) add("lost", mark(at))
    before = target
  }
  return SHAPES.flatMap((shape) => {
    // Marks at the same place are drawn once.
    const found = new Set(parts.flatMap(([of, part]) => (of === shape ? part : [])))
    return found.size === 0 ? [] : [[shape, [...found].join("")] as const]
  })
}

/** Marks at moments, as one path. */
export const marksOf = (moments: ReadonlyArray<number>, since: number, until: number): string =>
  // Marks at the same place are drawn once.
  [...new Set(moments.map((at) => placeOf(at, since, until)))].map((x) => `M${x} 1V${HEIGHT - 1}`).join("")

/** The attempt at a moment: its call, or the wait behind it, is the nearest. */
export const attemptAt = ({ attempts }: TurnCourse.TurnCourse, at: number): TurnCourse.CourseAttempt | undefined => {
  let nearest: TurnCourse.CourseAttempt | undefined
  let least = Number.POSITIVE_INFINITY
  for (const attempt of attempts) {
    const end = attempt.wait?.to ?? attempt.to ?? Number.POSITIVE_INFINITY
    const away = Math.max(0, attempt.from - at, at - end)
    // Of two that touch, the later one begins there.
    if (away <= least) [nearest, least] = [attempt, away]
  }
  return nearest
}

/** The course in words, for people who do not see it. */
export const wordsOf = ({ attempts, omitted }: TurnCourse.TurnCourse): string => {
  const having = (outcome: TurnCourse.CourseOutcome) => attempts.filter((attempt) => attempt.outcome === outcome).length
  const deaths = attempts.reduce((sum, { wait }) => sum + (wait?.deaths?.length ?? 0), 0)
  const waits = attempts.filter(({ wait }) => wait !== undefined).length
  const targets = [...new Set(attempts.map(({ target }) => target))]
  const codes = [...new Set(attempts.flatMap(({ code }) => code ?? []))]
  const parts = [
    having("failed") === 0 || codes.length === 0
      ? counted(having("failed"), "failed call")
      : `${counted(having("failed"), "failed call")} (${codes.join(", ")})`,
    counted(having("shared"), "shared failure"),
    counted(having("lost"), "call cut by a crash", "calls cut by a crash"),
    counted(waits, "wait"),
    counted(deaths, "death of the service in a wait", "deaths of the service in waits"),
    targets.length > 1 ? `on ${targets.join(", then ")}` : "",
    omitted > 0 ? `and ${counted(omitted, "earlier attempt")}` : ""
  ]
  return parts.filter((part) => part !== "").join(", ")
}

// --- internal

const placeOf = (at: number, since: number, until: number): number =>
  Math.round(Period.placeOf(at, since, until) * WIDTH)

const counted = (count: number, one: string, many?: string): string => (count === 0 ? "" : Count.of(count, one, many))
