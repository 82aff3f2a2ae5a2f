/** The schema of schedules in a configuration. None of them repeats a delay of 0 without end. */
import * as Duration from "effect/Duration"
import { Checks } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import * as Backoff from "../decision/Backoff.ts"
import * as Durations from "./Durations.ts"

const Steps = Schema.Struct({
  type: Schema.Literal("steps"),
  /** The first delays, one by one. */
  delays: Schema.Array(Durations.NotNegative).check(Checks.hasSome("Expected at least one delay")),
  /** The delay of all further retries. Absent: the last of `delays`. */
  tail: Schema.optionalKey(Durations.Positive)
}).check(
  Schema.makeFilter(({ delays, tail }) =>
    tail !== undefined || Duration.toMillis(delays.at(-1) ?? 1) >= Durations.SHORTEST_MS
      ? undefined
      : { path: ["tail"], issue: "Expected a tail, because the last delay is 0 and would be repeated for ever" }
  )
)

const Exponential = Schema.Struct({
  type: Schema.Literal("exponential"),
  base: Durations.Positive,
  /** Absent: 2 (P4). */
  factor: Schema.optionalKey(Schema.Finite.check(Checks.isWithin(1, "Expected a factor of 1 or more")))
})

const Linear = Schema.Struct({
  type: Schema.Literal("linear"),
  base: Durations.Positive,
  /** Absent: `base`, so that the nth wait is n times as long. */
  increment: Schema.optionalKey(Durations.NotNegative)
})

/** The `schedule` of a `retry` object. */
export const Schedule = Schema.Union([Steps, Exponential, Linear]).annotate({
  message: 'Expected a schedule: an object whose "type" is "steps", "exponential" or "linear"'
})

/** Returns the schedule of settings. */
export const toSchedule = (schedule: typeof Schedule.Type): Backoff.Schedule => {
  switch (schedule.type) {
    case "steps": {
      const delaysMs = schedule.delays.map(Duration.toMillis)
      return { type: "steps", delaysMs, tailMs: Durations.millisOr(schedule.tail, delaysMs.at(-1) ?? 0) }
    }
    case "exponential":
      return Backoff.exponential(Duration.toMillis(schedule.base), schedule.factor ?? 2)
    case "linear": {
      const baseMs = Duration.toMillis(schedule.base)
      return Backoff.linear(baseMs, Durations.millisOr(schedule.increment, baseMs))
    }
    default:
      return schedule satisfies never
  }
}
