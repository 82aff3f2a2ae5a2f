/** Settings of the final report of a turn (A9 to A14); the kernel enforces it. */
import { Checks } from "@holdfast/wire"
import * as Schema from "effect/Schema"

/** The settings of a final report. */
export const FinalReport = Schema.Struct({
  /** The JSON Schema of a report. The model receives it as the final-report tool's input. */
  schema: Schema.Record(Schema.String, Schema.Json).annotate({
    message: 'Expected a JSON Schema: an object such as { "type": "object", "properties": {} }'
  }),
  /** The tool's description for the model. Absent: a plain sentence of the kernel. */
  description: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/\S/u, { message: "Expected a description that is not blank" }))
  ),
  /** Tokens. A step whose request would be larger is the final one (A11). Absent: no limit. */
  contextBudget: Schema.optionalKey(Schema.Int.check(Checks.isWithin(1, "Expected a number of tokens above 0")))
})
export type FinalReport = typeof FinalReport.Type
