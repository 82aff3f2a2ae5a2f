/**
 * Loads packages of the AI SDK, and makes providers of them.
 *
 * A package is looked for from the configuration file's folder, then from where the service is installed. It is loaded only when a provider
 * names it, and never by `check`: loading runs its code. One attempt is one call of a model of the package. The retries of the AI SDK stand
 * above its models and are not used (rule C9).
 */
import type * as AiSdk from "@holdfast/ai-sdk"
import type { Provider } from "@holdfast/kernel"
import { BodyPatch } from "@holdfast/providers"
import { defined, Quote } from "@holdfast/wire"
import { Effect, Redacted, Result } from "effect"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { type AiSdkProvider, ConfigError, type Credential, type Values } from "../config/Config.ts"
import * as ConfigProblem from "../config/reading/ConfigProblem.ts"
import { question } from "../config/reading/Nearest.ts"

/** The providers of one entry of the configuration, by their credentials; without credentials the only one, under "". */
export type ByCredential = ReadonlyMap<string, Provider.Provider["Service"]>

/** A package that is loaded. */
export type AiSdkPackage = Effect.Success<ReturnType<typeof load>>

/** The surroundings of a package. */
interface Surroundings {
  /** Sends the requests of models; absent: the runtime's own. */
  readonly fetch?: typeof fetch | undefined
  /** Removes secrets from the texts of errors. */
  readonly conceal: (text: string) => string
}

/** Loads the packages of a configuration, by the names of their providers. All that is wrong with them is reported together. */
export const loadAll = Effect.fn("AiSdkPackage.loadAll")(function* (
  config: Values,
  surroundings: Surroundings
): Effect.fn.Return<ReadonlyMap<string, AiSdkPackage>, ConfigError> {
  const folder = folderOf(config)
  const loaded = new Map<string, AiSdkPackage>()
  const problems: Array<ConfigProblem.ConfigProblem> = []
  for (const provider of config.providers.values()) {
    if (provider.type !== "ai-sdk") continue
    const result = yield* Effect.result(load(provider, folder, surroundings))
    if (Result.isSuccess(result)) loaded.set(provider.name, result.success)
    else problems.push(result.failure)
  }
  const { model } = config
  const message = model && loaded.get(model.provider)?.unusable(model.model)
  if (message !== undefined) problems.push({ place: "model", message })
  if (problems.length === 0) return loaded
  return yield* Effect.fail(refused(config, problems))
})

/** Checks that the packages of a configuration are installed, without running their code. */
export const check = (config: Values): Effect.Effect<void, ConfigError> => {
  const folder = folderOf(config)
  const problems = Array.from(config.providers.values()).flatMap((provider) =>
    provider.type === "ai-sdk" && find(provider.package, folder) === undefined ? [missing(provider, folder)] : []
  )
  return problems.length === 0 ? Effect.void : Effect.fail(refused(config, problems))
}

// --- internal

const folderOf = ({ file }: Values): string => (file === undefined ? process.cwd() : dirname(file))

const refused = ({ file }: Values, problems: ReadonlyArray<ConfigProblem.ConfigProblem>): ConfigError =>
  new ConfigError({ subject: file ?? "The configuration", problems })

const missing = (config: AiSdkProvider, folder: string): ConfigProblem.ConfigProblem => ({
  place: ConfigProblem.formatPath(["providers", config.name, "package"]),
  message: notInstalled(config.package, folder)
})

/** Loads the package of a provider and calls its factory once for each credential. */
const load = Effect.fnUntraced(function* (config: AiSdkProvider, folder: string, { conceal, fetch }: Surroundings) {
  const problem = (key: string, message: string): ConfigProblem.ConfigProblem => ({
    place: ConfigProblem.formatPath(["providers", config.name, key]),
    message: conceal(message)
  })
  const path = find(config.package, folder)
  if (path === undefined) return yield* Effect.fail(missing(config, folder))
  const [{ providerOf }, exported] = yield* Effect.tryPromise({
    try: async (): Promise<[typeof AiSdk, Readonly<Record<string, unknown>>]> => [
      await import("@holdfast/ai-sdk"),
      await import(pathToFileURL(path).href)
    ],
    catch: (error) => problem("package", `${Quote.of(config.package)} cannot be loaded: ${messageOf(error)}`)
  })
  const chosen = factoryOf(exported, config)
  if (typeof chosen === "string") return yield* Effect.fail(problem("factory", chosen))
  const { credentials } = config
  const made = yield* Effect.forEach(credentials.length === 0 ? [undefined] : credentials, (credential) =>
    Effect.try({
      try: () => [credential?.name ?? "", modelsOf(chosen(optionsOf(config, credential, fetch)), config)] as const,
      catch: (error) =>
        problem("options", `the factory of ${Quote.of(config.package)} refuses them: ${messageOf(error)}`)
    })
  )
  const providerWith = (models: Models) =>
    providerOf(
      (model) => ({ languageModel: models(model), options: BodyPatch.merge({}, model, config.request ?? {}) }),
      conceal
    )
  return {
    providers: new Map(made.map(([name, models]) => [name, providerWith(models)])),
    /** Why the package has no such model, as far as it reports that without a call; `undefined`: it reports nothing. */
    unusable: (model: string): string | undefined => {
      try {
        made[0]?.[1](model)
        return undefined
      } catch (error) {
        return `${Quote.of(config.package)} has no model ${Quote.of(model)}: ${conceal(messageOf(error))}`
      }
    }
  }
})

type Factory = (options: Readonly<Record<string, unknown>>) => unknown

/** The models of a provider of the AI SDK, by name. It throws where there is none. */
type Models = (model: string) => AiSdk.AnyModel

const find = (name: string, folder: string): string | undefined => {
  for (const from of isPath(name) ? [join(folder, "-")] : [join(folder, "-"), import.meta.filename]) {
    try {
      return createRequire(from).resolve(name)
    } catch {
      // It is not installed there.
    }
  }
  return undefined
}

/** A module of the operator. */
const isPath = (name: string): boolean => /^[./]/.test(name)

const notInstalled = (name: string, folder: string): string =>
  isPath(name)
    ? `there is no module ${Quote.of(name)} in ${folder}, the folder of the configuration.`
    : `${Quote.of(name)} is not installed: it is neither in ${folder}, the folder of the configuration, nor in ` +
      `${dirname(import.meta.dirname)}, the service's own. Install it: npm install --prefix ${folder} ${name}`

/** The factory, or what is wrong with its name. */
const factoryOf = (exported: Readonly<Record<string, unknown>>, config: AiSdkProvider): Factory | string => {
  const functions = Object.entries(exported)
    .filter(([, value]) => typeof value === "function")
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  const names = functions.map(([name]) => name)
  const factories = functions.filter(([name]) => name.startsWith("create"))
  const known = factories.length === 0 ? names : factories.map(([name]) => name)
  if (config.factory === undefined) {
    const [only, ...more] = new Set(factories.map(([, value]) => value))
    if (only !== undefined && more.length === 0) return only as Factory
    return `missing: ${Quote.of(config.package)} has ${only === undefined ? "no" : "more than one"} function whose name begins with "create". Expected one of ${known.join(", ")}.`
  }
  const value = functions.find(([name]) => name === config.factory)?.[1]
  if (value !== undefined) return value as Factory
  const near = question(config.factory, names)
  return `${Quote.of(config.package)} exports no function ${Quote.of(config.factory)}.${near} Its factories: ${known.join(", ")}.`
}

const optionsOf = (
  { baseUrl, headers, options }: AiSdkProvider,
  credential: Credential | undefined,
  fetch: Surroundings["fetch"]
): Readonly<Record<string, unknown>> => {
  const sent = Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)] as const)
  return {
    ...defined({ fetch }),
    ...Redacted.value(options),
    ...defined({
      baseURL: baseUrl,
      apiKey: credential && Redacted.value(credential.value),
      headers: sent.length === 0 ? undefined : Object.fromEntries(sent)
    })
  }
}

const VERSIONS = ["v2", "v3", "v4"]

const modelsOf = (made: unknown, config: AiSdkProvider): Models => {
  // What a factory returns is known by its documentation alone.
  const provider = made as { readonly languageModel?: (model: string) => AiSdk.AnyModel }
  if (typeof provider?.languageModel !== "function")
    throw new Error("what it returns has no languageModel(), as providers of the AI SDK have.")
  return (name) => {
    const model = provider.languageModel?.(name)
    const version: string = model?.specificationVersion ?? "none"
    if (model === undefined || !VERSIONS.includes(version))
      throw Object.assign(
        new Error(
          `its models are of version ${version} of the AI SDK's specification; expected ${VERSIONS.join(", ")}. ` +
            `Install a newer one: npm install ${config.package}@latest`
        ),
        { name: "AI_UnsupportedModelVersionError" }
      )
    return model
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
