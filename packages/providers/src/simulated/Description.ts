/** A script in words: what a service prints when it starts, and what its documentation says. Total. */
import * as ErrorBody from "./ErrorBody.ts"
import { type Act, DELIVERY, type Delivery, type Scene, type Script, type Until } from "./Script.ts"

/** Says what every turn will meet, in one sentence. */
export const describe = (script: Script): string => {
  const endless = script.scenes.findIndex(isEndless)
  const scenes = endless < 0 ? script.scenes : script.scenes.slice(0, endless + 1)
  const eventful = scenes.slice(0, scenes.findLastIndex(({ act }) => act._tag !== "Answer") + 1)
  const spoken = deliveryInWords(script.delivery)
  if (eventful.length === 0) return `Each turn is answered at once, ${spoken}.`
  const met = `Each turn meets ${eventful.map(sceneInWords).join(", then ")}`
  return endless < 0 ? `${met}; then it is answered, ${spoken}.` : `${met}, and is never answered.`
}

/** An act in words, as part of a sentence. */
export const actInWords = (act: Act): string => {
  switch (act._tag) {
    case "Answer":
      return "an answer"
    case "Status": {
      const headers = act.headers.map(([name, value]) => `${name}: ${value}`)
      return `a ${act.status} (${[ErrorBody.words(act.body), ...headers].join(", ")})`
    }
    case "Reset":
      return "a connection reset before any response"
    case "Hollow":
      return act.body === "html" ? "a 200 with an HTML page" : "a 200 with no body"
    case "StreamError":
      return `an error inside the stream (${ErrorBody.words(act.error)}) ${place(act.after)}`
    case "Cut":
      return `a connection cut ${place(act.after)}`
    case "Ends":
      return `a stream that ends unfinished ${place(act.after)}`
    case "Stall":
      return act.after === undefined
        ? "silence instead of a response"
        : `a stream that falls silent ${place(act.after)}`
    case "Pings":
      return "a stream of nothing but pings"
    case "ToolCall":
      return `a call of ${act.name === undefined ? "the first tool" : `the tool ${act.name}`}`
    case "HalfToolCall":
      return "a connection cut within a tool call"
    case "Refusal":
      return "a refusal to answer"
    case "Down":
      return `an outage (503) ${untilInWords(act.until)}`
    default:
      return act satisfies never
  }
}

// --- internal

const isEndless = ({ act, times }: Scene): boolean =>
  times === Infinity || (act._tag === "Down" && act.until._tag === "Never")

const sceneInWords = ({ act, times }: Scene): string => {
  if (times === 1) return actInWords(act)
  return `${actInWords(act)} ${times === Infinity ? "every time" : times === 2 ? "twice" : `${times} times`}`
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

/** A duration as people say it: 90000 is "1 min 30 s". */
export const durationInWords = (ms: number): string => {
  const seconds = Math.floor(ms / 1000)
  const parts = [
    [Math.floor(seconds / 3600), "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"]
  ].filter(([n]) => n !== 0)
  return ms < 1000 ? `${Math.round(ms)} ms` : parts.map(([n, unit]) => `${n} ${unit}`).join(" ")
}
