/** Makes the kernel's `FinalReport` from a policy: a tool checked against a JSON Schema; and reports why such a schema cannot be used. */
import type { FinalReport } from "@holdfast/kernel"
import type { RetryPolicy } from "@holdfast/policy"
import { Quote } from "@holdfast/wire"
import type * as Ajv from "ajv/dist/2020.js"
import { Option, Predicate, type Schema } from "effect"
import { createRequire } from "node:module"
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
  const validate = validatorOf(schema)
  return {
    // Providers require a tool's input schema to have the type "object".
    tool: { name: TOOL_NAME, description, inputSchema: { type: "object", ...schema } },
    validate: (report) => {
      const isGood = withinTime(() => validate(report), CHECK_LIMIT_MS)
      if (Option.isNone(isGood)) return UNCHECKED
      return isGood.value ? undefined : errorsText(validate)
    }
  }
}

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

type JsonSchema = { readonly [key: string]: Schema.Json }

/** The check of a schema. Throws if it is no valid schema. */
const validatorOf = (schema: JsonSchema): Ajv.ValidateFunction => {
  const key = JSON.stringify(schema)
  const known = compiled.get(key)
  if (known !== undefined) return known
  const validate = compile(schema)
  compiled.set(key, validate)
  return validate
}

/** The errors of the last check of a report, in words. */
const errorsText = (validate: Ajv.ValidateFunction): string =>
  checker().errorsText(validate.errors, { dataVar: "report", separator: "; " })

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
