/**
 * Resolves file, environment and flags into the configuration in force. Pure.
 *
 * Precedence: flags, then environment, then file, then defaults. Each source is checked as a whole, even where another source overrides
 * it. Relations between keys (a model and its provider, an address and its token) are checked on the valid parts, and all problems are
 * reported together. A problem that may result from another mistake is not reported beside it.
 *
 * Resolve.V4. Secrets that only a service needs may be missing where none is run: a shell that reads a report has no keys. They are in
 *     `missing` of the configuration, for a command that runs a service after all.
 */
import { RetrySettings } from "@holdfast/policy"
import * as SpendLimits from "../spend/limits/SpendLimits.ts"
import { Target } from "@holdfast/wire"
import { Redacted, Result } from "effect"
import { isLoopback } from "../system/Loopback.ts"
import { BuiltIn } from "@holdfast/providers"
import { ConfigError, type Origin, type ProviderConfig, type Values } from "./Config.ts"
import * as Environment from "./reading/Environment.ts"
import * as ModelChoice from "./ModelChoice.ts"
import * as Partial from "./reading/Partial.ts"
import * as PolicyChecks from "./PolicyChecks.ts"
import type * as ConfigProblem from "./reading/ConfigProblem.ts"
import * as ProviderTable from "./ProviderTable.ts"
import * as ProxyChoice from "./ProxyChoice.ts"
import * as Settings from "./reading/Settings.ts"
import * as SecretChoice from "./SecretChoice.ts"
import * as Sources from "./Sources.ts"
import * as TelemetryChoice from "./TelemetryChoice.ts"
import * as ToolTable from "./ToolTable.ts"
import * as WebhookChoice from "./WebhookChoice.ts"

/** The database file by default. The defaults of plain keys are in `Settings.DEFAULTS`. */
const DEFAULT_DATABASE_PATH = "./.holdfast/holdfast.db"
/** The address of this runner by default. */
export const DEFAULT_RUNNER = { host: "127.0.0.1", port: 4748 }

/** The variable of the server's token. */
const TOKEN_VARIABLE = "HOLDFAST_TOKEN"

/** Checks all sources and merges them. */
export const resolve = (sources: Sources.Sources): Result.Result<Values, ConfigError> => {
  const layers = Sources.layers(sources)
  const missing = layers.flatMap((layer) => layer.missing)
  const unsound = [...layers.flatMap((layer) => layer.problems), ...Environment.problems(sources.environment)]

  const settings = layers.reduce<Settings.Settings>((merged, layer) => Settings.merge(merged, layer.settings), {})
  const origins = new Map(layers.flatMap(Sources.originsOf))
  const originOf = (path: string): Origin => origins.get(path) ?? "default"

  const table = ProviderTable.make(settings.providers ?? {}, settings.models ?? {}, sources.environment)
  const judged = withUnjudged(table.providers, settings, missing)
  const chosen = ModelChoice.choose(settings, judged, sources.simulated, originOf("model"))
  const tools = ToolTable.make(settings.tools ?? {}, sources.environment, (path) => sources.absolute(path, "file"))
  const proxies = ProxyChoice.choose(sources.environment)
  const token = SecretChoice.choose(
    { key: "server.token", value: settings.server?.token, variable: settings.server?.tokenEnv },
    sources.environment
  )
  const { token: _token, tokenEnv, ...server } = { ...Settings.DEFAULTS.server, ...settings.server }
  const { host } = server

  const path = databasePath(sources, settings.database?.path, originOf("database.path"))
  const url = settings.database?.url
  const { telemetry, problems: untold } = TelemetryChoice.choose(settings.telemetry ?? {}, {
    environment: sources.environment,
    database: path === ":memory:" || url !== undefined ? undefined : path,
    absolute: (path) => sources.absolute(path, "file")
  })

  const webhooks = WebhookChoice.choose(settings.webhooks ?? {}, sources.environment)

  const isTokenKnown = Partial.isWhole(missing, ["server", "token"]) && Partial.isWhole(missing, ["server", "tokenEnv"])
  const isOpen = token.value === undefined && token.problems.length === 0 && isTokenKnown && !isLoopback(host)
  const meant = [
    ...table.problems,
    ...tools.problems,
    ...chosen.problems,
    ...token.problems,
    ...untold,
    ...webhooks.problems,
    ...proxies.problems,
    ...(isOpen ? [unprotected(host, originOf("server.host"))] : []),
    ...PolicyChecks.problems(settings, judged, sources.simulated)
  ]
  const found = [...unsound, ...meant.filter(({ place }) => !Partial.explains(missing, place))]
  const problems = found.filter(({ isOfService }) => sources.isService || isOfService !== true) // Resolve.V4
  const refusal = (problems: ConfigError["problems"]) =>
    new ConfigError({ subject: sources.file?.name ?? "The configuration", problems })
  if (problems.length > 0) return Result.fail(refusal(problems))

  const runner = Settings.parseRunner(settings.cluster?.runner ?? "") ?? DEFAULT_RUNNER
  return Result.succeed({
    file: sources.file?.path,
    server: {
      ...server,
      token: token.value,
      tokenVariable: origins.get("server.token") === TOKEN_VARIABLE ? TOKEN_VARIABLE : tokenEnv
    },
    cluster: { ...Settings.DEFAULTS.cluster, ...settings.cluster, runner },
    database: { ...Settings.DEFAULTS.database, ...settings.database, url, path },
    providers: table.providers,
    gate: { ...Settings.DEFAULTS.gate, ...settings.gate },
    gateway: { ...Settings.DEFAULTS.gateway, ...settings.gateway },
    log: { ...Settings.DEFAULTS.log, ...settings.log },
    tools: tools.servers,
    model: chosen.model,
    models: capabilitiesOf(settings.models ?? {}),
    prices: settings.prices ?? {},
    spend: settings.spend ?? [],
    systemPrompts: settings.systemPrompts ?? {},
    retry: settings.retry ?? {},
    telemetry,
    webhooks: webhooks.webhooks,
    proxy: proxies.proxy,
    origins,
    ...(found.length > 0 ? { missing: refusal(found) } : {}),
    notices: [
      ...chosen.notices,
      ...(chosen.model === undefined ? [] : unpriced(settings, chosen.model)),
      ...(url === undefined && origins.has("cluster.runner") ? [alone(originOf("cluster.runner"))] : []),
      ...(url !== undefined && !isLoopback(runner.host) ? [exposed(runner.host)] : []),
      ...Environment.unknownVariables(
        sources.environment,
        namedVariables(settings, table.providers, [...table.variables, ...tools.variables])
      )
    ]
  })
}

// --- internal

/** The default model has no price, so limits of money are not checked for it. */
const unpriced = ({ prices = {}, spend = [] }: Settings.Settings, model: Target.Target): ReadonlyArray<string> => {
  const notice = SpendLimits.uncheckable(spend, prices, Target.format(model))
  return notice === undefined ? [] : [notice]
}

const databasePath = (sources: Sources.Sources, path: string | undefined, origin: Origin): string =>
  path === ":memory:"
    ? path
    : path === undefined
      ? sources.absolute(DEFAULT_DATABASE_PATH, sources.file === undefined ? "here" : "file")
      : sources.absolute(path, origin === sources.file?.name ? "file" : "here")

/**
 * The providers, where each provider with a reported mistake counts as usable: a target is not refused for a mistake that its provider's
 * entry already reports.
 */
const withUnjudged = (
  providers: Values["providers"],
  { model, models = {}, providers: given = {}, retry = {} }: Settings.Settings,
  missing: ReadonlyArray<ReadonlyArray<PropertyKey>>
): Values["providers"] => {
  const targets = [model, ...Object.keys(models), ...RetrySettings.targetNames(retry).map(({ name }) => name)]
  const named = targets.flatMap((name) => Target.parse(name ?? "")?.provider ?? [])
  return new Map([
    ...providers,
    ...[...named, ...Object.keys(given), ...[...BuiltIn.builtIns, ...BuiltIn.otherFormats].map(({ name }) => name)]
      .filter((name) => !Partial.isWhole(missing, ["providers", name]))
      .map((name): readonly [string, ProviderConfig] => [name, { ...USABLE, name }])
  ])
}

const USABLE: ProviderConfig = {
  type: "openai-compatible",
  name: "",
  baseUrl: "",
  apiKeyEnv: [],
  credentials: [{ name: "", value: Redacted.make("") }],
  headers: {}
}

/** The capabilities of models, without the additions to their requests. */
const capabilitiesOf = (models: NonNullable<Settings.Settings["models"]>): Values["models"] =>
  Object.fromEntries(
    Object.entries(models)
      .map(([name, { body: _body, ...capabilities }]) => [name, capabilities] as const)
      .filter(([name, capabilities]) => models[name]?.body === undefined || Object.keys(capabilities).length > 0)
  )

/** All variables that the configuration names. */
const namedVariables = (
  settings: Settings.Settings,
  providers: Values["providers"],
  expanded: ReadonlyArray<string>
): ReadonlySet<string> =>
  new Set([
    ...expanded,
    ...(settings.server?.tokenEnv === undefined ? [] : [settings.server.tokenEnv]),
    ...(settings.webhooks?.secretEnv === undefined ? [] : [settings.webhooks.secretEnv]),
    ...(settings.telemetry?.notifications?.webhookEnv === undefined
      ? []
      : [settings.telemetry.notifications.webhookEnv]),
    ...Array.from(providers.values()).flatMap((provider) => (provider.type === "simulated" ? [] : provider.apiKeyEnv))
  ])

const alone = (origin: Origin): string =>
  `cluster.runner is set (${origin}), and database.url is not: this service runs alone, on its own file.`

const exposed = (host: string): string =>
  `Runners reach this one at ${host}, over connections that are not encrypted and ask for no token: ` +
  "keep them in a network of their own."

const unprotected = (host: string, origin: Origin): ConfigProblem.Problem => ({
  place: origin.startsWith("HOLDFAST_") || origin.startsWith("--") ? origin : "server.host",
  message:
    `${host} can be reached from other machines, and there is no token. Set HOLDFAST_TOKEN (or server.tokenEnv) ` +
    `to a secret of at least ${Settings.SHORTEST_TOKEN} characters, which clients then send as "Authorization: Bearer ...", ` +
    `or listen on ${Settings.DEFAULTS.server.host}.`,
  isOfService: true
})
