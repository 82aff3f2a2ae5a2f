/** The kernel's `FinalReport` from a policy's settings: a tool whose arguments are checked against the JSON Schema given. */
import type { FinalReport } from "@holdfast/kernel"
import type { RetryPolicy } from "@holdfast/policy"
import type * as Ajv from "ajv/dist/2020.js"
import { Quote } from "@holdfast/wire"
import { Option, type Schema } from "effect"
import { createRequire } from "node:module"
import * as TimeLimit from "./TimeLimit.ts"

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
  const validate = validatorOf(schema)
  return {
    // Providers want to read of a tool's arguments that they are an object.
    tool: { name: TOOL_NAME, description, inputSchema: { type: "object", ...schema } },
    validate: (report) => {
      const isGood = TimeLimit.run(() => validate(report), CHECK_LIMIT_MS)
      if (Option.isNone(isGood)) return UNCHECKED
      return isGood.value ? undefined : checker().errorsText(validate.errors, { dataVar: "report", separator: "; " })
    }
  }
}

/** Why the schema of a report cannot be used, in words; `undefined` when it can, or there is none. */
export const problemOf = ({ finalReport }: Pick<RetryPolicy.RetryPolicy, "finalReport">): string | undefined => {
  if (finalReport === undefined) return undefined
  const { type = "object" } = finalReport.schema
  try {
    validatorOf(finalReport.schema)
    return type === "object" ? undefined : 'expected type "object", as a report is handed in as the arguments of a tool'
  } catch (error) {
    if (error instanceof RangeError) return "it is nested too deeply" // what the stack has to say of it tells nobody anything
    return Quote.message(error instanceof Error ? error.message : String(error))
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

type JsonSchema = { readonly [key: string]: Schema.Json }

/**
 * Loaded when the first schema is there: it takes 25 ms, and most services have none.
 *
 * Unknown keywords and formats are what models' schemas are full of; they check nothing, and are no reason to refuse one.
 */
const checker = (draft: "ajv" | "ajv/dist/2020.js" = "ajv/dist/2020.js"): Ajv.Ajv2020 => {
  const known = checkers.get(draft)
  if (known !== undefined) return known
  const load = (): { readonly default: typeof Ajv.Ajv2020 } => createRequire(import.meta.url)(draft)
  const made = new (load().default)({ strict: false, validateFormats: false, logger: false, addUsedSchema: false })
  checkers.set(draft, made)
  return made
}

const checkers = new Map<string, Ajv.Ajv2020>()

/** What most generators of schemas still write; it differs from the newest draft in how tuples are told. */
const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/

const compiled = new Map<string, Ajv.ValidateFunction>()

let compilations = 0

/** As many schemas as a service is likely to be configured with; a compiled one takes some 10 kB. */
const MOST_COMPILED = 100

/** Throws where the schema is none. */
const validatorOf = (schema: JsonSchema): Ajv.ValidateFunction => {
  const key = JSON.stringify(schema)
  const known = compiled.get(key)
  if (known !== undefined) return known
  const validate = compile(schema)
  compiled.set(key, validate)
  return validate
}

const compile = (schema: JsonSchema): Ajv.ValidateFunction => {
  // Of such a schema one is promised a verdict, and a promise would be taken for a good one.
  if (schema["$async"] !== undefined) throw new Error('expected a schema without "$async"')
  if (compilations++ >= MOST_COMPILED) {
    compiled.clear()
    checkers.clear() // A checker keeps what it has compiled for as long as it is there.
    compilations = 1
  }
  return checker(DRAFT_07.test(String(schema["$schema"])) ? "ajv" : undefined).compile(schema)
}
