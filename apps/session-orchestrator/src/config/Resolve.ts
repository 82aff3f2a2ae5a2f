/**
 * Resolves file, environment and flags into the configuration in force. Pure.
 *
 * Precedence: flags, then environment, then file, then defaults. Each source is checked as a whole, even where another source overrides
 * it. Relations between keys (a model and its provider, an address and its token) are checked on the valid parts, and all problems are
 * reported together. A problem that may result from another mistake is not reported beside it.
 *
 * Secrets that only a service needs may be missing where none is run: a shell that reads a report has no keys. They are in `missing` of the
 * configuration, for a command that runs a service after all.
 */
import { Target } from "@holdfast/wire"
import { Predicate, type Redacted, Result } from "effect"
import * as FinalReports from "./report/FinalReports.ts"
import * as SpendLimits from "./limits/SpendLimits.ts"
import { isLoopback } from "../base/system/Loopback.ts"
import { ConfigError, type Values } from "./Config.ts"
import * as ModelChoice from "./ModelChoice.ts"
import * as ProviderTable from "./ProviderTable.ts"
import * as ConfigProblem from "./reading/ConfigProblem.ts"
import * as Environment from "./reading/Environment.ts"
import { type Findings, secretIn, expansionOf } from "./reading/Expansion.ts"
import * as Settings from "./reading/Settings.ts"
import { parseRunner, SHORTEST_TOKEN, SECRET_NAME } from "./reading/SettingTypes.ts"
import * as Sources from "./reading/Sources.ts"
import * as TelemetryChoice from "./TelemetryChoice.ts"
import type { ToolServerConfig, ToolServerReach } from "@holdfast/mcp"

/** The three sources, and the surroundings. */
interface Given extends Sources.Sources {
  /** Makes a path absolute, from the file's directory (`file`) or the working directory (`here`). */
  readonly absolute: (path: string, from: "file" | "here") => string
  readonly simulated: ModelChoice.SimulatedModels
  /** Whether the process serves, or calls providers, tools or receivers. Otherwise it needs no secret of these. */
  readonly isService: boolean
}

/** Checks all sources and merges them. */
export const resolve = (given: Given): Result.Result<Values, ConfigError> => {
  const { environment, isService, simulated } = given
  const { missing, origins, problems: unsound, settings } = Sources.read(given)
  const originOf = (path: string): Sources.SettingOrigin => origins.get(path) ?? "default"
  const { models = {}, retry = {} } = settings

  const problems: Array<ConfigProblem.ConfigProblem> = []
  const findings: Findings = {
    environment,
    absolute: (path) => given.absolute(path, "file"),
    problems,
    variables: new Set(),
    isRead: (provider) => Sources.isWhole(missing, ["providers", provider])
  }

  const providers = ProviderTable.make(settings.providers ?? {}, models, findings)
  const tools = toolServers(settings.tools ?? {}, findings)
  const { model, notice } = ModelChoice.choose(settings, providers, simulated, originOf("model"), findings)

  const { token: _token, tokenEnv, ...server } = { ...Settings.DEFAULTS.server, ...settings.server }
  const token = secretOf("server", "token", settings.server?.token, tokenEnv, findings)
  const isTokenKnown =
    Sources.isWhole(missing, ["server", "token"]) &&
    Sources.isWhole(missing, ["server", "tokenEnv"]) &&
    !problems.some(({ place }) => place === "server.tokenEnv")
  const database = { ...Settings.DEFAULTS.database, url: undefined, ...settings.database }
  const { url } = database
  const path = databasePath(given, database.path, originOf("database.path"))
  const file = path === ":memory:" || url !== undefined ? undefined : path
  const telemetry = TelemetryChoice.choose(settings.telemetry ?? {}, file, findings)
  const webhooks = webhooksOf(settings.webhooks ?? {}, findings)
  const proxies = Environment.proxies(environment, problems)
  if (token === undefined && isTokenKnown && !isLoopback(server.host))
    problems.push(unprotected(server.host, originOf("server.host")))
  const schema = FinalReports.problemOf(retry)
  if (schema !== undefined)
    problems.push({ place: "retry.finalReport.schema", message: `it cannot be used: ${schema}.` })

  const found = [
    ...unsound,
    ...Environment.problems(environment),
    ...problems.filter(({ place }) => !Sources.explains(missing, place))
  ]
  const refusal = (problems: ConfigError["problems"]) => {
    const file = problems.every(
      ({ place }) => ELSEWHERE.test(place) && !Predicate.hasProperty(given.file?.content, place)
    )
      ? undefined
      : given.file
    return new ConfigError({ subject: file?.name ?? "The configuration", problems })
  }
  const stopping = found.filter(({ isOfService }) => isService || isOfService !== true)
  if (stopping.length > 0) return Result.fail(refusal(stopping))

  const cluster = { ...Settings.DEFAULTS.cluster, ...settings.cluster }
  const runner = parseRunner(cluster.runner) ?? { host: "", port: 0 }
  return Result.succeed({
    file: given.file?.path,
    server: {
      ...server,
      token,
      tokenVariable: originOf("server.token").startsWith("HOLDFAST_") ? originOf("server.token") : tokenEnv
    },
    cluster: { ...cluster, runner },
    database: { ...database, path },
    providers,
    ...Settings.plain(settings),
    tools,
    model,
    models: capabilitiesOf(models),
    prices: settings.prices ?? {},
    spend: settings.spend ?? [],
    systemPrompts: settings.systemPrompts ?? {},
    retry,
    telemetry,
    webhooks,
    proxies,
    origins,
    ...(found.length > 0 ? { missing: refusal(found) } : {}),
    notices: [
      notice,
      // The default model may have no price, so that limits of money are not checked for it.
      model && SpendLimits.uncheckable(settings.spend ?? [], settings.prices ?? {}, Target.format(model)),
      url === undefined && origins.has("cluster.runner") && alone(originOf("cluster.runner")),
      url !== undefined && !isLoopback(runner.host) && exposed(runner.host),
      ...Environment.unknownVariables(environment, findings.variables)
    ].filter((line) => typeof line === "string")
  })
}

// Builds the table of tool servers, with their variables expanded.
//
// The value of a variable is a secret, and so is every header's value. A literal value in `env` is a secret if its name suggests one;
// otherwise it is most likely a setting, and redacting `production` in every log would not help.

/** Builds the table, in the order of the file. */
const toolServers = (
  settings: Readonly<Record<string, Settings.ToolServerSettings>>,
  findings: Findings
): ReadonlyArray<ToolServerConfig> =>
  Object.entries(settings).flatMap(([name, entry]): ReadonlyArray<ToolServerConfig> => {
    const path = ["tools", name]
    const place = ConfigProblem.formatPath(path)
    const expansion = expansionOf(findings)
    const literals: Array<Redacted.Redacted> = []
    const { allow, args, command, cwd, env, headers, required, url, ...plain } = { ...Settings.DEFAULTS.tool, ...entry }
    findings.problems.push(...misplaced(place, entry))
    let reach: ToolServerReach
    if (command !== undefined) {
      const values = expansion.record(env, [...path, "env"], "variables")
      literals.push(...Object.entries(values).flatMap(([key, value]) => (SECRET_NAME.test(key) ? [value] : [])))
      reach = { type: "stdio", command, args, env: values, cwd: cwd === undefined ? undefined : findings.absolute(cwd) }
    } else if (url !== undefined) {
      reach = { type: "http", url, headers: expansion.record(headers, [...path, "headers"], "headers") }
      literals.push(...Object.values(reach.headers))
    } else {
      findings.problems.push({ place, message: "it has no command and no url. Expected one of the two." })
      return []
    }
    return [{ ...plain, name, reach, isRequired: required, allow, secrets: [...expansion.secrets, ...literals] }]
  })

// --- internal

/** The place of a value that is not of the file: a flag or a variable. */
const ELSEWHERE = /^(?:--|[A-Z][A-Z\d_]+$)/

/** The secret that the file has, or that it names the variable of, if it is long enough. */
const secretOf = (
  section: string,
  name: string,
  value: Redacted.Redacted | undefined,
  variable: string | undefined,
  findings: Findings
): Redacted.Redacted | undefined => {
  if (variable === undefined) return value
  const place = `${section}.${name}Env`
  if (value === undefined)
    return secretIn(variable, place, findings, ({ length }) =>
      length >= SHORTEST_TOKEN
        ? undefined
        : `the ${name} in ${variable} has ${length} characters; expected at least ${SHORTEST_TOKEN}.`
    )
  findings.problems.push({ place, message: `there is a ${section}.${name} too. Keep one of them.` })
  return undefined
}

/** Receivers of turns' ends need a secret, which signs the messages. */
const webhooksOf = (
  { secret: written, secretEnv, turnEnd }: NonNullable<Settings.Settings["webhooks"]>,
  findings: Findings
): Values["webhooks"] => {
  const { problems } = findings
  const before = problems.length
  const secret = secretOf("webhooks", "secret", written, secretEnv, findings)
  if (secret !== undefined) return { secret, turnEnd }
  const message = 'there is no secret to sign messages with. Give it a "secretEnv" or a "secret".'
  if (turnEnd !== undefined && problems.length === before) problems.push({ place: "webhooks.turnEnd", message })
  return undefined
}

/** The path is relative to the source that has it; the default to the file, if there is one. */
const databasePath = ({ absolute, file }: Given, path: string, origin: Sources.SettingOrigin): string =>
  path === ":memory:"
    ? path
    : absolute(path, file !== undefined && (origin === file.name || origin === "default") ? "file" : "here")

/** The capabilities of models, without the additions to their requests. */
const capabilitiesOf = (models: NonNullable<Settings.Settings["models"]>): Values["models"] =>
  Object.fromEntries(
    Object.entries(models).flatMap(([name, { body, ...capabilities }]) =>
      body === undefined || Object.keys(capabilities).length > 0 ? [[name, capabilities] as const] : []
    )
  )

const alone = (origin: Sources.SettingOrigin): string =>
  `cluster.runner is set (${origin}), and database.url is not: this service runs alone, on its own file.`

const exposed = (host: string): string =>
  `Runners reach this one at ${host}, over connections that are not encrypted and ask for no token: ` +
  "keep them in a network of their own."

const unprotected = (host: string, origin: Sources.SettingOrigin): ConfigProblem.ConfigProblem => ({
  place: origin.startsWith("HOLDFAST_") || origin.startsWith("--") ? origin : "server.host",
  message:
    `${host} can be reached from other machines, and there is no token. Set HOLDFAST_TOKEN (or server.tokenEnv) ` +
    `to a secret of at least ${SHORTEST_TOKEN} characters, which clients then send as "Authorization: Bearer ...", ` +
    `or listen on ${Settings.DEFAULTS.server.host}.`,
  isOfService: true
})

/** The problems of keys that do not apply beside the others. */
const misplaced = (place: string, entry: Settings.ToolServerSettings): ReadonlyArray<ConfigProblem.ConfigProblem> => {
  if (entry.command !== undefined && entry.url !== undefined) {
    return [{ place: `${place}.url`, message: "there is a command too. Keep one of them." }]
  }
  const [keys, message] =
    entry.url === undefined
      ? ([["headers"], "a server that is started by its command has none. Expected env."] as const)
      : ([["args", "env", "cwd"], "a server that is reached by its url has none."] as const)
  return keys.filter((key) => entry[key] !== undefined).map((key) => ({ place: `${place}.${key}`, message }))
}
