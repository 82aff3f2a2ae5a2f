/**
 * The text of a position in a list, as clients carry it from page to page: plain functions.
 *
 * A cursor belongs to the list and the filter that it was made for. With another one it is refused, as is any other text.
 */
import { Option, Schema } from "effect"
import { createHash } from "node:crypto"
import type { Position } from "../storage/Lists.ts"

/** What a cursor is refused with. */
export const REFUSAL =
  "cursor: it is none that this list gave with the same filter. Leave it out, which gives the first page."

/** @param query the list and its filter, without page and limit */
export const encode = (query: unknown, { at, number }: Position): string =>
  Buffer.from(JSON.stringify([VERSION, printOf(query), at, number])).toString("base64url")

/** The position of a cursor; none where it is not one of this query. */
export const decode = (query: unknown, cursor: string): Option.Option<Position> => {
  if (cursor.length > LONGEST || !/^[\w-]+$/.test(cursor)) return Option.none()
  return decodeText(Buffer.from(cursor, "base64url").toString("utf8")).pipe(
    Option.filter(([, print]) => print === printOf(query)),
    Option.map(([, , at, number]) => ({ at, number }))
  )
}

// --- internal

const VERSION = 1

/** Far more than any of them has. */
const LONGEST = 200

const whole = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

const decodeText = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Tuple([Schema.Literal(VERSION), Schema.String, whole, whole]))
)

const printOf = (query: unknown): string =>
  createHash("sha256").update(JSON.stringify(query)).digest("base64url").slice(0, 8)
