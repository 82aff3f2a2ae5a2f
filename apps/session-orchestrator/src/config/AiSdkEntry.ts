/**
 * Builds a provider of the AI SDK from its entry under `providers`.
 *
 * Key, address and headers have the keys that every provider has. What the package takes besides stands in `options`, where `${NAME}`
 * stands for a variable.
 */
import { defined } from "@holdfast/wire"
import { Redacted, type Schema } from "effect"
import type { AiSdkProvider } from "./Config.ts"
import * as ProviderEntry from "./ProviderEntry.ts"
import * as ConfigProblem from "./reading/ConfigProblem.ts"
import type * as Environment from "./reading/Environment.ts"
import * as Expansion from "./reading/Expansion.ts"
import * as RequestSettings from "./reading/RequestSettings.ts"
import * as Settings from "./reading/Settings.ts"

/** Builds the provider. Its package is found and loaded when the service starts. */
export const make = (
  name: string,
  entry: Settings.ProviderSettings,
  models: Readonly<Record<string, Settings.ModelSettings>>,
  environment: Environment.Environment
): {
  readonly provider: AiSdkProvider
  readonly problems: ReadonlyArray<ConfigProblem.Problem>
  readonly variables: ReadonlyArray<string>
} => {
  const path = ["providers", name]
  const place = ConfigProblem.formatPath(path)
  const given = entry.options === undefined ? {} : Redacted.value(entry.options)
  const options = Expansion.json(given, environment, [...path, "options"])
  const headers = Expansion.record(entry.headers ?? {}, environment, [...path, "headers"], "headers")
  const apiKeyEnv = ProviderEntry.keyVariables(entry) ?? []
  const request = ProviderEntry.requestOf(name, entry, models)
  const retries = given["maxRetries"] ?? 0
  return {
    provider: {
      type: "ai-sdk",
      name,
      package: entry.package ?? "",
      apiKeyEnv,
      credentials: ProviderEntry.credentialsOf(apiKeyEnv, environment),
      headers: headers.values,
      secrets: [...headers.secrets, ...options.secrets, ...literalSecrets(given)],
      options: Redacted.make(options.value as RequestSettings.Body),
      optionNames: Object.keys(given),
      ...request,
      ...defined({ baseUrl: entry.baseUrl, factory: entry.factory, limits: entry.limits })
    },
    variables: [...headers.variables, ...options.variables],
    problems: [
      ...(entry.package === undefined ? [{ place: `${place}.package`, message: NO_PACKAGE }] : []),
      ...OWN_OPTIONS.filter(([option]) => given[option] !== undefined).map(([option, key]) => ({
        place: `${place}.options.${option}`,
        message: `it has a key of its own: write ${place}.${key}.`
      })),
      ...(retries === 0 ? [] : [{ place: `${place}.options.maxRetries`, message: NO_RETRIES }]),
      ...headers.problems,
      ...options.problems,
      ...RequestSettings.callProblems([...path, "body"], request.request?.body ?? {}),
      ...Array.from(request.request?.modelBody ?? []).flatMap(([model, body]) =>
        RequestSettings.callProblems(["models", `${name}/${model}`, "body"], body)
      )
    ]
  }
}

// --- internal

/** Texts in options under names that mention keys, as for variables of tools. */
const literalSecrets = (options: Schema.Json, name = ""): ReadonlyArray<Redacted.Redacted> => {
  if (typeof options === "string") return Settings.SECRET_NAME.test(name) ? [Redacted.make(options)] : []
  if (typeof options !== "object" || options === null) return []
  return Object.entries(options).flatMap(([key, value]) => literalSecrets(value, Array.isArray(options) ? name : key))
}

const NO_PACKAGE = 'missing. Expected a package of the AI SDK, such as "@ai-sdk/google".'

/** Options of a factory that an entry has a key for, so that they are treated like those of every provider. */
const OWN_OPTIONS = [
  ["apiKey", "apiKeyEnv"],
  ["baseURL", "baseUrl"],
  ["headers", "headers"]
] as const

const NO_RETRIES = "Holdfast makes the retries, and a second chain below it would repeat each of them. Leave it out."
