/**
 * Builds the table of providers, with their addresses and keys.
 *
 * Built-in providers are always in the table; an entry of the file with the same name replaces a built-in one as a whole.
 *
 * ProviderTable.T2. An entry with nothing but `type`, under a built-in name, is that built-in provider. An entry with its own address
 *     gets only keys that it names: a key belongs to the host it was issued for.
 */
import { defined, Target } from "@holdfast/wire"
import { Schema } from "effect"
import { BuiltIn } from "@holdfast/providers"
import * as AiSdkEntry from "./AiSdkEntry.ts"
import type { ProviderConfig } from "./Config.ts"
import * as ProviderEntry from "./ProviderEntry.ts"
import * as Environment from "./reading/Environment.ts"
import * as Expansion from "./reading/Expansion.ts"
import * as ConfigProblem from "./reading/ConfigProblem.ts"
import * as RequestSettings from "./reading/RequestSettings.ts"
import * as Settings from "./reading/Settings.ts"

/** The providers by name, with the problems of their entries. */
export interface ProviderTable {
  readonly providers: ReadonlyMap<string, ProviderConfig>
  /** The variables that headers name. */
  readonly variables: ReadonlyArray<string>
  readonly problems: ReadonlyArray<ConfigProblem.Problem>
}

/** Builds the table. `models` adds the fields of single models to their providers' requests. */
export const make = (
  settings: Readonly<Record<string, Settings.ProviderSettings>>,
  models: Readonly<Record<string, Settings.ModelSettings>>,
  environment: Environment.Environment
): ProviderTable => {
  const problems: Array<ConfigProblem.Problem> = []
  const variables: Array<string> = []
  const providers = new Map<string, ProviderConfig>([["simulated", { type: "simulated", name: "simulated" }]])
  for (const builtIn of ALL) {
    if (settings[builtIn.name] !== undefined) continue
    const { baseUrl, problem } = builtInAddress(builtIn, environment)
    // A variable that two of them have is reported once.
    if (problem !== undefined && ALL.find(({ baseUrlEnv }) => baseUrlEnv === builtIn.baseUrlEnv) === builtIn)
      problems.push(problem)
    const { apiKeyEnv, name, type } = builtIn
    providers.set(name, {
      type,
      name,
      baseUrl,
      apiKeyEnv,
      headers: {},
      credentials: ProviderEntry.credentialsOf(apiKeyEnv, environment),
      ...ProviderEntry.requestOf(name, {}, models)
    })
  }
  for (const [name, entry] of Object.entries(settings)) {
    const place = ConfigProblem.formatPath(["providers", name])
    const { type } = entry
    if (type === "simulated") {
      problems.push(...uselessKeys(place, entry))
      providers.set(name, { type, name })
      continue
    }
    problems.push(...foreignKeys(place, entry))
    if (type === "ai-sdk") {
      const made = AiSdkEntry.make(name, entry, models, environment)
      problems.push(...made.problems)
      variables.push(...made.variables)
      providers.set(name, made.provider)
      continue
    }
    const fallback = ALL.find((builtIn) => builtIn.name === name && builtIn.type === type) ?? BuiltIn.ofFormat(type)
    const baseUrl = entry.baseUrl ?? fallback?.baseUrl
    if (baseUrl === undefined) {
      const message = 'missing. Expected an address such as "http://localhost:11434/v1".'
      problems.push({ place: `${place}.baseUrl`, message })
    }
    const wrongAddress = baseUrl && RequestSettings.addressProblem(`${place}.baseUrl`, type, baseUrl)
    if (wrongAddress) problems.push(wrongAddress)
    const apiKeyEnv =
      ProviderEntry.keyVariables(entry) ?? (entry.baseUrl === undefined ? (fallback?.apiKeyEnv ?? []) : []) // ProviderTable.T2
    const headers = Expansion.record(entry.headers ?? {}, environment, ["providers", name, "headers"], "headers")
    variables.push(...headers.variables)
    problems.push(...headers.problems)
    providers.set(name, {
      type,
      name,
      baseUrl: baseUrl ?? "",
      apiKeyEnv,
      headers: headers.values,
      secrets: headers.secrets,
      credentials: ProviderEntry.credentialsOf(apiKeyEnv, environment),
      ...ProviderEntry.requestOf(name, entry, models),
      ...defined({ limits: entry.limits })
    })
  }
  for (const [name, { body }] of Object.entries(models)) {
    const provider = Target.parse(name)?.provider
    if (body === undefined || provider === undefined || providers.get(provider)?.type !== "simulated") continue
    problems.push({ place: ConfigProblem.formatPath(["models", name, "body"]), message: NOTHING_LEAVES })
  }
  return { providers, variables, problems }
}

/** Whether a provider has a key, or needs none. */
export const hasKey = (provider: ProviderConfig | undefined): boolean =>
  provider !== undefined && provider.type !== "simulated" && provider.credentials.length > 0

/** The variable that a provider's key is missing from, in words; `undefined` if no key is missing. */
export const missingKey = (provider: ProviderConfig): string | undefined => {
  if (provider.type === "simulated" || provider.apiKeyEnv.length === 0 || provider.credentials.length > 0)
    return undefined
  const [only, ...more] = provider.apiKeyEnv
  return more.length === 0 ? `${only} is not set` : `none of ${provider.apiKeyEnv.join(", ")} is set`
}

/** The variables of a provider's keys. */
export const keyNames = (provider: ProviderConfig | undefined): ReadonlyArray<string> =>
  provider === undefined || provider.type === "simulated" ? [] : provider.credentials.map(({ name }) => name)

// --- internal

const ALL: ReadonlyArray<BuiltIn.BuiltIn> = [...BuiltIn.builtIns, ...BuiltIn.otherFormats]

const isBaseUrl = Schema.is(Settings.BaseUrl)

/** The address of a built-in provider: the SDKs' variable if it is set, as for a key of a proxy. */
const builtInAddress = (
  builtIn: BuiltIn.BuiltIn,
  environment: Environment.Environment
): { readonly baseUrl: string; readonly problem?: ConfigProblem.Problem } => {
  const variable = builtIn.baseUrlEnv
  const baseUrl = variable === undefined ? undefined : Environment.get(environment, variable)
  if (variable === undefined || baseUrl === undefined) return { baseUrl: builtIn.baseUrl }
  const problem = isBaseUrl(baseUrl)
    ? RequestSettings.addressProblem(variable, builtIn.type, baseUrl)
    : { place: variable, message: `expected ${Settings.BASE_URL}.` }
  return problem === undefined ? { baseUrl } : { baseUrl: builtIn.baseUrl, problem }
}

const NOTHING_LEAVES = 'a "simulated" provider has none: nothing leaves this machine.'

const uselessKeys = (place: string, entry: Settings.ProviderSettings): ReadonlyArray<ConfigProblem.Problem> =>
  Object.keys(entry)
    .filter((key) => key !== "type")
    .map((key) => ({ place: `${place}.${key}`, message: NOTHING_LEAVES }))

/** The problems of keys that belong to another wire format. */
const foreignKeys = (place: string, entry: Settings.ProviderSettings): ReadonlyArray<ConfigProblem.Problem> =>
  FOREIGN.filter(([key, type]) => entry.type !== type && entry[key] !== undefined).map(([key, type]) => ({
    place: `${place}.${key}`,
    message:
      type === "anthropic"
        ? 'an "anthropic" provider alone has it. Other providers take such fields in body.'
        : 'an "ai-sdk" provider alone has it.'
  }))

/** Keys that providers of one type alone have. */
const FOREIGN = [
  ["maxTokens", "anthropic"],
  ["promptCaching", "anthropic"],
  ["package", "ai-sdk"],
  ["factory", "ai-sdk"],
  ["options", "ai-sdk"]
] as const
