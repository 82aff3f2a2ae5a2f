/** What a turn has to end with (A9 to A14), as settings; the kernel makes it happen. */
import { Schema } from "effect"

export const FinalReport = Schema.Struct({
  /** What a report must look like: a JSON Schema. The model sees it as the final-report tool's input. */
  schema: Schema.Record(Schema.String, Schema.Json).annotate({
    message: 'Expected a JSON Schema: an object such as { "type": "object", "properties": {} }'
  }),
  /** What the model is told of the tool. Absent: a plain sentence of the kernel's. */
  description: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/\S/u, { message: "Expected a description that is not blank" }))
  ),
  /** Tokens. A step whose request would be larger is the final one (A11). Absent: no limit. */
  contextBudget: Schema.optionalKey(
    Schema.Int.check(Schema.isGreaterThan(0, { message: "Expected a number of tokens above 0" }))
  )
})
export type FinalReport = typeof FinalReport.Type
