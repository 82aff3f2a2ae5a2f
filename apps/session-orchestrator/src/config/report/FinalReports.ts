/** Makes the kernel's `FinalReport` from a policy: a tool checked against a JSON Schema. */
import type { FinalReport } from "@holdfast/kernel"
import type { RetryPolicy } from "@holdfast/policy"
import { Option, Predicate } from "effect"
import * as ReportSchema from "./ReportSchema.ts"
import { createContext, Script } from "node:vm"

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
      const isGood = withinTime(() => validate(report), CHECK_LIMIT_MS)
      if (Option.isNone(isGood)) return UNCHECKED
      return isGood.value ? undefined : ReportSchema.errorsText(validate)
    }
  }
}

/**
 * Returns the result of `compute`, or nothing if it took longer than `limitMs`, so that a pattern of a user cannot block the process: V8 itself
 * interrupts a regular expression that backtracks. An interrupted function has run in part, without its `finally` blocks: it must not leave state
 * behind that matters. The limit itself costs 0.2 ms.
 *
 * V8 has only the clock. Where the time passed without half of it being used, the machine was busy with others, and the function is called again.
 */
export const withinTime = <A>(compute: () => A, limitMs: number, before = process.cpuUsage()): Option.Option<A> => {
  const { context, script, globals } = (sandbox ??= makeSandbox())
  let result = Option.none<A>()
  globals.call = () => {
    result = Option.some(compute())
  }
  try {
    script.runInContext(context, { timeout: limitMs })
    return result
  } catch (error) {
    if (!Predicate.hasProperty(error, "code") || error.code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error
    const { system, user } = process.cpuUsage(before)
    return (system + user) / 1_000 < limitMs / 2 ? withinTime(compute, limitMs, before) : Option.none()
  } finally {
    globals.call = undefined
  }
}

// --- internal

/**
 * Milliseconds for one check; usually it takes less than one. A client chooses the schema, and a `pattern`
 * that backtracks, or references that double, could run for years over a short report.
 */
const CHECK_LIMIT_MS = 500

const UNCHECKED =
  `it could not be checked within ${CHECK_LIMIT_MS}ms. A pattern of the schema may backtrack without end on one of its texts, or ` +
  "it may be far too large."

const makeSandbox = () => {
  const globals: { call: (() => void) | undefined } = { call: undefined }
  return { globals, context: createContext(globals), script: new Script("call()") }
}

/** Made on first use, as a context takes a millisecond to make and few processes need one. */
let sandbox: ReturnType<typeof makeSandbox> | undefined = undefined
