/**
 * Every provider that a model may name, with its address and its keys.
 *
 * T1. Built-in providers are there whatever the file says; an entry of the same name replaces the whole of one.
 * T2. An entry that says `type` alone, under a built-in name, is that built-in provider. Once it names an address of its
 *     own it gets no key that it does not name: a key is for the host it was issued for.
 */
import { Redacted, Schema } from "effect"
import * as BuiltIn from "./BuiltIn.ts"
import type { Credential, ProviderConfig } from "./Config.ts"
import * as Environment from "./Environment.ts"
import * as Problem from "./Problem.ts"
import * as Settings from "./Settings.ts"

export interface ProviderTable {
  readonly providers: ReadonlyMap<string, ProviderConfig>
  readonly problems: ReadonlyArray<Problem.Problem>
}

/** Builds the table. */
export const make = (
  settings: Readonly<Record<string, Settings.ProviderSettings>>,
  environment: Environment.Environment
): ProviderTable => {
  const problems: Array<Problem.Problem> = []
  const providers = new Map<string, ProviderConfig>([["simulated", { type: "simulated", name: "simulated" }]])
  for (const builtIn of BuiltIn.builtIns) {
    if (settings[builtIn.name] !== undefined) continue
    const { baseUrl, problem } = builtInAddress(builtIn, environment)
    if (problem !== undefined) problems.push(problem)
    providers.set(builtIn.name, httpProvider(builtIn.name, builtIn.type, baseUrl, builtIn.apiKeyEnv, {}, environment))
  }
  for (const [name, entry] of Object.entries(settings)) {
    const place = Problem.formatPath(["providers", name])
    if (entry.type === "simulated") {
      problems.push(...uselessKeys(place, entry))
      providers.set(name, { type: "simulated", name })
      continue
    }
    const known = BuiltIn.find(name)
    const builtIn = known?.type === entry.type ? known : undefined
    const fallback = builtIn ?? (entry.type === "anthropic" ? BuiltIn.find("anthropic") : undefined)
    const baseUrl = entry.baseUrl ?? fallback?.baseUrl
    if (baseUrl === undefined) {
      const message = 'missing. Expected an address such as "http://localhost:11434/v1".'
      problems.push({ place: `${place}.baseUrl`, message })
    }
    const apiKeyEnv =
      entry.apiKeyEnv === undefined
        ? entry.baseUrl === undefined
          ? (fallback?.apiKeyEnv ?? [])
          : [] // T2
        : typeof entry.apiKeyEnv === "string"
          ? [entry.apiKeyEnv]
          : entry.apiKeyEnv
    providers.set(name, httpProvider(name, entry.type, baseUrl ?? "", apiKeyEnv, entry.headers ?? {}, environment))
  }
  return { providers, problems }
}

/** Whether a provider has what its requests need to be let in. */
export const hasKey = (provider: ProviderConfig | undefined): boolean =>
  provider !== undefined && provider.type !== "simulated" && provider.credentials.length > 0

/** Which variable would have to be set for a provider to be let in, in words; `undefined` where nothing is missing. */
export const missingKey = (provider: ProviderConfig): string | undefined => {
  if (provider.type === "simulated" || provider.apiKeyEnv.length === 0 || provider.credentials.length > 0)
    return undefined
  const [only, ...more] = provider.apiKeyEnv
  return more.length === 0 ? `${only} is not set` : `none of ${provider.apiKeyEnv.join(", ")} is set`
}

/** The variables that a provider's keys came from. */
export const keyNames = (provider: ProviderConfig | undefined): ReadonlyArray<string> =>
  provider === undefined || provider.type === "simulated" ? [] : provider.credentials.map(({ name }) => name)

// --- internal

const httpProvider = (
  name: string,
  type: "openai-compatible" | "anthropic",
  baseUrl: string,
  apiKeyEnv: ReadonlyArray<string>,
  headers: Readonly<Record<string, Redacted.Redacted>>,
  environment: Environment.Environment
): ProviderConfig => ({
  type,
  name,
  baseUrl,
  apiKeyEnv,
  credentials: credentialsOf(apiKeyEnv, environment),
  headers
})

/** One key under two names is one credential: going on with it again would be no help. */
const credentialsOf = (
  variables: ReadonlyArray<string>,
  environment: Environment.Environment
): ReadonlyArray<Credential> => {
  const keys = variables.map((name) => ({ name, value: Environment.get(environment, name)?.trim() ?? "" }))
  return keys
    .filter(({ value }, at) => value !== "" && keys.findIndex((other) => other.value === value) === at)
    .map(({ name, value }) => ({ name, value: Redacted.make(value) }))
}

const isBaseUrl = Schema.is(Settings.BaseUrl)

/** The SDKs' own variable for the address, where there is one: people whose key is a proxy's have it set. */
const builtInAddress = (
  builtIn: BuiltIn.BuiltIn,
  environment: Environment.Environment
): { readonly baseUrl: string; readonly problem?: Problem.Problem } => {
  const variable = builtIn.baseUrlEnv
  const baseUrl = variable === undefined ? undefined : Environment.get(environment, variable)
  if (variable === undefined || baseUrl === undefined) return { baseUrl: builtIn.baseUrl }
  return isBaseUrl(baseUrl)
    ? { baseUrl }
    : { baseUrl: builtIn.baseUrl, problem: { place: variable, message: `expected ${Settings.BASE_URL}.` } }
}

const uselessKeys = (place: string, entry: Settings.ProviderSettings): ReadonlyArray<Problem.Problem> =>
  (["baseUrl", "apiKeyEnv", "headers"] as const)
    .filter((key) => entry[key] !== undefined)
    .map((key) => ({
      place: `${place}.${key}`,
      message: 'a "simulated" provider has none: nothing leaves this machine.'
    }))
