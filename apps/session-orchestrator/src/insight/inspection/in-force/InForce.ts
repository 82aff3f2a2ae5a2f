/**
 * Lists the configuration in force: every key with its value in words and its source. Pure.
 *
 * A key without a source of its own has that of the object around it. A setting of `retry` that no source has is the profile's.
 *
 * No value has a secret: keys, tokens, headers and addresses that are secrets are not written, and each value is redacted after that.
 */
import type { ToolServerConfig } from "@holdfast/mcp"
import { type Models, type Prices, Profile } from "@holdfast/policy"
import { Count, defined, type EffectiveConfiguration, Target } from "@holdfast/wire"
import { Duration, Predicate } from "effect"
import type { ProviderConfig, RequestOptions, Values } from "../../../config/Config.ts"
import * as ProviderTable from "../../../config/ProviderTable.ts"
import * as Environment from "../../../config/reading/Environment.ts"
import { plainNames, ROWS } from "../../../config/reading/Settings.ts"
import { make, ofConfig, PLACEHOLDER, type Secrets } from "../../../config/redaction/Secrets.ts"
import * as DatabaseUrl from "../../../storage/sql/DatabaseUrl.ts"
import type * as SpendLimits from "../../../config/limits/SpendLimits.ts"
import * as DurationText from "../../../base/text/DurationText.ts"
import * as PolicyText from "../../../base/text/PolicyText.ts"

/** The configuration in force. */
export const of = (config: Values): EffectiveConfiguration.EffectiveConfiguration => {
  const { redact } = make(ofConfig(config))
  return {
    ...defined({ file: config.file }),
    entries: rowsOf(config, redact).map(([key, value]) => ({
      key,
      value: redact(value),
      source: sourceOf(config, key)
    })),
    unused: Array.from(config.providers.values())
      .filter((provider) => !isInUse(config, provider))
      .map(({ name }) => name),
    notices: config.notices.map(redact)
  }
}

/** A key and its value in words. */
type Row = readonly [key: string, value: string]

/** The settings of a section that have a value, in words; a secret by its presence alone. An empty list is left out. */
export const section = (name: string, values: Readonly<Record<string, unknown>>, rows = ROWS): ReadonlyArray<Row> =>
  Object.keys(values).flatMap((inner): ReadonlyArray<Row> => {
    const row = rows.get(`${name}.${inner}`)
    const value = values[inner]
    if (row === undefined || (Array.isArray(value) && value.length === 0)) return []
    if (row.isSecret === true) return [[row.key, value === undefined ? "none" : PLACEHOLDER]]
    return [[row.key, shown(value)]]
  })

// --- internal

type Redact = Secrets["Service"]["redact"]

const rowsOf = (config: Values, redact: Redact): ReadonlyArray<Row> => [
  ...section("server", config.server),
  ...place(config),
  ["model", config.model === undefined ? "none" : Target.format(config.model)],
  ...Object.entries(config.models).map(([name, model]) => [`models.${name}`, capabilities(model)] as const),
  ...Object.entries(config.prices).map(([name, price]) => [`prices.${name}`, priceOf(price)] as const),
  ...(config.spend ?? []).map((limit, index) => [`spend[${index}]`, spendLimit(limit)] as const),
  ...Object.entries(config.systemPrompts).map(
    ([name, { length }]) => [`systemPrompts.${name}`, `${length} characters`] as const
  ),
  ...Array.from(config.providers.values())
    .filter((provider) => isInUse(config, provider))
    .map((provider) => [`providers.${provider.name}`, providerOf(provider, redact)] as const),
  ...plainNames.flatMap((name) => section(name, config[name])),
  ...proxies(config),
  ...config.tools.map((server) => [`tools.${server.name}`, toolsOf(server, redact)] as const),
  ...retry(config),
  ...telemetry(config),
  ...section("webhooks", config.webhooks ?? {})
]

const sourceOf = (config: Values, key: string): EffectiveConfiguration.Source => {
  const { lines, origins } = config
  const path = key.replace(/\[(\d+)\]/, ".$1")
  const [section = "", name = ""] = path.split(".")
  // A secret may come from a variable that the file names.
  const paths = [path, `${key}Env`, `${section}.${name}`, section]
  const origin = paths.map((path) => origins.get(path)).find((origin) => origin !== undefined)
  if (origin === undefined) return sourceOfUnset(config, section, key)
  if (origin.startsWith("HOLDFAST_")) return { from: "environment", name: origin }
  if (origin.startsWith("--")) return { from: "flag", name: origin }
  const line = paths.map((path) => lines?.get(path)).find((line) => line !== undefined)
  return { from: "file", name: origin, ...defined({ line }) }
}

/** The source of a key that is in no file, flag, or variable of Holdfast. */
const sourceOfUnset = ({ providers, retry }: Values, section: string, key: string): EffectiveConfiguration.Source => {
  if (section === "retry" && key !== "retry.profile") return { from: "profile", name: retry.profile ?? "overnight" }
  if (/^[A-Z]+_PROXY$/.test(key)) return { from: "environment", name: key }
  const [variable] = section === "providers" ? ProviderTable.keyNames(providers.get(key.slice(section.length + 1))) : []
  return variable === undefined ? { from: "default" } : { from: "environment", name: variable }
}

const isInUse = (config: Values, provider: ProviderConfig): boolean =>
  provider.name === config.model?.provider ||
  config.origins.has(`providers.${provider.name}`) ||
  ProviderTable.hasKey(provider)

/** A rule of `database.deleteConversations`, or any other element of a list. */
const element = (value: unknown): string =>
  Predicate.hasProperty(value, "after")
    ? `${Predicate.hasProperty(value, "tag") ? String(value.tag) : "all"} after ${shown(value.after)}`
    : String(value)

const shown = (value: unknown): string => {
  if (Duration.isDuration(value))
    return Duration.isFinite(value) ? DurationText.setting(Duration.toMillis(value)) : "for ever"
  return Array.isArray(value) ? value.map(element).join(", ") : String(value)
}

/** The proxies of the environment, which have no key in the file, under the names of their variables. */
const proxies = (config: Values) => {
  const { exceptions, http, https } = Environment.proxiesOf(config) ?? {}
  return [
    ["HTTP_PROXY", http],
    ["HTTPS_PROXY", https],
    ["NO_PROXY", exceptions]
  ].flatMap(([name = "", value = ""]): ReadonlyArray<Row> => (value === "" ? [] : [[name, value]]))
}

/** The place of the data, and the cluster that shares it. */
const place = ({ cluster, database: { path, url, ...database } }: Values): ReadonlyArray<Row> => {
  if (url === undefined) return section("database", { path, ...database })
  const runner = `${cluster.runner.host}:${cluster.runner.port}`
  return [
    ["database.url", DatabaseUrl.nameOf(url)],
    ...section("cluster", { ...cluster, runner }),
    ...section("database", database)
  ]
}

const retry = (config: Values): ReadonlyArray<Row> => [
  ["retry.profile", config.retry.profile ?? "overnight"],
  ...PolicyText.primitives(Profile.resolve(config.retry)).map(([name, value]) => [`retry.${name}`, value] as const)
]

/** The telemetry and its receivers, without headers, a webhook's address and a command's arguments. */
const telemetry = ({ telemetry: { notifications, otlp, retryLog } }: Values): ReadonlyArray<Row> => [
  [
    "telemetry.retryLog",
    retryLog === undefined
      ? "off"
      : `${retryLog.path}, up to ${Count.of(retryLog.maxBytes, "byte")}, ${retryLog.keep} older ones`
  ],
  ["telemetry.otlp", otlp === undefined ? "off" : otlp.url],
  ["telemetry.notifications", notifications === undefined ? "off" : receiversOf(notifications)]
]

const receiversOf = ({
  after,
  command,
  quiet,
  report,
  webhook
}: NonNullable<Values["telemetry"]["notifications"]>): string =>
  list(
    `after ${DurationText.format(Duration.toMillis(after))}`,
    [webhook && "by a webhook", command && `by ${command[0]}`].filter((way) => way !== undefined).join(" and "),
    report !== undefined && `report at ${report}`,
    quiet !== undefined && `quiet from ${quiet.from} to ${quiet.to}`
  )

/** The parts that there are, separated by commas. */
const list = (...parts: ReadonlyArray<string | false>): string => parts.filter((part) => part !== false).join(", ")

/** What a model can take. */
const capabilities = ({ contextWindow, files, tools }: Models.Capabilities): string =>
  list(
    contextWindow !== undefined && `${contextWindow} tokens`,
    tools !== undefined && (tools ? "tools" : "no tools"),
    files !== undefined && (files === true ? "files" : (files || []).join(", ") || "no files")
  ) || "nothing is known"

/** What a model costs. */
const priceOf = ({ cacheWrite, cachedInput, input, output }: Prices.Price): string =>
  `${list(
    `$${input} of input`,
    `$${output} of output`,
    cachedInput !== undefined && `$${cachedInput} of cached input`,
    cacheWrite !== undefined && `$${cacheWrite} of input written to the cache`
  )} per million tokens`

/** How much may be spent. */
const spendLimit = ({ money, per, tag, then, tokens }: SpendLimits.SpendLimit): string =>
  list(
    `a ${per}${tag === undefined ? "" : ` ${tag}`}`,
    money !== undefined && `$${money}`,
    tokens !== undefined && `${tokens} tokens`,
    `then ${then}`
  )

/** The address or the command of a tool server, without the values of its variables, headers and arguments that are secrets. */
const toolsOf = ({ reach, timeout }: ToolServerConfig, redact: Redact): string =>
  list(
    redact(reach.type === "http" ? reach.url : [reach.command, ...withoutSecrets(reach.args)].join(" ")),
    ...(reach.type === "http" ? headersOf(reach.headers) : Object.keys(reach.env).map(variableOf)),
    `${Duration.format(timeout)} a call`
  )

/** A provider with its address and the names of its keys, headers, limits and additions, without their values. */
const providerOf = (provider: ProviderConfig, redact: Redact): string => {
  if (provider.type === "simulated") return "simulated"
  const { apiKeyEnv, baseUrl, credentials, headers, limits = {}, request, type } = provider
  const set = credentials.map(({ name }) => name)
  const [packageName, options] =
    provider.type === "ai-sdk"
      ? [[provider.package, provider.factory ?? ""], provider.optionNames.map((name) => `${name}: ${PLACEHOLDER}`)]
      : [[], []]
  const { calls, requestsPerMinute, tokensPerMinute } = limits
  return list(
    redact(
      [type, ...packageName, baseUrl === undefined ? "" : `at ${baseUrl}`].filter((part) => part !== "").join(" ")
    ),
    ...set.map(variableOf),
    ...apiKeyEnv.filter((name) => !set.includes(name)).map((name) => `${name} not set`),
    ...headersOf(headers),
    ...options,
    calls !== undefined && `${calls} calls at once`,
    requestsPerMinute !== undefined && `${requestsPerMinute} requests a minute`,
    tokensPerMinute !== undefined && `${tokensPerMinute} tokens a minute`,
    ...(request === undefined ? [] : requestOf(request).map((part) => part !== false && redact(part)))
  )
}

/** The operator's additions to requests. */
const requestOf = ({ body, maxTokens, modelBody, promptCaching }: RequestOptions): ReadonlyArray<string | false> => [
  maxTokens !== undefined && `${maxTokens} tokens an answer`,
  promptCaching !== undefined && (promptCaching ? "prompt caching" : "no prompt caching"),
  body !== undefined && `body ${JSON.stringify(body)}`,
  ...Array.from(modelBody, ([model, body]) => `body of ${model} ${JSON.stringify(body)}`)
]

const headersOf = (headers: object): ReadonlyArray<string> =>
  Object.keys(headers).map((name) => `${name}: ${PLACEHOLDER}`)

const variableOf = (name: string): string => `${name}=${PLACEHOLDER}`

/** Arguments whose values are secrets: keys, and headers that may have one. `-H` is a header. */
const SECRET_ARGUMENT = /^(?:-H$|--?[\w-]*(?:key|token|secret|passw|auth|credential|cookie|header)[\w-]*)/i

const withoutSecrets = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.map((arg, i) => {
    const before = args[i - 1] ?? ""
    if (SECRET_ARGUMENT.exec(before)?.[0] === before) return PLACEHOLDER
    const [name] = SECRET_ARGUMENT.exec(arg) ?? []
    return name !== undefined && name !== arg ? variableOf(name) : arg
  })
