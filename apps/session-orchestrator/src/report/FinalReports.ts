/** The kernel's `FinalReport` from a policy's settings: a tool whose arguments are checked against the JSON Schema given. */
import type { FinalReport } from "@holdfast/kernel"
import type { RetryPolicy } from "@holdfast/policy"
import { Option } from "effect"
import * as ReportSchema from "./ReportSchema.ts"
import * as TimeLimit from "../system/TimeLimit.ts"

/** The name of the tool; one of a tool server that is called the same is not offered. */
export const TOOL_NAME = "final_report"

const DESCRIPTION =
  "Hands in the final report and ends the work. Call it once, when everything that was asked for is done or cannot be done."

/** The report that turns of this policy end with; `undefined` where they end with words. */
export const make = ({
  finalReport
}: Pick<RetryPolicy.RetryPolicy, "finalReport">): FinalReport.FinalReport["Service"] | undefined => {
  if (finalReport === undefined) return undefined
  const { description = DESCRIPTION, schema } = finalReport
  const validate = ReportSchema.validatorOf(schema)
  return {
    // Providers want to read of a tool's arguments that they are an object.
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
 * A client chooses the schema, and a `pattern` that backtracks, or references that double, take years over a short report. A check
 * takes less than a millisecond otherwise; the rest is for a machine that has other things to do.
 */
const CHECK_LIMIT_MS = 500

const UNCHECKED =
  `it could not be checked within ${CHECK_LIMIT_MS}ms. A pattern of the schema may backtrack without end on one of its texts, or ` +
  "it may be far too large."
