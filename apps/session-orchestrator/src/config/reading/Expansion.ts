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
export class Expansion {
  /** The values of variables. */
  readonly secrets: Array<Redacted.Redacted> = []
  private readonly findings: Findings

  constructor(findings: Findings) {
    this.findings = findings
  }

  /** Expands each text in the value at `path`, at any depth. */
  json(given: Schema.Json, path: Path): Schema.Json {
    if (typeof given === "string") return this.text(given, path)
    if (typeof given !== "object" || given === null) return given
    if (Array.isArray(given)) return given.map((value, at) => this.json(value, [...path, at]))
    return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, this.json(value, [...path, key])]))
  }

  /** Expands each value of the record at `path`. An expanded header must still be a valid header's value. */
  record(
    given: Readonly<Record<string, Redacted.Redacted>> = {},
    path: Path,
    kind: "headers" | "variables"
  ): Readonly<Record<string, Redacted.Redacted>> {
    return Object.fromEntries(
      Object.entries(given).map(([field, value]) => {
        const at = [...path, field]
        const text = this.text(Redacted.value(value), at)
        if (kind === "headers" && !HEADER_VALUE.test(text))
          this.findings.problems.push({ place: ConfigProblem.formatPath(at), message: NO_HEADER })
        return [field, Redacted.make(text)]
      })
    )
  }

  private text(given: string, path: Path): string {
    return given.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      const value = valueIn(name, ConfigProblem.formatPath(path), this.findings)
      if (value !== undefined) this.secrets.push(Redacted.make(value))
      return value ?? ""
    })
  }
}

// --- internal

const NO_HEADER = "what its variables stand for is no header's value: expected printable ASCII on one line."
