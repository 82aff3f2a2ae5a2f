/** The port to a final report: with it a turn ends with a checked report instead of text (A9-A14). */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type { ToolDefinition } from "./Toolbox.ts"

/**
 * The fault of a report that a model submitted (A12).
 *
 * - `malformed`: its arguments could not be read.
 * - `incomplete`: the response ended before the report did.
 * - `invalid`: it does not fit its schema.
 */
export const Refusal = Schema.Literals(["malformed", "incomplete", "invalid"])
export type Refusal = typeof Refusal.Type

/** The report that a turn has to end with. */
export class FinalReport extends Context.Service<
  FinalReport,
  {
    /** The tool that submits the report; its arguments are the report. */
    readonly tool: ToolDefinition
    /** Returns the fault of a report, in words that help a model to correct it; `undefined`: it is valid. Pure. */
    readonly validate: (report: Schema.Json) => string | undefined
  }
>()("@holdfast/kernel/FinalReport") {}
