/**
 * Reads environment variables: those that override settings, those that name no setting, and the common ones of proxies.
 *
 * Command-line flags override the variables. Providers' keys have other names (`BuiltIn.ts`). An empty variable counts as not set.
 */
import type { Setting } from "@holdfast/policy"
import type { Proxies } from "@holdfast/providers/proxy"
import { Redacted, SchemaAST } from "effect"
import type { ConfigProblem } from "./ConfigProblem.ts"
import { nearest } from "./Nearest.ts"
import { ROWS } from "./Settings.ts"

/** The environment variables of a process, by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The value of a variable; `undefined` when it is not set, or empty. */
export const get = (environment: Environment, name: string): string | undefined => {
  const value = environment[name]
  return value === undefined || value === "" ? undefined : value
}

/** The variable that names the file; `--config` overrides it. */
export const CONFIG_VARIABLE = "HOLDFAST_CONFIG"

/** The variable with the log's format, `pretty` or `json`. Without it logs are pretty on a terminal and JSON elsewhere. */
export const LOG_FORMAT_VARIABLE = "HOLDFAST_LOG_FORMAT"

/** The address at which client commands reach the service; `--url` of the command line overrides it. */
export const URL_VARIABLE = "HOLDFAST_URL"

/** Every `HOLDFAST_` variable that Holdfast reads. */
export const names: ReadonlyArray<string> = [
  CONFIG_VARIABLE,
  LOG_FORMAT_VARIABLE,
  URL_VARIABLE,
  ...Array.from(ROWS.values()).flatMap(({ env }) => env ?? [])
]

/** Variables or flags that are set, in the shape of the file, not checked yet. */
export const overrides = (
  by: "env" | "flag",
  valueOf: (name: string) => string | number | undefined,
  rows: ReadonlyMap<string, Setting.Row> = ROWS
): Readonly<Record<string, unknown>> => {
  const settings: Record<string, unknown> = {}
  for (const { key, type, [by]: name } of rows.values()) {
    const value = name === undefined ? undefined : valueOf(name)
    if (value === undefined) continue
    const [section = "", inner] = key.split(".")
    settings[section] =
      inner === undefined ? converted(type, value) : { ...Object(settings[section]), [inner]: converted(type, value) }
  }
  return settings
}

/** The variable or the flag of the setting at a path. */
export const nameOf = (by: "env" | "flag", path: string): string | undefined =>
  Array.from(ROWS.values()).find((row) => row[by] !== undefined && `${path}.`.startsWith(`${row.key}.`))?.[by]

/** The formats of the log. */
export const LOG_FORMATS = ["pretty", "json"] as const

/** The configured format; `undefined` if there is none or it is invalid. */
export const logFormat = (environment: Environment): (typeof LOG_FORMATS)[number] | undefined =>
  LOG_FORMATS.find((format) => format === get(environment, LOG_FORMAT_VARIABLE))

/** The problems of variables that override no key of the file. */
export const problems = (environment: Environment): ReadonlyArray<ConfigProblem> => {
  const asked = get(environment, LOG_FORMAT_VARIABLE)
  return asked === undefined || logFormat(environment) !== undefined
    ? []
    : [{ place: LOG_FORMAT_VARIABLE, message: `found ${JSON.stringify(asked)}; expected "pretty" or "json".` }]
}

/**
 * Remarks about unknown `HOLDFAST_` variables, which are most likely misspelt. Their values are never quoted.
 *
 * `named` are the variables that the configuration names for a token or a key.
 */
export const unknownVariables = (environment: Environment, named: ReadonlySet<string>): ReadonlyArray<string> =>
  Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !names.includes(name) && !named.has(name))
    .map((name) => {
      const near = nearest(
        name.slice(PREFIX.length),
        names.map((known) => known.slice(PREFIX.length))
      )
      return `${name} is set, and Holdfast does not read it.${near === undefined ? "" : ` Did you mean ${PREFIX}${near}?`}`
    })

/**
 * The proxies of `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`. An address may contain a user and a password: they are secrets. The lower-case name
 * overrides the upper-case one, as in curl. No proxy: every server is reached directly.
 */
export const proxies = (environment: Environment, problems: Array<ConfigProblem>) => {
  const find = (name: string) =>
    [name.toLowerCase(), name].find((known) => get(environment, known) !== undefined) ?? name
  const addressIn = (variable: string): string | undefined => {
    const name = find(variable)
    const text = get(environment, name)
    if (text === undefined) return undefined
    // `host:port` alone is an http address, as in curl.
    const url = URL.parse(text.includes("://") ? text : `http://${text}`)
    if (url !== null && /^https?:$/.test(url.protocol) && url.hostname !== "") return url.href
    problems.push({ place: name, message: `expected ${PROXY_ADDRESS}.` })
    return undefined
  }
  const http = addressIn("HTTP_PROXY")
  const https = addressIn("HTTPS_PROXY")
  const exceptions = get(environment, find("NO_PROXY")) ?? ""
  return http === undefined && https === undefined ? undefined : Redacted.make<Proxies>({ http, https, exceptions })
}

/** The proxies for the HTTP client, with their passwords. */
export const proxiesOf = ({ proxies }: { readonly proxies?: Redacted.Redacted<Proxies> | undefined }) =>
  proxies && Redacted.value(proxies)

// --- internal

const PREFIX = "HOLDFAST_"

const PROXY_ADDRESS = 'the address of an HTTP proxy, such as "http://proxy.example.org:3128"'

/** The value that the file would have for a text. Other text stays as it is, and the schema refuses it. */
const converted = (type: SchemaAST.AST, value: string | number): unknown => {
  const written = SchemaAST.toEncoded(type)
  if (SchemaAST.isNumber(written) && typeof value === "string" && /^\d{1,9}$/.test(value)) return Number(value)
  return SchemaAST.isBoolean(written) && (value === "true" || value === "false") ? value === "true" : value
}
