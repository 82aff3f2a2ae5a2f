/** Describes a script in words, for the service's start message and the documentation. */
import * as ErrorBody from "../ErrorBody.ts"
import { DELIVERY } from "./Script.ts"
import type { Delivery, Only, Outcome, Script, ScriptPhase, Until } from "./Script.ts"
import { writeSize } from "./SyntaxValue.ts"

/** Describes in one sentence what every turn meets. It accepts every script. */
export const describe = (script: Script): string => {
  const endless = script.phases.findIndex(isEndless)
  const phases = endless < 0 ? script.phases : script.phases.slice(0, endless + 1)
  const eventful = phases.slice(0, phases.findLastIndex(({ outcome }) => outcome._tag !== "Answer") + 1)
  const delivery = deliveryInWords(script.delivery)
  if (eventful.length === 0) return `Each turn is answered at once, ${delivery}.`
  const met = `Each turn meets ${eventful.map(phaseInWords).join(", then ")}`
  if (endless < 0) return `${met}; then it is answered, ${delivery}.`
  const isForAll = phases[endless]?.only === undefined
  return isForAll ? `${met}, and is never answered.` : `${met}; its other requests are answered, ${delivery}.`
}

/** Describes an outcome, as part of a sentence. */
export const outcomeInWords = (outcome: Outcome): string => {
  switch (outcome._tag) {
    case "Answer":
      return "an answer"
    case "Status": {
      const headers = outcome.headers.map(([name, value]) => `${name}: ${value}`)
      return `a ${outcome.status} (${[ErrorBody.words(outcome.body), ...headers].join(", ")})`
    }
    case "Reset":
      return "a connection reset before any response"
    case "NoStream":
      return outcome.body === "html" ? "a 200 with an HTML page" : "a 200 with no body"
    case "StreamError":
      return `an error inside the stream (${ErrorBody.words(outcome.error)}) ${place(outcome.after)}`
    case "Cut":
      return `a connection cut ${place(outcome.after)}`
    case "Ends":
      return `a stream that ends unfinished ${place(outcome.after)}`
    case "Stall":
      return outcome.after === undefined
        ? "silence instead of a response"
        : `a stream that falls silent ${place(outcome.after)}`
    case "Pings":
      return "a stream of nothing but pings"
    case "ToolCall":
      return `a call of ${outcome.name === undefined ? "the first tool" : `the tool ${outcome.name}`}`
    case "HalfToolCall":
      return "a connection cut within a tool call"
    case "Refusal":
      return "a refusal to answer"
    case "Down":
      return `an outage (503) ${untilInWords(outcome.until)}`
    default:
      return outcome satisfies never
  }
}

// --- internal

const isEndless = ({ outcome, span, times }: ScriptPhase): boolean =>
  span === undefined && (times === Infinity || (outcome._tag === "Down" && outcome.until._tag === "Never"))

const phaseInWords = ({ only, outcome, span, times }: ScriptPhase): string => {
  if (span !== undefined || only !== undefined) {
    const what = outcome._tag === "Down" ? "an outage (503)" : outcomeInWords(outcome)
    return `${what}${onlyInWords(only)}${span === undefined ? "" : ` ${untilInWords(span)} by the clock`}`
  }
  if (times === 1) return outcomeInWords(outcome)
  return `${outcomeInWords(outcome)} ${times === Infinity ? "every time" : times === 2 ? "twice" : `${times} times`}`
}

const onlyInWords = (only: Only | undefined): string => {
  if (only === undefined) return ""
  return only._tag === "Share" ? ` at ${only.percent}% of requests` : ` at requests over ${writeSize(only.bytes, " ")}`
}

const place = (after: number): string =>
  after === 0 ? "before any token" : `after ${after} ${after === 1 ? "token" : "tokens"}`

const untilInWords = (until: Until): string => {
  switch (until._tag) {
    case "Never":
      return "without end"
    case "Elapsed":
      return `for ${durationInWords(until.ms)}`
    case "TimeOfDay":
      return `until ${new Date(until.minute * 60_000).toISOString().slice(11, 16)} UTC`
    default:
      return until satisfies never
  }
}

const deliveryInWords = (delivery: Delivery): string => {
  const words = [paceInWords(delivery.gapMs)]
  if (delivery.firstTokenMs > 0) words.push(`the first after ${durationInWords(delivery.firstTokenMs)}`)
  if (delivery.reasoning) words.push("after some reasoning")
  if (delivery.tokens !== undefined) words.push(`in ${delivery.tokens} tokens`)
  return words.join(", ")
}

const paceInWords = (gapMs: number): string => {
  if (gapMs === 0) return "all tokens in one go"
  if (gapMs > 1000) return `one token every ${durationInWords(gapMs)}`
  const perSecond = Math.round((1000 / gapMs) * 10) / 10
  return gapMs === DELIVERY.gapMs || perSecond !== 1 ? `${perSecond} tokens a second` : "one token a second"
}

/** A duration for people: 90000 is "1 min 30 s". */
export const durationInWords = (ms: number): string => {
  const seconds = Math.floor(ms / 1000)
  const parts = [
    [Math.floor(seconds / 3600), "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"]
  ].filter(([n]) => n !== 0)
  return ms < 1000 ? `${Math.round(ms)} ms` : parts.map(([n, unit]) => `${n} ${unit}`).join(" ")
}
