/** The port to a final report: where there is one, a turn ends with it and not with words (A9-A14). */
import { Context, Schema } from "effect"
import type { ToolDefinition } from "./Toolbox.ts"

/**
 * What was wrong with a report that was handed in (A12).
 *
 * - `malformed`: its arguments could not be read.
 * - `incomplete`: the response ended before it did.
 * - `invalid`: it does not fit its schema.
 */
export const Refusal = Schema.Literals(["malformed", "incomplete", "invalid"])
export type Refusal = typeof Refusal.Type

/** What a turn has to end with, where a report is asked for. */
export class FinalReport extends Context.Service<
  FinalReport,
  {
    /** The tool by which a model hands the report in; its arguments are the report. */
    readonly tool: ToolDefinition
    /** What is wrong with a report, in words that help a model to mend it; `undefined`: nothing. Pure. */
    readonly validate: (report: Schema.Json) => string | undefined
  }
>()("@holdfast/kernel/FinalReport") {}
