/** Settings of the final report of a turn (A9 to A14); the kernel enforces it. */
import { Checks } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import { required, setting } from "./Setting.ts"

/** The settings of a final report. */
export const FinalReportSetting = Schema.Struct({
  schema: required(
    Schema.Record(Schema.String, Schema.Json).annotate({
      message: 'Expected a JSON Schema: an object such as { "type": "object", "properties": {} }'
    }),
    {
      doc: "the required shape of a report: a JSON Schema of an object, of draft 2020-12, or 7 if its `$schema` names that. A report that cannot be checked within half a second, because a `pattern` backtracks on it, is not valid"
    }
  ),
  description: setting(
    Schema.String.check(Schema.isPattern(/\S/u, { message: "Expected a description that is not blank" })),
    { doc: "its description for the model", unset: "a plain sentence" }
  ),
  contextBudget: setting(Schema.Int.check(Checks.isWithin(1, "Expected a number of tokens above 0")), {
    doc: "tokens; a step whose request would be larger is the final one",
    unset: "no limit"
  })
})
export type FinalReportSetting = typeof FinalReportSetting.Type
