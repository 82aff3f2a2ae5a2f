/** Makes the kernel's `FinalReport` from a policy: a tool checked against a JSON Schema. */
import type { FinalReport } from "@holdfast/kernel"
import type { RetryPolicy } from "@holdfast/policy"
import { Option } from "effect"
import * as ReportSchema from "./ReportSchema.ts"
import * as TimeLimit from "../system/TimeLimit.ts"

/** The tool's name. A tool server's tool with the same name is not offered. */
export const TOOL_NAME = "final_report"

const DESCRIPTION =
  "Hands in the final report and ends the work. Call it once, when everything that was asked for is done or cannot be done."

/** The report that turns of this policy end with; `undefined` if they end with text. */
export const make = ({
  finalReport
}: Pick<RetryPolicy.RetryPolicy, "finalReport">): FinalReport.FinalReport["Service"] | undefined => {
  if (finalReport === undefined) return undefined
  const { description = DESCRIPTION, schema } = finalReport
  const validate = ReportSchema.validatorOf(schema)
  return {
    // Providers require a tool's input schema to have the type "object".
    tool: { name: TOOL_NAME, description, inputSchema: { type: "object", ...schema } },
    validate: (report) => {
      const isGood = TimeLimit.run(() => validate(report), CHECK_LIMIT_MS)
      if (Option.isNone(isGood)) return UNCHECKED
      return isGood.value ? undefined : ReportSchema.errorsText(validate)
    }
  }
}

// --- internal

/**
 * Milliseconds for one check; usually it takes less than one, the rest is for a busy machine. A client chooses the schema, and a `pattern`
 * that backtracks, or references that double, could run for years over a short report.
 */
const CHECK_LIMIT_MS = 500

const UNCHECKED =
  `it could not be checked within ${CHECK_LIMIT_MS}ms. A pattern of the schema may backtrack without end on one of its texts, or ` +
  "it may be far too large."
