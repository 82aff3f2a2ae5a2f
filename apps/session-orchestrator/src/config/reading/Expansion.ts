/**
 * Expands `${NAME}` in a configured value to the environment variable of that name.
 *
 * A variable that is not set is a problem of a service, not an empty string. The value of a variable is a secret in every place.
 */
import { Redacted, type Schema } from "effect"
import * as Environment from "./Environment.ts"
import * as ConfigProblem from "./ConfigProblem.ts"
import { HEADER_VALUE } from "./Settings.ts"

/** An expanded text. */
export interface Expansion {
  readonly text: string
  /** The variables that the text names. */
  readonly variables: ReadonlyArray<string>
  /** Their values. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
  readonly problems: ReadonlyArray<string>
}

/** Expands one text. */
export const expand = (text: string, environment: Environment.Environment): Expansion => {
  const problems: Array<string> = []
  const variables: Array<string> = []
  const secrets: Array<Redacted.Redacted> = []
  const expanded = text.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
    variables.push(name)
    const value = Environment.get(environment, name)
    if (value === undefined) problems.push(`the environment variable ${name} is not set.`)
    else secrets.push(Redacted.make(value))
    return value ?? ""
  })
  return { text: expanded, variables, secrets, problems }
}

/** An expanded value. */
export interface ExpandedJson extends Omit<Expansion, "text" | "problems"> {
  readonly value: Schema.Json
  readonly problems: ReadonlyArray<ConfigProblem.Problem>
}

/** Expands each text in the value at `path`, at any depth. */
export const json = (
  given: Schema.Json,
  environment: Environment.Environment,
  path: ReadonlyArray<PropertyKey>
): ExpandedJson => {
  if (typeof given === "string") {
    const { problems, text, ...rest } = expand(given, environment)
    const place = ConfigProblem.formatPath(path)
    return { ...rest, value: text, problems: problems.map((message) => ({ place, message, isOfService: true })) }
  }
  if (typeof given !== "object" || given === null) return { value: given, variables: [], secrets: [], problems: [] }
  const parts = Object.entries(given).map(
    ([key, value]) => [key, json(value, environment, [...path, Array.isArray(given) ? Number(key) : key])] as const
  )
  const values = parts.map(([key, { value }]) => [key, value] as const)
  return {
    value: Array.isArray(given) ? values.map(([, value]) => value) : Object.fromEntries(values),
    variables: parts.flatMap(([, { variables }]) => variables),
    secrets: parts.flatMap(([, { secrets }]) => secrets),
    problems: parts.flatMap(([, { problems }]) => problems)
  }
}

/** An expanded record. */
export interface Record extends Omit<Expansion, "text" | "problems"> {
  readonly values: Readonly<{ [field: string]: Redacted.Redacted }>
  readonly problems: ReadonlyArray<ConfigProblem.Problem>
}

/** Expands each value of the record at `path`. An expanded header must still be a valid header's value. */
export const record = (
  given: Readonly<{ [field: string]: Redacted.Redacted }>,
  environment: Environment.Environment,
  path: ReadonlyArray<string>,
  kind: "headers" | "variables"
): Record => {
  const fields = Object.entries(given).map(([field, value]) => ({
    field,
    expansion: expand(Redacted.value(value), environment)
  }))
  return {
    values: Object.fromEntries(fields.map(({ expansion, field }) => [field, Redacted.make(expansion.text)])),
    variables: fields.flatMap(({ expansion }) => expansion.variables),
    secrets: fields.flatMap(({ expansion }) => expansion.secrets),
    problems: fields.flatMap(({ expansion: { problems, text }, field }): ReadonlyArray<ConfigProblem.Problem> => {
      const place = ConfigProblem.formatPath([...path, field])
      return [
        ...problems.map((message) => ({ place, message, isOfService: true as const })),
        ...(kind === "headers" && !HEADER_VALUE.test(text) ? [{ place, message: NO_HEADER }] : [])
      ]
    })
  }
}

// --- internal

const NO_HEADER = "what its variables stand for is no header's value: expected printable ASCII on one line."
