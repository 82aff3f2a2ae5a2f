/** Runs `holdfast config check`: prints the configuration in force with origins, or all problems. */
import type { ToolServerConfig } from "@holdfast/mcp"
import { type Allowance, type Models, Profile } from "@holdfast/policy"
import { Target } from "@holdfast/wire"
import { Duration, Effect, Option, Predicate, Redacted } from "effect"
import { Command } from "effect/cli"
import type { ProviderConfig, RequestOptions, Values } from "../config/Config.ts"
import * as ProviderTable from "../config/ProviderTable.ts"
import * as Secrets from "../redaction/Secrets.ts"
import * as Settings from "../config/reading/Settings.ts"
import * as DatabaseUrl from "../storage/sql/DatabaseUrl.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as RetryText from "../text/RetryText.ts"
import * as Setup from "./Setup.ts"
import * as DurationText from "../text/DurationText.ts"
import * as AiSdkPackage from "../providers/AiSdkPackage.ts"
import { Terminal } from "./terminal/Terminal.ts"

/** The command `config` with its subcommand `check`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make("config").pipe(
    Command.withDescription("Look at the configuration"),
    Command.withSubcommands([check(parts)])
  )

/** The configuration in force as lines, without secrets. */
export const report = (config: Values): ReadonlyArray<string> => {
  const rows = [...settings(config), ...retry(config), ...telemetry(config)]
  const width = Math.max(...rows.map(([key]) => key.length))
  const unused = Array.from(config.providers.values()).filter((provider) => !isInUse(config, provider))
  return [
    config.file === undefined
      ? "There is no configuration file. In force:"
      : `${config.file} is good. In force, with other sources in brackets:`,
    "",
    ...rows.map(([key, value]) => `  ${key.padEnd(width)}  ${value}${originOf(config, key)}`),
    ...(unused.length === 0 ? [] : ["", `Known, and not in use: ${unused.map(({ name }) => name).join(", ")}.`]),
    ...config.notices.flatMap((notice) => ["", notice])
  ]
}

// --- internal

const check = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make("check", { config: Setup.configFlag }, ({ config: file }) =>
    Setup.withConfig(parts, { file: Option.getOrUndefined(file) }, (config) =>
      Effect.gen(function* () {
        const terminal = yield* Terminal
        const { redact } = Secrets.make(Secrets.ofConfig(config))
        yield* AiSdkPackage.loadAll(config, { conceal: redact })
        terminal.stdout(`${report(config).join("\n")}\n`)
      })
    )
  ).pipe(
    Command.withDescription("Print the configuration in force, keys redacted; or every problem, with exit code 2"),
    Command.withExamples([
      { command: "holdfast config check", description: "Check what `serve` would start with" },
      { command: "holdfast config check --config night.json", description: "Check another file" }
    ])
  )

type Row = readonly [key: string, value: string]

const settings = (config: Values): ReadonlyArray<Row> => [
  ...plain(config, "server"),
  ["server.token", config.server.token === undefined ? "none" : Secrets.PLACEHOLDER],
  ...place(config),
  ...plain(config, "database"),
  ["model", Target.format(config.model)],
  ...Object.entries(config.models).map(([name, model]) => [`models.${name}`, capabilitiesOf(model)] as const),
  ...Array.from(config.providers.values())
    .filter((provider) => isInUse(config, provider))
    .map(
      (provider) => [`providers.${provider.name}`, describe(provider, Secrets.make(Secrets.ofConfig(config)))] as const
    ),
  ...plain(config, "gate"),
  ...plain(config, "gateway"),
  ...proxies(config),
  ...plain(config, "log"),
  ...config.tools.map(
    (server) => [`tools.${server.name}`, toolsOf(server, Secrets.make(Secrets.ofConfig(config)))] as const
  )
]

/** The plain keys of a section; an empty list is left out. */
const plain = (config: Values, section: keyof typeof Settings.DEFAULTS): ReadonlyArray<Row> => {
  const values: Readonly<Record<string, unknown>> = config[section]
  return Object.keys(Settings.DEFAULTS[section]).flatMap((key): ReadonlyArray<Row> => {
    const value = values[key]
    if (Array.isArray(value) && value.length === 0) return []
    return [[`${section}.${key}`, shown(value)]]
  })
}

/** A rule of `database.deleteConversations`, or any other element of a list. */
const element = (value: unknown): string =>
  Predicate.hasProperty(value, "after")
    ? `${Predicate.hasProperty(value, "tag") ? String(value.tag) : "all"} after ${shown(value.after)}`
    : String(value)

const shown = (value: unknown): string => {
  if (Duration.isDuration(value)) return Duration.isFinite(value) ? Duration.format(value) : "for ever"
  return Array.isArray(value) ? value.map(element).join(", ") : String(value)
}

/** The proxies of the environment, under the names of their variables. */
const proxies = (config: Values): ReadonlyArray<Row> => {
  if (config.proxy === undefined) return []
  const { exceptions, http, https } = config.proxy
  const { redact } = Secrets.make(Secrets.ofConfig(config))
  const shown = (address: Redacted.Redacted) => redact(Redacted.value(address))
  return [
    ...(http === undefined ? [] : [["HTTP_PROXY", shown(http)] as const]),
    ...(https === undefined ? [] : [["HTTPS_PROXY", shown(https)] as const]),
    ...(exceptions === "" ? [] : [["NO_PROXY", exceptions] as const])
  ]
}

/** The place of the data, and the cluster that shares it. */
const place = (config: Values): ReadonlyArray<Row> => {
  const { cluster, database } = config
  return database.url === undefined
    ? [["database.path", database.path]]
    : [
        ["database.url", DatabaseUrl.nameOf(database.url)],
        ["cluster.runner", `${cluster.runner.host}:${cluster.runner.port}`],
        ...plain(config, "cluster")
      ]
}

const retry = (config: Values): ReadonlyArray<Row> => [
  ["retry.profile", config.retry.profile ?? "overnight"],
  ...RetryText.primitives(Profile.resolve(config.retry)).map(([name, value]) => [`retry.${name}`, value] as const)
]

/** The telemetry and its receivers, without headers, a webhook's address and a command's arguments. */
const telemetry = (config: Values): ReadonlyArray<Row> => {
  const { notifications, otlp, retryLog } = config.telemetry
  const { redact } = Secrets.make(Secrets.ofConfig(config))
  return [
    [
      "telemetry.retryLog",
      retryLog === undefined ? "off" : `${retryLog.path}, up to ${retryLog.maxBytes} bytes, ${retryLog.keep} older ones`
    ],
    ["telemetry.otlp", otlp === undefined ? "off" : redact(otlp.url)],
    ["telemetry.notifications", notifications === undefined ? "off" : receiversOf(notifications)]
  ]
}

const receiversOf = ({ after, command, webhook }: NonNullable<Values["telemetry"]["notifications"]>): string => {
  const receivers = [
    ...(webhook === undefined ? [] : ["by a webhook"]),
    ...(command === undefined ? [] : [`by ${command[0]}`])
  ]
  return `after ${DurationText.format(Duration.toMillis(after))}, ${receivers.join(" and ")}`
}

const capabilitiesOf = ({ contextWindow, files, tools }: Models.Capabilities): string =>
  [
    ...(contextWindow === undefined ? [] : [`${contextWindow} tokens`]),
    ...(tools === undefined ? [] : [tools ? "tools" : "no tools"]),
    ...(files === undefined ? [] : [filesInWords(files)])
  ].join(", ") || "nothing is known"

const filesInWords = (files: NonNullable<Models.Capabilities["files"]>): string =>
  typeof files === "boolean" ? (files ? "files" : "no files") : files.length === 0 ? "no files" : files.join(", ")

/** The origin of a value, unless it is the expected one: the file, or without a file the defaults. */
const originOf = ({ file, origins }: Values, key: string): string => {
  const [section, name] = key.split(".")
  // A token may come from a variable that the file names, and a nested key's origin is that of the object around it.
  const names = key === "server.token" ? ["server.token", "server.tokenEnv"] : [key, `${section}.${name}`]
  const origin = names.map((name) => origins.get(name)).find((origin) => origin !== undefined)
  if (origin === undefined) return file === undefined || WITHOUT_DEFAULT.has(section) ? "" : "  (default)"
  return /^(HOLDFAST_|--)/.test(origin) ? `  (${origin})` : ""
}

/** Sections without defaults: their values come from the file or from variables of other programs. */
const WITHOUT_DEFAULT: ReadonlySet<string | undefined> = new Set([
  "providers",
  "models",
  "tools",
  "telemetry",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY"
])

const isInUse = (config: Values, provider: ProviderConfig): boolean =>
  provider.name === config.model.provider ||
  config.origins.has(`providers.${provider.name}`) ||
  ProviderTable.hasKey(provider)

/** The address or the command of a tool server, without the values of its variables and headers. */
const toolsOf = ({ reach, timeout }: ToolServerConfig, { redact }: Secrets.Secrets["Service"]): string => {
  const [how, secrets] =
    reach.type === "http"
      ? [reach.url, Object.keys(reach.headers).map((name) => `${name}: ${Secrets.PLACEHOLDER}`)]
      : [
          [reach.command, ...reach.args].join(" "),
          Object.keys(reach.env).map((name) => `${name}=${Secrets.PLACEHOLDER}`)
        ]
  return [redact(how), ...secrets, `${Duration.format(timeout)} a call`].join(", ")
}

const describe = (provider: ProviderConfig, secrets: Secrets.Secrets["Service"]): string => {
  if (provider.type === "simulated") return "simulated"
  const set = provider.credentials.map(({ name }) => `${name}=${Secrets.PLACEHOLDER}`)
  const unset = provider.apiKeyEnv
    .filter((name) => !provider.credentials.some((credential) => credential.name === name))
    .map((name) => `${name} not set`)
  const headers = Object.keys(provider.headers).map((name) => `${name}: ${Secrets.PLACEHOLDER}`)
  return [
    secrets.redact(
      [
        provider.type,
        ...(provider.type === "ai-sdk"
          ? [provider.package, ...(provider.factory === undefined ? [] : [provider.factory])]
          : []),
        ...(provider.baseUrl === undefined ? [] : [`at ${provider.baseUrl}`])
      ].join(" ")
    ),
    ...set,
    ...unset,
    ...headers,
    ...(provider.type === "ai-sdk" ? provider.optionNames.map((name) => `${name}: ${Secrets.PLACEHOLDER}`) : []),
    ...limitsOf(provider.limits),
    ...requestOf(provider.request).map(secrets.redact)
  ].join(", ")
}

const limitsOf = ({ calls, requestsPerMinute, tokensPerMinute }: Allowance.Allowance = {}): ReadonlyArray<string> => [
  ...(calls === undefined ? [] : [`${calls} calls at once`]),
  ...(requestsPerMinute === undefined ? [] : [`${requestsPerMinute} requests a minute`]),
  ...(tokensPerMinute === undefined ? [] : [`${tokensPerMinute} tokens a minute`])
]

/** The operator's additions to requests. */
const requestOf = (request: RequestOptions | undefined): ReadonlyArray<string> => {
  if (request === undefined) return []
  const { body, maxTokens, modelBody, promptCaching } = request
  return [
    ...(maxTokens === undefined ? [] : [`${maxTokens} tokens an answer`]),
    ...(promptCaching === undefined ? [] : [promptCaching ? "prompt caching" : "no prompt caching"]),
    ...(body === undefined ? [] : [`body ${JSON.stringify(body)}`]),
    ...Array.from(modelBody, ([model, body]) => `body of ${model} ${JSON.stringify(body)}`)
  ]
}
