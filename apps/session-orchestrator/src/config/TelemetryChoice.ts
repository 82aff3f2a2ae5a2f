/**
 * Resolves the `telemetry` settings and their defaults. Pure.
 *
 * With a database file the retry log is on, beside that file (M4). With a database in memory or a shared one it is on only if it has a
 * path. Traces and notifications are off until they have an address or a command. The variables of OpenTelemetry count as in its
 * specification; the file overrides them.
 *
 * Read: opentelemetry.io/docs/specs/otel/protocol/exporter.
 */
import { Redacted } from "effect"
import * as PercentText from "../base/text/PercentText.ts"
import type { Values } from "./Config.ts"
import * as Environment from "./reading/Environment.ts"
import { type Findings, secretIn } from "./reading/Expansion.ts"
import * as Settings from "./reading/Settings.ts"
import { isBaseUrl, isWebhook, type NoticeFormat, OTLP_ENDPOINT, WEBHOOK } from "./reading/SettingTypes.ts"

type Telemetry = Values["telemetry"]

type Written = NonNullable<Settings.Settings["telemetry"]>

/** Resolves the section. `database` is the database's file; `undefined`: there is none. */
export const choose = (
  { notifications, otlp, retryLog }: Written,
  database: string | undefined,
  findings: Findings
): Telemetry => {
  const given = retryLog === false ? undefined : retryLog
  const path =
    given?.path === undefined ? database?.replace(/[^\\/]*$/, "retries.jsonl") : findings.absolute(given.path)
  return {
    retryLog: retryLog === false || path === undefined ? undefined : { ...Settings.DEFAULTS.retryLog, ...given, path },
    otlp: otlpOf(otlp, findings),
    notifications: notifications && notificationsOf(notifications, findings)
  }
}

// --- internal

const otlpOf = (given: Written["otlp"], { environment, problems }: Findings): Telemetry["otlp"] => {
  const headers = { ...headersIn(environment), ...given?.headers }
  if (given?.endpoint !== undefined) return { url: tracesOf(given.endpoint), headers }
  if (Environment.get(environment, "OTEL_SDK_DISABLED")?.toLowerCase() === "true") return undefined
  for (const [name, urlOf] of ENDPOINTS) {
    const text = Environment.get(environment, name)
    if (text === undefined) continue
    if (isBaseUrl(text)) return { url: urlOf(text), headers }
    problems.push({ place: name, message: `expected ${OTLP_ENDPOINT}.` })
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
    Array.from(text.matchAll(/(?:^|,)\s*([^=\s,]+)\s*=\s*([^,]*?)\s*(?=,|$)/g), ([, name = "", value = ""]) => [
      name,
      Redacted.make(PercentText.decodeOrKeep(value))
    ])
  )
}

const notificationsOf = (
  given: NonNullable<Written["notifications"]>,
  findings: Findings
): Telemetry["notifications"] => {
  const { problems } = findings
  const { command, commandFormat, email, format, headers, template, webhook, webhookEnv, ...plain } = {
    ...Settings.DEFAULTS.notifications,
    ...given
  }
  const url =
    webhook ??
    (webhookEnv === undefined
      ? undefined
      : secretIn(webhookEnv, "telemetry.notifications.webhookEnv", findings, (text) =>
          isWebhook(text) ? undefined : `${webhookEnv} is not an ${WEBHOOK}.`
        ))
  const formatOf = (key: "format" | "commandFormat", name: typeof format): NoticeFormat => {
    if (name === "email" && email !== undefined) return { email }
    if (name === "template" && template !== undefined) return { template }
    if (name !== "email" && name !== "template") return name
    const message = `it is missing, and "${key}": "${name}" needs it.`
    problems.push({ place: `telemetry.notifications.${name}`, message })
    return "json"
  }
  if (url === undefined && command === undefined && webhookEnv === undefined) {
    const message = 'no receiver is set. Give it a "webhook", a "webhookEnv" or a "command".'
    problems.push({ place: "telemetry.notifications", message })
  }
  return {
    ...plain,
    format: formatOf("format", format),
    commandFormat: formatOf("commandFormat", commandFormat),
    webhook: url === undefined ? undefined : { url, headers: headers ?? {} },
    command
  }
}
