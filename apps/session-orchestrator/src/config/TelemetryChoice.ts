/**
 * Resolves the `telemetry` settings and their defaults. Pure.
 *
 * With a database file the retry log is on, beside that file (M4). With a database in memory or a shared one it is on only if it has a
 * path. Traces and notifications are off until they have an address or a command. The variables of OpenTelemetry count as in its
 * specification; the file overrides them.
 *
 * Read: opentelemetry.io/docs/specs/otel/protocol/exporter.
 */
import { Duration, Redacted } from "effect"
import type { Values } from "./Config.ts"
import * as Environment from "./reading/Environment.ts"
import type { Problem } from "./reading/ConfigProblem.ts"
import type * as NoticeFormats from "./reading/NoticeFormats.ts"
import * as Settings from "./reading/Settings.ts"

/** The telemetry of the configuration in force. */
export type Telemetry = Values["telemetry"]

/** The defaults of plain keys. A key that is missing here does not compile. */
export const DEFAULTS: {
  readonly retryLog: Settings.PlainRetryLog
  readonly notifications: Settings.PlainNotifications
} = {
  // Bytes: some 30,000 lines. With `keep` older files, 60 MB at most.
  retryLog: { maxBytes: 10_000_000, keep: 5 },
  // A shorter outage is over before an operator can act.
  notifications: { after: Duration.minutes(5) }
}

/** Facts from outside the `telemetry` section. */
export interface ServiceFacts {
  readonly environment: Environment.Environment
  /** The database's file; `undefined` if there is none. */
  readonly database: string | undefined
  /** Makes a path of the file absolute. */
  readonly absolute: (path: string) => string
}

/** Resolves the section. */
export const choose = (
  { notifications, otlp, retryLog }: NonNullable<Settings.Settings["telemetry"]>,
  surroundings: ServiceFacts
): { readonly telemetry: Telemetry; readonly problems: ReadonlyArray<Problem> } => {
  const problems: Array<Problem> = []
  return {
    telemetry: {
      retryLog: retryLogOf(retryLog, surroundings),
      otlp: otlpOf(otlp, surroundings.environment, problems),
      notifications: notificationsOf(notifications, surroundings, problems)
    },
    problems
  }
}

// --- internal

type Written<Key extends keyof NonNullable<Settings.Settings["telemetry"]>> = NonNullable<
  Settings.Settings["telemetry"]
>[Key]

const beside = (file: string, name: string): string => `${file.slice(0, file.search(/[^\\/]*$/))}${name}`

const retryLogOf = (given: Written<"retryLog">, { absolute, database }: ServiceFacts): Telemetry["retryLog"] => {
  if (given === false) return undefined
  const path = given?.path === undefined ? database && beside(database, "retries.jsonl") : absolute(given.path)
  return path === undefined ? undefined : { ...DEFAULTS.retryLog, ...given, path }
}

const otlpOf = (
  given: Written<"otlp">,
  environment: Environment.Environment,
  problems: Array<Problem>
): Telemetry["otlp"] => {
  const headers = { ...headersIn(environment), ...given?.headers }
  if (given?.endpoint !== undefined) return { url: tracesOf(given.endpoint), headers }
  if (Environment.get(environment, "OTEL_SDK_DISABLED")?.toLowerCase() === "true") return undefined
  for (const [name, urlOf] of ENDPOINTS) {
    const text = Environment.get(environment, name)
    if (text === undefined) continue
    if (Settings.isBaseUrl(text)) return { url: urlOf(text), headers }
    problems.push({ place: name, message: `expected ${Settings.OTLP_ENDPOINT}.` })
  }
  return undefined
}

const tracesOf = (endpoint: string): string => {
  const url = new URL(endpoint)
  url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/traces`
  return url.href
}

const ENDPOINTS = [
  ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", (text: string) => text],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", tracesOf]
] as const

/** Reads `name=value` pairs, percent-encoded, separated by commas. */
const headersIn = (environment: Environment.Environment): Readonly<Record<string, Redacted.Redacted>> => {
  const text =
    Environment.get(environment, "OTEL_EXPORTER_OTLP_TRACES_HEADERS") ??
    Environment.get(environment, "OTEL_EXPORTER_OTLP_HEADERS") ??
    ""
  return Object.fromEntries(
    text
      .split(",")
      .map((pair) => /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair))
      .flatMap((found) => (found?.[1] === undefined ? [] : [[found[1], Redacted.make(decoded(found[2] ?? ""))]]))
  )
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const notificationsOf = (
  given: Written<"notifications">,
  { environment }: ServiceFacts,
  problems: Array<Problem>
): Telemetry["notifications"] => {
  if (given === undefined) return undefined
  const url = given.webhook ?? fromVariable(given, environment, problems)
  const { command, commandFormat, email, format, headers, template, webhook: _webhook, webhookEnv, ...plain } = given
  const formatOf = (key: "format" | "commandFormat", name: typeof format): NoticeFormats.Format => {
    if (name === undefined || name === "json" || name === "slack" || name === "ntfy") return name ?? "json"
    if (name === "email" && email !== undefined) return { email }
    if (name === "template" && template !== undefined) return { template }
    const message = `it is missing, and "${key}": "${name}" needs it.`
    problems.push({ place: `telemetry.notifications.${name}`, message })
    return "json"
  }
  if (url === undefined && command === undefined && webhookEnv === undefined) {
    const message = 'no receiver is set. Give it a "webhook", a "webhookEnv" or a "command".'
    problems.push({ place: "telemetry.notifications", message })
  }
  return {
    ...DEFAULTS.notifications,
    ...plain,
    format: formatOf("format", format),
    commandFormat: formatOf("commandFormat", commandFormat),
    webhook: url === undefined ? undefined : { url, headers: headers ?? {} },
    command
  }
}

const fromVariable = (
  { webhook, webhookEnv }: NonNullable<Written<"notifications">>,
  environment: Environment.Environment,
  problems: Array<Problem>
): Redacted.Redacted | undefined => {
  if (webhookEnv === undefined || webhook !== undefined) return undefined
  const place = "telemetry.notifications.webhookEnv"
  const text = Environment.get(environment, webhookEnv)
  if (text === undefined) {
    problems.push({ place, message: `the environment variable ${webhookEnv} is not set.`, isOfService: true })
  } else if (!Settings.isWebhook(text)) {
    problems.push({ place, message: `${webhookEnv} is not an ${Settings.WEBHOOK}.` })
  } else {
    return Redacted.make(text)
  }
  return undefined
}
