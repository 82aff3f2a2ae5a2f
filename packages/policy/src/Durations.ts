/**
 * Durations as a configuration writes them: strings as Effect reads them, "30 minutes" or "100 millis".
 *
 * Here are their ranges. A wait is a whole number of milliseconds, so one below `SHORTEST_MS` would be none at all.
 *
 * Durations.D1. The patterns are for editors (JSON Schema). Each accepts every text that its schema accepts, and refuses what a pattern
 * can refuse: other text, another sign. The longest and the shortest duration are for the schema alone.
 */
import { Duration, Option, Schema } from "effect"
import * as Backoff from "./Backoff.ts"

/** The shortest wait there is. */
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
    .pipe(Schema.decodeTo(Schema.DurationFromString))

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

/** In milliseconds, or what stands where there is none. */
export const millisOr = (duration: Duration.Duration | undefined, otherwise: number): number =>
  duration === undefined ? otherwise : Duration.toMillis(duration)

// --- internal

/** What ends later than that may end at no moment that there is a date for. */
const tooLong = (duration: Duration.Duration): string | undefined =>
  Duration.toMillis(duration) > Backoff.LONGEST_MS ? "Expected a duration of 365 days at most" : undefined

const read = Schema.decodeUnknownOption(Schema.DurationFromString)
