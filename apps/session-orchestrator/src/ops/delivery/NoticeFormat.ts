/**
 * Writes a notice in the format of its receiver: JSON, Slack, ntfy, an e-mail, or a template of the operator. Pure.
 *
 * A template names fields of the notice, and nothing else: neither settings nor the environment are in reach. A value in a JSON template is
 * escaped; a header has no line break; Slack's markup is escaped.
 */
import { PeriodReport } from "@holdfast/wire"
import { Schema } from "effect"
import { type NoticeFormat as Format, PLACEHOLDER } from "../../config/reading/SettingTypes.ts"
import * as PeriodText from "../../insight/inspection/period/PeriodText.ts"
import * as Prose from "../../base/text/Prose.ts"

/** A notice as JSON, as the outbox keeps it: these fields, and others by its type. */
export const NoticeBody = Schema.StructWithRest(
  Schema.Struct({
    /** The same if the notice is delivered a second time. */
    id: Schema.String,
    type: Schema.String,
    /** A sentence, or two. */
    text: Schema.String,
    report: Schema.optionalKey(PeriodReport.PeriodReport)
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)
export type NoticeBody = typeof NoticeBody.Type

/** A notice as it is sent. */
export interface Content {
  readonly id: string
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** The notice for a receiver. */
export const write = (format: Format, body: NoticeBody): Content => {
  const { id } = body
  const long = body.report === undefined ? body.text : PeriodText.lines(body.report).join("\n")
  if (format === "json") return { id, headers: { "content-type": "application/json" }, text: JSON.stringify(body) }
  if (format === "slack") {
    const shown = body.report === undefined ? slack(long) : `${slack(body.text)}\n\`\`\`${slack(long)}\`\`\``
    return { id, headers: { "content-type": "application/json" }, text: JSON.stringify({ text: shown }) }
  }
  if (format === "ntfy") {
    const headers = {
      "content-type": "text/plain; charset=utf-8",
      title: inHeader(titleOf(body)),
      tags: tagOf(body.type)
    }
    return { id, headers, text: long }
  }
  if ("email" in format)
    return { id, headers: { "content-type": "message/rfc822" }, text: email(format.email, body, long) }
  const isJson = /^\s*[[{]/.test(format.template) && !/^\s*\{\{/.test(format.template)
  const text = format.template.replaceAll(PLACEHOLDER, (_, name: string) => {
    const value = name === "title" ? titleOf(body) : body[name]
    const written = typeof value === "string" || typeof value === "number" ? String(value) : ""
    return isJson ? JSON.stringify(written).slice(1, -1) : written
  })
  return { id, headers: { "content-type": isJson ? "application/json" : "text/plain; charset=utf-8" }, text }
}

// --- internal

const titleOf = ({ model, provider, type }: NoticeBody): string => {
  const endpoint = typeof provider === "string" && typeof model === "string" ? `${provider}/${model}` : "an endpoint"
  return TITLES[type]?.(endpoint) ?? "Report of the day"
}

const TITLES: Readonly<Record<string, (endpoint: string) => string>> = {
  "incident-began": (endpoint) => `${endpoint} is down`,
  "incident-ended": (endpoint) => `${endpoint} answers again`,
  "incident-gave-up": (endpoint) => `${endpoint} was given up`,
  "turns-failed": (endpoint) => `Turns failed at ${endpoint}`,
  "limit-near": () => "A limit is nearly used up",
  question: () => "A turn waits for a person"
}

/** Names of ntfy's symbols. */
const TAGS: Readonly<Record<string, string>> = {
  report: "sunrise",
  question: "question",
  "incident-ended": "white_check_mark"
}

const tagOf = (type: string): string => TAGS[type] ?? "warning"

/** A header is one line of ASCII. */
const inHeader = (text: string): string => Prose.oneLine(text).replaceAll(/[^\x20-\x7e]/g, "?")

const slack = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** An e-mail for a program such as `sendmail -t`. Its body is in base64, so no line of it can be read as anything else. */
const email = ({ from, to }: { readonly from: string; readonly to: string }, body: NoticeBody, text: string): string =>
  [
    `From: ${from}`,
    `To: ${to}`,
    `Subject: ${inHeader(`Holdfast: ${body.report === undefined ? titleOf(body) : body.text}`).slice(0, 200)}`,
    `Message-ID: <${Buffer.from(body.id).toString("base64url")}@holdfast>`,
    "MIME-Version: 1.0",
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: base64",
    "",
    ...(Buffer.from(text, "utf8")
      .toString("base64")
      .match(/.{1,76}/g) ?? []),
    ""
  ].join("\r\n")
