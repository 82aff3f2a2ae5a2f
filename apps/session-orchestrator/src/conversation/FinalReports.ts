/** The kernel's `FinalReport` from a policy's settings: a tool whose arguments are checked against the JSON Schema given. */
import type { FinalReport } from "@holdfast/kernel"
import type { RetryPolicy } from "@holdfast/policy"
import { type Schema } from "effect"
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"

/** The name of the tool; one of a tool server that is called the same is not offered. */
export const TOOL_NAME = "final_report"

const DESCRIPTION =
  "Hands in the final report and ends the work. Call it once, when everything that was asked for is done or cannot be done."

/** The report that turns of this policy end with; `undefined` where they end with words. */
export const make = ({ finalReport }: RetryPolicy.RetryPolicy): FinalReport.FinalReport["Service"] | undefined => {
  if (finalReport === undefined) return undefined
  const validate = validatorOf(finalReport.schema)
  return {
    tool: { name: TOOL_NAME, description: finalReport.description ?? DESCRIPTION, inputSchema: finalReport.schema },
    validate: (report) =>
      validate(report) ? undefined : ajv.errorsText(validate.errors, { dataVar: "report", separator: "; " })
  }
}

/** Why a JSON Schema cannot be used, in words; `undefined` when it can. */
export const problemOf = (schema: JsonSchema): string | undefined => {
  try {
    validatorOf(schema)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

// --- internal

type JsonSchema = { readonly [key: string]: Schema.Json }

/** Unknown keywords and formats are what models' schemas are full of; they check nothing, and are no reason to refuse one. */
const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false, addUsedSchema: false })

const compiled = new Map<string, ValidateFunction>()

/** As many schemas as a service is likely to be configured with; a compiled one takes some 10 kB. */
const MOST_COMPILED = 100

/** Throws where the schema is none. */
const validatorOf = (schema: JsonSchema): ValidateFunction => {
  const key = JSON.stringify(schema)
  const known = compiled.get(key)
  if (known !== undefined) return known
  const validate = ajv.compile(schema)
  if (compiled.size >= MOST_COMPILED) compiled.clear()
  compiled.set(key, validate)
  return validate
}
