/** The destination of an attempt, as records and routers have it. */
import { Target } from "@holdfast/wire"
import * as Schema from "effect/Schema"

/** The destination of an attempt: a target, a credential, and the fallback chain that led there. */
export const Route = Schema.Struct({
  target: Target.Target,
  /** The name of one of the provider's credentials; absent: the provider's first. */
  credential: Schema.optionalKey(Schema.String),
  /** The fallback chain that led here (P8); absent on the primary. */
  role: Schema.optionalKey(Schema.String)
})
export type Route = typeof Route.Type
