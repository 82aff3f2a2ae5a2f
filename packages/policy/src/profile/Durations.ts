/**
 * Schemas of durations in a configuration: "30 minutes" or "100 millis".
 *
 * The notation is Effect's; this file adds ranges. A duration is written in the largest unit that fits. A wait is a whole number of milliseconds, so below `SHORTEST_MS` there would be no
 * wait. The patterns are for editors (JSON Schema): each accepts every text that its schema accepts, and only the schema checks the
 * longest and the shortest duration.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as Backoff from "../decision/Backoff.ts"

/** The shortest wait, in milliseconds. */
export const SHORTEST_MS = 1

const NUMBER = "\\d+(?:\\.\\d+)?\\s+(?:nano|micro|milli|second|minute|hour|day|week)s?"

/** Nothing but zeros behind a minus. */
const NO_LESS_THAN_ZERO = "(?!-.*[1-9])-?"

const duration = (pattern: string) =>
  Schema.String.annotate({ message: 'Expected a string such as "30 minutes" or "100 millis"' })
    .check(
      Schema.makeFilter(
        (text: string) =>
          Option.isSome(read(text)) || 'Expected a duration such as "30 minutes", "8 hours" or "100 millis"',
        { toJsonSchema: () => [{ pattern }, true] }
      )
    )
    .pipe(
      Schema.decodeTo(
        Schema.Duration,
        SchemaTransformation.transform({
          decode: (text) => Option.getOrThrow(read(text)),
          encode: (duration) => written(duration)
        })
      )
    )

/** Any duration, "Infinity" and negative ones included. */
export const Any = duration(`^-?(?:Infinity|${NUMBER})$`)

/** A finite duration, zero included, of a year at most. */
export const NotNegative = duration(`^${NO_LESS_THAN_ZERO}${NUMBER}$`).check(
  Schema.makeFilter((duration) =>
    Duration.isFinite(duration) && !Duration.isNegative(duration)
      ? tooLong(duration)
      : "Expected a finite duration of 0 or more"
  )
)

/** A finite duration of at least a millisecond, and of a year at most. */
export const Positive = duration(`^(?=.*[1-9])${NUMBER}$`).check(
  Schema.makeFilter((duration) =>
    Duration.isFinite(duration) && Duration.toMillis(duration) >= SHORTEST_MS
      ? tooLong(duration)
      : "Expected a finite duration of at least 1 millisecond"
  )
)

/** A duration of zero or more; "Infinity" means without limit. */
export const Limit = duration(`^(?:Infinity|${NO_LESS_THAN_ZERO}${NUMBER})$`).check(
  Schema.makeFilter((duration) => !Duration.isNegative(duration) || 'Expected a duration of 0 or more, or "Infinity"')
)

/** Returns a duration in milliseconds, or a default. */
export const millisOr = (duration: Duration.Duration | undefined, defaultMs: number): number =>
  duration === undefined ? defaultMs : Duration.toMillis(duration)

// --- internal

/** Rejects a duration above a year: its end might be beyond the range of dates. */
const tooLong = (duration: Duration.Duration): string | undefined =>
  Duration.toMillis(duration) > Backoff.LONGEST_MS ? "Expected a duration of 365 days at most" : undefined

const read = Schema.decodeUnknownOption(Schema.DurationFromString)

const UNITS: ReadonlyArray<readonly [ms: number, name: string]> = [
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1_000, "second"]
]

const written = (duration: Duration.Duration): string => {
  const ms = Duration.toMillis(duration)
  const [unit, name] = UNITS.find(([unit]) => ms > 0 && ms % unit === 0) ?? []
  return unit === undefined ? String(duration) : `${ms / unit} ${name}${ms === unit ? "" : "s"}`
}
