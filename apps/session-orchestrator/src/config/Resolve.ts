/**
 * From what was written down to what is in force. Pure: file, environment and flags are arguments.
 *
 * V1. Flags stand over the environment, the environment over the file, the file over the defaults.
 * V2. Each of the three is checked as a whole, whether or not something above it wins. Their problems are told together.
 * V3. What keys mean to each other (a model and its provider, an address and its token) is checked once each is sound by
 *     itself, and again everything at once.
 */
import { Duration, Redacted, Result, Schema } from "effect"
import { ConfigError, type Origin, type Values } from "./Config.ts"
import * as Environment from "./Environment.ts"
import * as ModelChoice from "./ModelChoice.ts"
import * as PolicyChecks from "./PolicyChecks.ts"
import * as Problem from "./Problem.ts"
import * as ProviderTable from "./ProviderTable.ts"
import * as Settings from "./Settings.ts"
import * as TelemetryChoice from "./TelemetryChoice.ts"
import * as ToolTable from "./ToolTable.ts"
import { isLoopback } from "../transport/http/Loopback.ts"

/** The defaults of a service that is told nothing. */
export const DEFAULT_HOST = "127.0.0.1"
export const DEFAULT_PORT = 4747
export const DEFAULT_DATABASE_PATH = "./.holdfast/holdfast.db"
export const DEFAULT_RUNNER = { host: "127.0.0.1", port: 4748 }

/** Some dozen for each of more runners than anybody starts, so that they can be dealt out evenly. */
export const DEFAULT_SHARDS = 300
/** One line for each turn that failed, and for each change of state of the service. */
export const DEFAULT_LOG_LEVEL = "info"
/** As long as anybody asks why a turn waited. */
export const DEFAULT_RETENTION = Duration.days(30)

/** What the environment has a token of its own in. */
const TOKEN_VARIABLE = "HOLDFAST_TOKEN"

/** A value that was given, and what to call it. */
export interface Flags {
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly model?: string | undefined
  readonly profile?: string | undefined
  readonly runner?: string | undefined
}

export interface Sources {
  /** The file's content as JSON gave it, its name as the person knows it, and where it is. */
  readonly file: { readonly name: string; readonly path: string; readonly content: unknown } | undefined
  readonly environment: Environment.Environment
  readonly flags: Flags
  /** Makes a path absolute, from the file's directory (`file`) or the working directory (`here`). */
  readonly absolute: (path: string, from: "file" | "here") => string
  readonly simulated: ModelChoice.SimulatedModels
}

/** Checks everything and puts it together. */
export const resolve = (sources: Sources): Result.Result<Values, ConfigError> => {
  const layers = [fileLayer(sources.file), environmentLayer(sources.environment), flagsLayer(sources.flags)]
  const unsound = [...layers.flatMap((layer) => layer.problems), ...Environment.problems(sources.environment)]
  if (unsound.length > 0) return refuse(sources, unsound) // V2

  const settings = layers.reduce<Settings.Settings>((merged, layer) => Settings.merge(merged, layer.settings), {})
  const origins = new Map(layers.flatMap(originsOf))
  const originOf = (path: string): Origin => origins.get(path) ?? "default"

  const table = ProviderTable.make(settings.providers ?? {}, settings.models ?? {}, sources.environment)
  const chosen = ModelChoice.choose(settings, table.providers, sources.simulated, originOf("model"))
  const tools = ToolTable.make(settings.tools ?? {}, sources.environment, (path) => sources.absolute(path, "file"))
  const token = tokenOf(settings, sources.environment)
  const host = settings.server?.host ?? DEFAULT_HOST

  const path = databasePath(sources, settings.database?.path, originOf("database.path"))
  const url = settings.database?.url
  const { telemetry, problems: untold } = TelemetryChoice.choose(settings.telemetry ?? {}, {
    environment: sources.environment,
    database: path === ":memory:" || url !== undefined ? undefined : path,
    absolute: (path) => sources.absolute(path, "file")
  })

  const problems: Array<Problem.Problem> = [
    ...table.problems,
    ...tools.problems,
    ...chosen.problems,
    ...token.problems,
    ...untold
  ]
  if (token.value === undefined && token.problems.length === 0 && !isLoopback(host)) {
    problems.push(unprotected(host, originOf("server.host")))
  }
  problems.push(...PolicyChecks.problems(settings, table.providers, sources.simulated))
  if (problems.length > 0) return refuse(sources, problems)

  const runner = Settings.parseRunner(settings.cluster?.runner ?? "") ?? DEFAULT_RUNNER
  return Result.succeed({
    file: sources.file?.path,
    server: {
      host,
      port: settings.server?.port ?? DEFAULT_PORT,
      hostnames: settings.server?.hostnames ?? [],
      token: token.value,
      tokenVariable: origins.get("server.token") === TOKEN_VARIABLE ? TOKEN_VARIABLE : settings.server?.tokenEnv
    },
    cluster: { runner, shards: settings.cluster?.shards ?? DEFAULT_SHARDS },
    database: {
      url,
      path,
      retention: settings.database?.retention ?? DEFAULT_RETENTION
    },
    providers: table.providers,
    gate: { enabled: settings.gate?.enabled ?? true },
    log: { level: settings.log?.level ?? DEFAULT_LOG_LEVEL },
    tools: tools.servers,
    model: chosen.model,
    models: capabilitiesOf(settings.models ?? {}),
    retry: settings.retry ?? {},
    telemetry,
    origins,
    notices: [
      ...chosen.notices,
      ...(url === undefined && origins.has("cluster.runner") ? [alone(originOf("cluster.runner"))] : []),
      ...(url !== undefined && !isLoopback(runner.host) ? [exposed(runner.host)] : []),
      ...Environment.strangers(
        sources.environment,
        namedVariables(settings, table.providers, [...table.variables, ...tools.variables])
      )
    ]
  })
}

// --- internal

const databasePath = (sources: Sources, path: string | undefined, origin: Origin): string =>
  path === ":memory:"
    ? path
    : sources.absolute(path ?? DEFAULT_DATABASE_PATH, origin === sources.file?.name ? "file" : "here")

interface Layer {
  readonly origin: (path: string) => Origin
  readonly settings: Settings.Settings
  readonly problems: ReadonlyArray<Problem.Problem>
}

const decode = Schema.decodeUnknownResult(Settings.Settings, Settings.PARSE_OPTIONS)

const layerOf = (
  content: unknown,
  place: (path: ReadonlyArray<PropertyKey>) => string,
  origin: (path: string) => Origin
): Layer =>
  Result.match(decode(content), {
    onSuccess: (settings) => ({ origin, settings, problems: [] }),
    onFailure: ({ issue }) => ({ origin, settings: {}, problems: Problem.fromIssue(issue, content, place) })
  })

const fileLayer = (file: Sources["file"]): Layer =>
  layerOf(file?.content ?? {}, Problem.formatPath, () => file?.name ?? "default")

const environmentLayer = (environment: Environment.Environment): Layer =>
  layerOf(Environment.toSettings(environment), Environment.placeOf, (path) => Environment.placeOf(path.split(".")))

const FLAGS: ReadonlyArray<readonly [path: string, flag: string]> = [
  ["server.host", "--host"],
  ["server.port", "--port"],
  ["model", "--model"],
  ["retry.profile", "--profile"],
  ["cluster.runner", "--runner"]
]

const flagOf = (path: string): string => FLAGS.find(([known]) => known === path)?.[1] ?? path

const flagsLayer = ({ host, model, port, profile, runner }: Flags): Layer =>
  layerOf(
    {
      ...(host === undefined && port === undefined ? {} : { server: defined({ host, port }) }),
      ...(profile === undefined ? {} : { retry: { profile } }),
      ...(runner === undefined ? {} : { cluster: { runner } }),
      ...defined({ model })
    },
    (path) => flagOf(Problem.formatPath(path)),
    flagOf
  )

const defined = (record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))

/** Which layer a value came from, one level into each section; later layers win because they come later. */
const originsOf = ({ origin, settings }: Layer): ReadonlyArray<readonly [string, Origin]> =>
  Object.entries(settings).flatMap(([section, value]) =>
    typeof value === "object"
      ? Object.keys(value).map((key): readonly [string, Origin] => [`${section}.${key}`, origin(`${section}.${key}`)])
      : [[section, origin(section)]]
  )

const refuse = (sources: Sources, problems: ReadonlyArray<Problem.Problem>): Result.Result<never, ConfigError> =>
  Result.fail(new ConfigError({ subject: sources.file?.name ?? "The configuration", problems }))

/** What models can take, without what is added to their requests. */
const capabilitiesOf = (models: NonNullable<Settings.Settings["models"]>): Values["models"] =>
  Object.fromEntries(
    Object.entries(models)
      .map(([name, { body: _body, ...capabilities }]) => [name, capabilities] as const)
      .filter(
        ([name, { contextWindow, tools }]) =>
          models[name]?.body === undefined || contextWindow !== undefined || tools !== undefined
      )
  )

/** Variables that the configuration names, whatever they are called. */
const namedVariables = (
  settings: Settings.Settings,
  providers: Values["providers"],
  expanded: ReadonlyArray<string>
): ReadonlySet<string> =>
  new Set([
    ...expanded,
    ...(settings.server?.tokenEnv === undefined ? [] : [settings.server.tokenEnv]),
    ...(settings.telemetry?.notifications?.webhookEnv === undefined
      ? []
      : [settings.telemetry.notifications.webhookEnv]),
    ...Array.from(providers.values()).flatMap((provider) => (provider.type === "simulated" ? [] : provider.apiKeyEnv))
  ])

const tokenOf = (
  { server }: Settings.Settings,
  environment: Environment.Environment
): { readonly value: Redacted.Redacted | undefined; readonly problems: ReadonlyArray<Problem.Problem> } => {
  if (server?.tokenEnv === undefined) return { value: server?.token, problems: [] }
  const place = "server.tokenEnv"
  if (server.token !== undefined) {
    return { value: undefined, problems: [{ place, message: "there is a server.token too. Keep one of them." }] }
  }
  const value = Environment.get(environment, server.tokenEnv)
  if (value === undefined) {
    return { value, problems: [{ place, message: `the environment variable ${server.tokenEnv} is not set.` }] }
  }
  return value.length < Settings.SHORTEST_TOKEN
    ? {
        value: undefined,
        problems: [
          {
            place,
            message: `the token in ${server.tokenEnv} has ${value.length} characters; expected at least ${Settings.SHORTEST_TOKEN}.`
          }
        ]
      }
    : { value: Redacted.make(value), problems: [] }
}

const alone = (origin: Origin): string =>
  `cluster.runner is set (${origin}), and database.url is not: this service runs alone, on its own file.`

const exposed = (host: string): string =>
  `Runners reach this one at ${host}, over connections that are not encrypted and ask for no token: ` +
  "keep them in a network of their own."

const unprotected = (host: string, origin: Origin): Problem.Problem => ({
  place: origin.startsWith("HOLDFAST_") || origin.startsWith("--") ? origin : "server.host",
  message:
    `${host} can be reached from other machines, and there is no token. Set HOLDFAST_TOKEN (or server.tokenEnv) ` +
    `to a secret of at least ${Settings.SHORTEST_TOKEN} characters, which clients then send as "Authorization: Bearer ...", ` +
    `or listen on ${DEFAULT_HOST}.`
})
