/** Compiles the JSON Schema of a final report, and reports why one cannot be used. */
import type { RetryPolicy } from "@holdfast/policy"
import { Quote } from "@holdfast/wire"
import type * as Ajv from "ajv/dist/2020.js"
import type { Schema } from "effect"
import { createRequire } from "node:module"

type JsonSchema = { readonly [key: string]: Schema.Json }

/** Why the schema of a report cannot be used, in words; `undefined` if it can, or if there is none. */
export const problemOf = ({ finalReport }: Pick<RetryPolicy.RetryPolicy, "finalReport">): string | undefined => {
  if (finalReport === undefined) return undefined
  const { type = "object" } = finalReport.schema
  try {
    validatorOf(finalReport.schema)
    return type === "object" ? undefined : 'expected type "object", as a report is handed in as the arguments of a tool'
  } catch (error) {
    if (error instanceof RangeError) return "it is nested too deeply" // The message of a stack overflow does not help.
    return Quote.message(error instanceof Error ? error.message : String(error))
  }
}

/** The check of a schema. Throws if it is no valid schema. */
export const validatorOf = (schema: JsonSchema): Ajv.ValidateFunction => {
  const key = JSON.stringify(schema)
  const known = compiled.get(key)
  if (known !== undefined) return known
  const validate = compile(schema)
  compiled.set(key, validate)
  return validate
}

/** The errors of the last check of a report, in words. */
export const errorsText = (validate: Ajv.ValidateFunction): string =>
  checker().errorsText(validate.errors, { dataVar: "report", separator: "; " })

// --- internal

/**
 * Loaded for the first schema: it takes 25 ms, and most services have no schema.
 *
 * Schemas for models often have unknown keywords and formats. These check nothing, and do not make a schema invalid.
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

/** The draft that most generators still write; the newest draft has another form of tuples. */
const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/

const compiled = new Map<string, Ajv.ValidateFunction>()

let compilations = 0

/** More schemas than a service is likely to have; a compiled one takes some 10 kB. */
const MOST_COMPILED = 100

const compile = (schema: JsonSchema): Ajv.ValidateFunction => {
  // The check of such a schema returns a promise, which would count as success.
  if (schema["$async"] !== undefined) throw new Error('expected a schema without "$async"')
  if (compilations++ >= MOST_COMPILED) {
    compiled.clear()
    checkers.clear() // A checker keeps all schemas that it has compiled.
    compilations = 1
  }
  return checker(DRAFT_07.test(String(schema["$schema"])) ? "ajv" : undefined).compile(schema)
}
