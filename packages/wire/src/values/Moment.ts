/**
 * Schema of the time that a client moves a wait to.
 *
 * A request has epoch milliseconds or a date of RFC 3339.
 *
 * A command always has milliseconds, in either case.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as Quote from "./Quote.ts"
import * as Rfc3339 from "./Rfc3339.ts"

/** The last millisecond of the year 9999. */
export const LATEST = 253_402_300_799_999

/**
 * Epoch milliseconds, up to `LATEST`. A greater number is a mistake: micro- or nanoseconds, or no
 * date of any calendar.
 */
export const Moment = Schema.Finite.check(
  Schema.isBetween(
    { minimum: 0, maximum: LATEST },
    { message: "expected a moment in epoch milliseconds, from 1970 to the end of the year 9999" }
  )
)

const FORMS =
  'epoch milliseconds, as in 1771052400000, or a date as RFC 3339 writes it, as in "2026-02-14T07:00:00Z" or ' +
  '"2026-02-14T08:00:00+01:00", from 1970 to the end of the year 9999'

/** A moment in a request: epoch milliseconds, or a date with `Z` or an offset. It decodes to milliseconds. */
export const MomentOrDate = Schema.Union([Schema.Finite, Schema.String])
  .annotate({
    message: `expected ${FORMS}`,
    description: `The moment: ${FORMS}.`,
    examples: [1_771_052_400_000, "2026-02-14T07:00:00Z"]
  })
  .pipe(
    Schema.decodeTo(
      Moment,
      SchemaTransformation.transformEffect<number, number | string>({
        decode: (value, options) => {
          // Rounded up: a wait ends no sooner than its client asked.
          const moment = typeof value === "number" ? value : Math.ceil(Rfc3339.parse(value) ?? Number.NaN)
          return moment >= 0 && moment <= LATEST
            ? Effect.succeed(moment)
            : Effect.fail(
                new SchemaIssue.InvalidValue({ message: `found ${found(value)}; expected ${FORMS}` }, value, options)
              )
        },
        encode: (moment) => Effect.succeed(moment)
      })
    )
  )

// --- internal

const found = (value: number | string): string => JSON.stringify(typeof value === "string" ? Quote.clip(value) : value)
