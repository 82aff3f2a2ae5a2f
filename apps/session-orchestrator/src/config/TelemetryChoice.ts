/**
 * What the service tells of itself, and where: the `telemetry` settings with their defaults. Pure.
 *
 * T1. Beside a database file the retry log is on (M4); with a database in memory, or one that runners share, only when it is
 *     given a path of its own.
 * T2. Traces and notifications are off until they are told where to go. The variables of OpenTelemetry count as its
 *     specification has them; the file stands over them.
 *
 * Read: opentelemetry.io/docs/specs/otel/protocol/exporter.
 */
import { Duration, Redacted } from "effect"
import type { Values } from "./Config.ts"
import * as Environment from "./reading/Environment.ts"
import type { Problem } from "./reading/Problem.ts"
import * as Settings from "./reading/Settings.ts"

export type Telemetry = Values["telemetry"]

/** Some 30,000 lines. */
export const DEFAULT_MAX_BYTES = 10_000_000
/** With the file that is written, 60 MB at most. */
export const DEFAULT_KEEP = 5
/** Shorter outages are over before anybody has got up. */
export const DEFAULT_AFTER = Duration.minutes(5)

export interface Surroundings {
  readonly environment: Environment.Environment
  /** The database's file; `undefined` where there is none. */
  readonly database: string | undefined
  /** Makes a path of the file absolute. */
  readonly absolute: (path: string) => string
}

/** Puts it together. */
export const choose = (
  { notifications, otlp, retryLog }: NonNullable<Settings.Settings["telemetry"]>,
  surroundings: Surroundings
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

type Given<Key extends keyof NonNullable<Settings.Settings["telemetry"]>> = NonNullable<
  Settings.Settings["telemetry"]
>[Key]

const beside = (file: string, name: string): string => `${file.slice(0, file.search(/[^\\/]*$/))}${name}`

const retryLogOf = (given: Given<"retryLog">, { absolute, database }: Surroundings): Telemetry["retryLog"] => {
  if (given === false) return undefined
  const path = given?.path === undefined ? database && beside(database, "retries.jsonl") : absolute(given.path)
  return path === undefined
    ? undefined
    : { path, maxBytes: given?.maxBytes ?? DEFAULT_MAX_BYTES, keep: given?.keep ?? DEFAULT_KEEP }
}

const otlpOf = (
  given: Given<"otlp">,
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

/** `name=value` pairs, percent-encoded, with commas between. */
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
  given: Given<"notifications">,
  { absolute, database, environment }: Surroundings,
  problems: Array<Problem>
): Telemetry["notifications"] => {
  if (given === undefined) return undefined
  const url = given.webhook ?? fromVariable(given, environment, problems)
  const { command } = given
  if (url === undefined && command === undefined && given.webhookEnv === undefined) {
    const message = 'nobody would be told. Give it a "webhook", a "webhookEnv" or a "command".'
    problems.push({ place: "telemetry.notifications", message })
  }
  return {
    after: given.after ?? DEFAULT_AFTER,
    webhook: url === undefined ? undefined : { url, headers: given.headers ?? {} },
    command,
    state: given.state === undefined ? database && beside(database, "incidents.json") : absolute(given.state)
  }
}

const fromVariable = (
  { webhook, webhookEnv }: NonNullable<Given<"notifications">>,
  environment: Environment.Environment,
  problems: Array<Problem>
): Redacted.Redacted | undefined => {
  if (webhookEnv === undefined || webhook !== undefined) return undefined
  const place = "telemetry.notifications.webhookEnv"
  const text = Environment.get(environment, webhookEnv)
  if (text === undefined) {
    problems.push({ place, message: `the environment variable ${webhookEnv} is not set.` })
  } else if (!Settings.isWebhook(text)) {
    problems.push({ place, message: `${webhookEnv} is no ${Settings.WEBHOOK}.` })
  } else {
    return Redacted.make(text)
  }
  return undefined
}
