/** The schema of schedules in a configuration. None of them repeats a delay of 0 without end. */
import * as Duration from "effect/Duration"
import { Checks } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import * as Backoff from "../decision/Backoff.ts"
import * as Durations from "./Durations.ts"
import { required, setting } from "./Setting.ts"

const Steps = Schema.Struct({
  type: required(Schema.Literal("steps"), { doc: "`steps`, `exponential` or `linear`" }),
  delays: required(Schema.Array(Durations.NotNegative).check(Checks.hasSome("Expected at least one delay")), {
    doc: "steps: the waits one by one"
  }),
  tail: setting(Durations.Positive, { doc: "steps: then this, again and again", unset: "the last of `delays`" })
}).check(
  Schema.makeFilter(({ delays, tail }) =>
    tail !== undefined || Duration.toMillis(delays.at(-1) ?? 1) >= Durations.SHORTEST_MS
      ? undefined
      : { path: ["tail"], issue: "Expected a tail, because the last delay is 0 and would be repeated for ever" }
  )
)

const Exponential = Schema.Struct({
  type: Schema.Literal("exponential"),
  base: required(Durations.Positive, { doc: "exponential, linear: the first wait" }),
  factor: setting(Schema.Finite.check(Checks.isWithin(1, "Expected a factor of 1 or more")), {
    doc: "exponential: each wait is so many times the one before it",
    default: 2
  })
})

const Linear = Schema.Struct({
  type: Schema.Literal("linear"),
  base: Durations.Positive,
  increment: setting(Durations.NotNegative, {
    doc: "linear: each wait is so much longer than the one before it",
    unset: "`base`"
  })
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
