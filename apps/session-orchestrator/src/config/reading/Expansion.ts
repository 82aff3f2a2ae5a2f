/**
 * Expands `${NAME}` in configured values to the environment variable of that name, whose value is a secret in every place.
 *
 * An unset variable is a problem of the configuration, and no empty string; also where a setting names it for a secret.
 */
import { Redacted, type Schema } from "effect"
import * as ConfigProblem from "./ConfigProblem.ts"
import * as Environment from "./Environment.ts"
import { HEADER_VALUE } from "./SettingTypes.ts"

type Path = ReadonlyArray<PropertyKey>

/** What the checks of keys against each other read, and what they find. */
export interface Findings {
  readonly environment: Environment.Environment
  /** Makes a path of the file absolute. */
  readonly absolute: (path: string) => string
  readonly problems: Array<ConfigProblem.ConfigProblem>
  /** The variables that the configuration names. */
  readonly variables: Set<string>
  /** Whether the entry of a provider was read: of one with a mistake nothing else is known. */
  readonly isRead: (provider: string) => boolean
}

/** The value of a variable that the setting at `place` names. */
export const valueIn = (
  variable: string,
  place: string,
  { environment, problems, variables }: Findings
): string | undefined => {
  variables.add(variable)
  const value = Environment.get(environment, variable)
  if (value === undefined)
    problems.push({ place, message: `the environment variable ${variable} is not set.`, isOfService: true })
  return value
}

/** The secret in such a variable. A value that is none is a problem: `faultOf` has the words. */
export const secretIn = (
  variable: string,
  place: string,
  findings: Findings,
  faultOf: (value: string) => string | undefined
): Redacted.Redacted | undefined => {
  const value = valueIn(variable, place, findings)
  const message = value === undefined ? undefined : faultOf(value)
  if (message !== undefined) findings.problems.push({ place, message })
  return value === undefined || message !== undefined ? undefined : Redacted.make(value)
}

/** Expands the values of one entry. */
export type Expansion = ReturnType<typeof expansionOf>

/** Expands values, and collects what stood in variables. */
export const expansionOf = (findings: Findings) => {
  const secrets: Array<Redacted.Redacted> = []
  const text = (given: string, path: Path): string =>
    given.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      const value = valueIn(name, ConfigProblem.formatPath(path), findings)
      if (value !== undefined) secrets.push(Redacted.make(value))
      return value ?? ""
    })
  const json = (given: Schema.Json, path: Path): Schema.Json => {
    if (typeof given === "string") return text(given, path)
    if (typeof given !== "object" || given === null) return given
    if (Array.isArray(given)) return given.map((value, at) => json(value, [...path, at]))
    return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, json(value, [...path, key])]))
  }
  return {
    /** The values of variables. */
    secrets,
    /** Expands each text in the value at `path`, at any depth. */
    json,
    /** Expands each value of the record at `path`. An expanded header must still be a valid header's value. */
    record: (
      given: Readonly<Record<string, Redacted.Redacted>> = {},
      path: Path,
      kind: "headers" | "variables"
    ): Readonly<Record<string, Redacted.Redacted>> =>
      Object.fromEntries(
        Object.entries(given).map(([field, value]) => {
          const at = [...path, field]
          const expanded = text(Redacted.value(value), at)
          if (kind === "headers" && !HEADER_VALUE.test(expanded))
            findings.problems.push({ place: ConfigProblem.formatPath(at), message: NO_HEADER })
          return [field, Redacted.make(expanded)]
        })
      )
  }
}

// --- internal

const NO_HEADER = "what its variables stand for is no header's value: expected printable ASCII on one line."
