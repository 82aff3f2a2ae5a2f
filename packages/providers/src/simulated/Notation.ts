/** A script in the one form that stands for it: what `Syntax.parse` reads as the same script again. */
import * as ErrorBody from "./ErrorBody.ts"
import { type Act, DELIVERY, type Delivery, type Scene, type Script, type Until } from "./Script.ts"
import { encode, twoDigits, writeDuration } from "./SyntaxValue.ts"

/** Writes a script as the name of a model, without the provider's. */
export const format = (script: Script): string =>
  [script.scenes.length === 0 ? "ok" : script.scenes.map(writeScene).join(","), ...writeDelivery(script.delivery)].join(
    "+"
  )

// --- internal

const writeScene = ({ act, times }: Scene): string => {
  const [head, ...params] = writeAct(act)
  return [times === 1 ? head : `${head}x${times === Infinity ? "*" : times}`, ...params].join(";")
}

const writeAct = (act: Act): readonly [head: string, ...params: ReadonlyArray<string>] => {
  switch (act._tag) {
    case "Answer":
      return ["ok"]
    case "Status":
      return [String(act.status), ...writeBody(act.status, act.body), ...act.headers.map(writeHeader)]
    case "Reset":
      return ["reset"]
    case "Hollow":
      return [act.body]
    case "StreamError":
      return [`error-in-stream${behind(act.after)}`, ...(act.error === "overloaded" ? [] : [`body=${act.error}`])]
    case "Cut":
      return [`cut${behind(act.after)}`]
    case "Ends":
      return [`ends-after-${act.after}`]
    case "Stall":
      return [act.after === undefined ? "stall" : `stall-after-${act.after}`]
    case "Pings":
      return ["stall-with-pings"]
    case "ToolCall":
      return [
        "tool-call",
        ...(act.name === undefined ? [] : [`name=${act.name}`]),
        ...(act.input === "{}" ? [] : [`input=${encode(act.input)}`])
      ]
    case "HalfToolCall":
      return ["half-tool-call"]
    case "Refusal":
      return ["refuse"]
    case "Down":
      return [`down${writeUntil(act.until)}`]
    default:
      return act satisfies never
  }
}

const behind = (after: number): string => (after === 0 ? "" : `-after-${after}`)

const writeHeader = ([name, value]: readonly [string, string]): string =>
  `${name === "retry-after" ? name : `header:${name}`}=${encode(value)}`

const writeBody = (status: number, body: ErrorBody.ErrorBody): ReadonlyArray<string> => {
  if (typeof body === "object") return [`text=${encode(body.text)}`]
  return body === ErrorBody.ofStatus(status) ? [] : [`body=${body}`]
}

const writeUntil = (until: Until): string => {
  switch (until._tag) {
    case "Never":
      return ""
    case "Elapsed":
      return `-for-${writeDuration(until.ms)}`
    case "TimeOfDay":
      return `-until-${twoDigits(Math.floor(until.minute / 60))}:${twoDigits(until.minute % 60)}Z`
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
