/**
 * Builds the table of providers, with their addresses and keys.
 *
 * Built-in providers are always in the table; an entry of the file with the same name replaces a built-in one as a whole.
 *
 * An entry with nothing but `type`, under a built-in name, is that built-in provider. An entry with its own address gets only keys that it
 * names: a key belongs to the host it was issued for.
 */
import { BuiltIn } from "@holdfast/providers"
import { defined, Target } from "@holdfast/wire"
import { Redacted, type Schema } from "effect"
import type { AiSdkProvider, Credential, ProviderConfig, RequestOptions } from "./Config.ts"
import * as ConfigProblem from "./reading/ConfigProblem.ts"
import * as Environment from "./reading/Environment.ts"
import { type Expansion, expansionOf, type Findings } from "./reading/Expansion.ts"
import { question } from "./reading/Nearest.ts"
import type * as Settings from "./reading/Settings.ts"
import * as SettingTypes from "./reading/SettingTypes.ts"

/** Builds the table. `models` adds the fields of single models to their providers' requests. */
export const make = (
  settings: Readonly<Record<string, Settings.ProviderSettings>>,
  models: Readonly<Record<string, Settings.ModelSettings>>,
  findings: Findings
): ReadonlyMap<string, ProviderConfig> => {
  const { problems } = findings
  const providers = new Map<string, ProviderConfig>([["simulated", { type: "simulated", name: "simulated" }]])
  const builtIn = ALL.filter(({ name }) => settings[name] === undefined)
  const entries: ReadonlyArray<readonly [string, Settings.ProviderSettings]> = [
    ...builtIn.map(({ name, type }) => [name, { type }] as const),
    ...Object.entries(settings)
  ]
  for (const [name, entry] of entries) {
    const { type } = entry
    const path = ["providers", name]
    const place = ConfigProblem.formatPath(path)
    problems.push(...misplaced(place, entry))
    if (type === "simulated") {
      providers.set(name, { type, name })
      continue
    }
    const expansion = expansionOf(findings)
    const { secrets } = expansion
    const expandHeaders = () => expansion.record(entry.headers, [...path, "headers"], "headers")
    const named = typeof entry.apiKeyEnv === "string" ? [entry.apiKeyEnv] : entry.apiKeyEnv
    if (type === "ai-sdk") {
      problems.push(...packageProblems(place, entry))
      const shared = remote(name, entry, named ?? [], models, findings)
      providers.set(name, ofPackage(entry, { headers: expandHeaders(), secrets, ...shared }, expansion))
      problems.push(...callProblems([...path, "body"], entry.body ?? {}))
    } else {
      const known = ALL.find((one) => one.name === name && one.type === type)
      const fallback = known ?? BuiltIn.ofFormat(type)
      const usual = known && builtIn.includes(known) ? addressOf(known, findings) : fallback?.baseUrl
      const { baseUrl = usual } = entry
      problems.push(...addressProblems(`${place}.baseUrl`, type, baseUrl))
      const keys = named ?? (entry.baseUrl === undefined ? (fallback?.apiKeyEnv ?? []) : [])
      const shared = remote(name, entry, keys, models, findings)
      providers.set(name, { type, baseUrl: baseUrl ?? "", headers: expandHeaders(), secrets, ...shared })
    }
  }
  for (const [name, { body }] of Object.entries(models)) {
    const provider = providers.get(Target.parse(name)?.provider ?? "")
    const place = ["models", name, "body"]
    if (body === undefined || provider === undefined) continue
    if (provider.type === "simulated")
      problems.push({ place: ConfigProblem.formatPath(place), message: NOTHING_LEAVES })
    if (provider.type === "ai-sdk") problems.push(...callProblems(place, body))
  }
  return providers
}

/** Whether a provider has a key, or needs none. */
export const hasKey = (provider: ProviderConfig | undefined): boolean => keyNames(provider).length > 0

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

/** A provider that is reached over a network; `undefined`: there is none of this name, or it is simulated. */
export const reached = (providers: ReadonlyMap<string, ProviderConfig>, name: string) => {
  const provider = providers.get(name)
  return provider?.type === "simulated" ? undefined : provider
}

// --- internal

const ALL: ReadonlyArray<BuiltIn.BuiltIn> = [...BuiltIn.builtIns, ...BuiltIn.otherFormats]

/** The parts that every provider outside this process has. */
const remote = (
  name: string,
  entry: Partial<Settings.ProviderSettings>,
  apiKeyEnv: ReadonlyArray<string>,
  models: Readonly<Record<string, Settings.ModelSettings>>,
  findings: Findings
) => {
  const { body, limits, maxTokens, promptCaching } = entry
  const added = defined({ body, maxTokens, promptCaching })
  const modelBody = new Map(
    Object.entries(models).flatMap(([target, { body }]): ReadonlyArray<[string, SettingTypes.BodyFields]> => {
      const { model, provider } = Target.parse(target) ?? {}
      return body === undefined || model === undefined || provider !== name ? [] : [[model, body]]
    })
  )
  const request: RequestOptions | undefined =
    Object.keys(added).length === 0 && modelBody.size === 0 ? undefined : { ...added, modelBody }
  return { name, apiKeyEnv, credentials: credentialsOf(apiKeyEnv, findings), ...defined({ request, limits }) }
}

/** The same key in two variables is one credential: switching to it again would not help. */
const credentialsOf = (
  names: ReadonlyArray<string>,
  { environment, variables }: Findings
): ReadonlyArray<Credential> => {
  for (const name of names) variables.add(name)
  const keys = names.map((name) => ({ name, value: Environment.get(environment, name)?.trim() ?? "" }))
  return keys
    .filter(({ value }, at) => value !== "" && keys.findIndex((other) => other.value === value) === at)
    .map(({ name, value }) => ({ name, value: Redacted.make(value) }))
}

/** The address of a built-in provider: the SDKs' variable if it is set, as for a key of a proxy. */
const addressOf = (builtIn: BuiltIn.BuiltIn, { environment, problems }: Findings): string => {
  const { baseUrl, baseUrlEnv: variable, type } = builtIn
  const given = variable === undefined ? undefined : Environment.get(environment, variable)
  if (variable === undefined || given === undefined) return baseUrl
  const [problem] = SettingTypes.isBaseUrl(given)
    ? addressProblems(variable, type, given)
    : [{ place: variable, message: `expected ${SettingTypes.BASE_URL}.` }]
  if (problem === undefined) return given
  // A variable that two of them have is reported once.
  if (ALL.find(({ baseUrlEnv }) => baseUrlEnv === variable) === builtIn) problems.push(problem)
  return baseUrl
}

/** The paths that the adapters add; the longer one first. */
const ENDPOINTS = [
  { suffix: "/chat/completions", type: "openai-compatible" },
  { suffix: "/responses", type: "openai-responses" },
  { suffix: "/v1beta/models", type: "gemini" },
  { suffix: "/v1/messages", type: "anthropic" },
  { suffix: "/messages", type: "anthropic" }
] as const

/**
 * The problems of a provider's address. An address that ends in the path which the adapter adds is refused, with the address to write instead. The
 * message leaves the query out: it may contain a key.
 */
const addressProblems = (
  place: string,
  type: BuiltIn.ApiFormat,
  baseUrl: string | undefined
): ReadonlyArray<ConfigProblem.ConfigProblem> => {
  if (baseUrl === undefined)
    return [{ place, message: 'missing. Expected an address such as "http://localhost:11434/v1".' }]
  const url = URL.parse(baseUrl)
  const path = url?.pathname.replace(/\/+$/, "") ?? ""
  const found = ENDPOINTS.find(({ suffix }) => path.toLowerCase().endsWith(suffix))
  if (url === null || found === undefined) return []
  const base = `${url.origin}${path.slice(0, -found.suffix.length)}${url.search === "" ? "" : "?..."}`
  const other =
    found.type === type ? "" : `, with "type": ${JSON.stringify(found.type)}, which is the format of that path`
  return [{ place, message: `it ends in ${found.suffix}, which Holdfast adds itself. Write "${base}"${other}.` }]
}

const NOTHING_LEAVES = 'a "simulated" provider has none: nothing leaves this machine.'

/** Keys that providers of one type alone have. */
const OWN_KEYS: ReadonlyArray<readonly [type: string, keys: ReadonlyArray<string>, advice: string]> = [
  ["anthropic", ["maxTokens", "promptCaching"], " Other providers take such fields in body."],
  ["ai-sdk", ["package", "factory", "options"], ""]
]

/** The problems of keys that belong to another type. */
const misplaced = (
  place: string,
  { type, ...entry }: Settings.ProviderSettings
): ReadonlyArray<ConfigProblem.ConfigProblem> =>
  Object.keys(entry).flatMap((key) => {
    if (type === "simulated") return [{ place: `${place}.${key}`, message: NOTHING_LEAVES }]
    return OWN_KEYS.filter(([owner, keys]) => owner !== type && keys.includes(key)).map(([owner, , advice]) => ({
      place: `${place}.${key}`,
      message: `an "${owner}" provider alone has it.${advice}`
    }))
  })

/** A provider of a package of the AI SDK. The package is found and loaded when the service starts. */
const ofPackage = (
  { baseUrl, factory, options, package: name = "" }: Settings.ProviderSettings,
  shared: Omit<AiSdkProvider, "type" | "package" | "options" | "optionNames">,
  expansion: Expansion
): AiSdkProvider => {
  const given = options === undefined ? {} : Redacted.value(options)
  const expanded = Object.entries(given).map(
    ([key, value]) => [key, expansion.json(value, ["providers", shared.name, "options", key])] as const
  )
  expansion.secrets.push(...literalSecrets(given))
  return {
    ...shared,
    type: "ai-sdk",
    package: name,
    options: Redacted.make(Object.fromEntries(expanded)),
    optionNames: Object.keys(given),
    ...defined({ baseUrl, factory })
  }
}

/** Texts in options under names that mention keys, as for variables of tools. */
const literalSecrets = (options: Schema.Json, name = ""): ReadonlyArray<Redacted.Redacted> => {
  if (typeof options === "string") return SettingTypes.SECRET_NAME.test(name) ? [Redacted.make(options)] : []
  if (typeof options !== "object" || options === null) return []
  return Object.entries(options).flatMap(([key, value]) => literalSecrets(value, Array.isArray(options) ? name : key))
}

/** Options of a factory that an entry has a key for, so that they are treated like those of every provider. */
const OWN_OPTIONS = [
  ["apiKey", "apiKeyEnv"],
  ["baseURL", "baseUrl"],
  ["headers", "headers"]
] as const

const NO_RETRIES = "Holdfast makes the retries, and a second chain below it would repeat each of them. Leave it out."

const packageProblems = (
  place: string,
  { options, package: name }: Settings.ProviderSettings
): ReadonlyArray<ConfigProblem.ConfigProblem> => {
  const given = options === undefined ? {} : Redacted.value(options)
  const message = 'missing. Expected a package of the AI SDK, such as "@ai-sdk/google".'
  return [
    ...(name === undefined ? [{ place: `${place}.package`, message }] : []),
    ...OWN_OPTIONS.filter(([option]) => given[option] !== undefined).map(([option, key]) => ({
      place: `${place}.options.${option}`,
      message: `it has a key of its own: write ${place}.${key}.`
    })),
    ...((given["maxRetries"] ?? 0) === 0 ? [] : [{ place: `${place}.options.maxRetries`, message: NO_RETRIES }])
  ]
}

/** Options of a call of the AI SDK, which ignores all others without a word; Holdfast writes the rest. */
const CALL_OPTIONS =
  "maxOutputTokens temperature topP topK presencePenalty frequencyPenalty seed stopSequences reasoning responseFormat headers providerOptions".split(
    " "
  )

/** The problems of fields that are no option of a call of the AI SDK. */
const callProblems = (
  path: ReadonlyArray<string>,
  body: SettingTypes.BodyFields
): ReadonlyArray<ConfigProblem.ConfigProblem> =>
  Object.keys(body)
    .filter((field) => !CALL_OPTIONS.includes(field))
    .map((field) => ({
      place: ConfigProblem.formatPath([...path, field]),
      message:
        `an "ai-sdk" provider has no such field.${question(field, CALL_OPTIONS)} ` +
        `Expected one of ${CALL_OPTIONS.join(", ")}; fields of the provider itself go into providerOptions.`
    }))
