/** Formats a script in its canonical notation, which `Syntax.parse` reads back. */
import * as ErrorBody from "../../src/ErrorBody.ts"
import {
  type Outcome,
  DELIVERY,
  type Delivery,
  type Only,
  type ScriptPhase,
  type Script,
  type PhaseSpan,
  type Until
} from "../../src/script/Script.ts"
import { writeSize } from "../../src/script/SyntaxValue.ts"

/** The script as a model's name, without the provider's name. */
export const format = (script: Script): string =>
  [script.phases.length === 0 ? "ok" : script.phases.map(writePhase).join(","), ...writeDelivery(script.delivery)].join(
    "+"
  )

// --- internal

const writePhase = ({ only, outcome, span, times }: ScriptPhase): string => {
  const [head, ...params] = writeOutcome(outcome)
  if (span !== undefined || only !== undefined)
    return [`${head}${writeOnly(only)}${span === undefined ? "" : ` ${writeSpan(span)}`}`, ...params].join(";")
  return [times === 1 ? head : `${head}x${times === Infinity ? "*" : times}`, ...params].join(";")
}

const writeOutcome = (outcome: Outcome): readonly [head: string, ...params: ReadonlyArray<string>] => {
  switch (outcome._tag) {
    case "Answer":
      return ["ok"]
    case "Status":
      return [String(outcome.status), ...writeBody(outcome.status, outcome.body), ...outcome.headers.map(writeHeader)]
    case "Reset":
      return ["reset"]
    case "NoStream":
      return [outcome.body]
    case "StreamError":
      return [
        `error-in-stream${behind(outcome.after)}`,
        ...(outcome.error === "overloaded" ? [] : [`body=${outcome.error}`])
      ]
    case "Cut":
      return [`cut${behind(outcome.after)}`]
    case "Ends":
      return [`ends-after-${outcome.after}`]
    case "Stall":
      return [outcome.after === undefined ? "stall" : `stall-after-${outcome.after}`]
    case "Pings":
      return ["stall-with-pings"]
    case "ToolCall":
      return [
        "tool-call",
        ...(outcome.name === undefined ? [] : [`name=${outcome.name}`]),
        ...(outcome.input === "{}" ? [] : [`input=${encode(outcome.input)}`])
      ]
    case "HalfToolCall":
      return ["half-tool-call"]
    case "Refusal":
      return ["refuse"]
    case "Down":
      return [`down${writeUntil(outcome.until)}`]
    default:
      return outcome satisfies never
  }
}

const behind = (after: number): string => (after === 0 ? "" : `-after-${after}`)

const writeHeader = ([name, value]: readonly [string, string]): string =>
  `${name === "retry-after" ? name : `header:${name}`}=${encode(value)}`

const writeBody = (status: number, body: ErrorBody.ErrorBody): ReadonlyArray<string> => {
  if (typeof body === "object") return [`text=${encode(body.text)}`]
  return body === ErrorBody.ofStatus(status) ? [] : [`body=${body}`]
}

const writeOnly = (only: Only | undefined): string => {
  if (only === undefined) return ""
  return only._tag === "Share" ? ` at ${only.percent}%` : ` over ${writeSize(only.bytes)}`
}

const writeSpan = (span: PhaseSpan): string =>
  span._tag === "Elapsed" ? `for ${writeDuration(span.ms)}` : `until ${writeTimeOfDay(span.minute)}`

const writeUntil = (until: Until): string => {
  switch (until._tag) {
    case "Never":
      return ""
    case "Elapsed":
      return `-for-${writeDuration(until.ms)}`
    case "TimeOfDay":
      return `-until-${writeTimeOfDay(until.minute)}`
    default:
      return until satisfies never
  }
}

const writeDelivery = (delivery: Delivery): ReadonlyArray<string> => {
  const parts: Array<string> = []
  if (delivery.gapMs !== DELIVERY.gapMs) parts.push(writeGap(delivery.gapMs))
  if (delivery.firstTokenMs !== 0) parts.push(`first-token-${writeDuration(delivery.firstTokenMs)}`)
  if (delivery.reasoning) parts.push("reasoning")
  if (delivery.tokens !== undefined) parts.push(`tokens-${delivery.tokens}`)
  return parts
}

const writeGap = (gapMs: number): string => {
  if (gapMs === 0) return "instant"
  const rate = Math.round(1000 / gapMs)
  return rate > 0 && 1000 / rate === gapMs ? `rate-${rate}` : `delay-${writeDuration(gapMs)}`
}

/** Formats a minute of the day as a script has it. */
const writeTimeOfDay = (minute: number): string => `${twoDigits(Math.floor(minute / 60))}:${twoDigits(minute % 60)}Z`

/** Formats a duration in the largest unit in which it is a whole number. */
const writeDuration = (ms: number): string => {
  if (ms > 0 && ms % units.h === 0) return `${ms / units.h}h`
  if (ms > 0 && ms % units.m === 0) return `${ms / units.m}m`
  return ms % units.s === 0 ? `${ms / units.s}s` : `${ms}ms`
}

const units = { h: 3_600_000, m: 60_000, s: 1000 } as const

/** The number with a leading zero where it has one digit. */
const twoDigits = (n: number): string => String(n).padStart(2, "0")

/** Percent-encodes the characters that the syntax uses. */
const encode = (value: string): string =>
  encodeURIComponent(value).replaceAll("%20", " ").replaceAll("%3A", ":").replaceAll("%2F", "/")
