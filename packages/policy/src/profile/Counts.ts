/** Schemas of whole numbers in a configuration. */
import { Checks } from "@holdfast/wire"
import * as Schema from "effect/Schema"

/** A whole number of `least` or more. */
export const from = (least: number) =>
  Schema.Int.check(Checks.isWithin(least, `Expected a value greater than or equal to ${least}`))
