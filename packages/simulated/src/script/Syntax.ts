/**
 * Parses a script from a model's name or a prompt's directive.
 *
 * Examples: the model `simulated/429x2,502`, the line `simulate: 429x2,502`.
 *
 *     script = phases *( "+" delivery )          a delivery alone means an answer with it
 *     phases = phase *( "," phase )
 *     phase  = outcome [ "x" times / [ only ] [ " for " duration / " until " time ] ] *( ";" name "=" value )
 *     only   = " at " percent "%" / " over " size      without a time for all further requests
 *
 * An invalid script is rejected, and the error lists the valid parts: a mistyped name must not look like a provider that works.
 * Every script that can be written is read as itself: a test has the notation.
 */
import { Quote } from "@holdfast/wire"
import * as Result from "effect/Result"
import * as ErrorBody from "../ErrorBody.ts"
import { DELIVERY, Only, Outcome, Until } from "./Script.ts"
import type { Delivery, PhaseSpan, Script, ScriptPhase } from "./Script.ts"
import { decode, readDuration, readSize, readTimeOfDay, readWholeNumber } from "./SyntaxValue.ts"

/** Why a name is no script, for people. The message ends with the list of valid parts. */
export interface NotUnderstood {
  readonly message: string
  /** The mistake alone. */
  readonly why: string
  /** Where the part with the mistake begins in the text, from 1. */
  readonly position: number
}

/** The usual name of such a provider. `parse` accepts it before a script. */
export const PREFIX = "simulated/"

/** The model of a new installation: two failures, so 15 s of the overnight schedule, then an answer. */
export const DEFAULT = "outage-2"

/** A larger number is a mistake. */
const MAX_TIMES = 10_000
const MAX_TOKENS = 100_000
/** Slow enough to be noticed by a person. */
const SLOW_TOKENS_PER_SECOND = 4

/** The language in one line, for errors that have no room for `HELP`. */
export const IN_A_LINE =
  'phases joined by commas, such as "529 for 7h", "529 at 60% for 1h", "down until 06:30Z", "429x3;retry-after=7" or "ok for 10m" (docs/simulated.md)'

/** The valid parts of a script, as error messages list them. */
export const HELP = [
  "Valid parts, joined by commas, each optionally followed by xN or x* (every time):",
  "  steady, ok                          answers",
  "  outage-N                            overloaded N times, then answers",
  "  400 ... 599                         that status; ;retry-after=7 ;header:NAME=VALUE ;body=NAME ;text=TEXT",
  "  overloaded, rate-limit, quota, ...  that error with its status: " + ErrorBody.NAMES.slice(0, -2).join(", "),
  "  down, down-for-90s, down-until-07:00Z; any part by the clock, for all turns: 529 for 7h, down until 07:00Z",
  "  529 at 60% for 1h, 413 over 10kB    of the requests that share by chance, or those over that size",
  "  reset, cut, cut-after-12, ends-after-12, stall, stall-after-12, stall-with-pings",
  "  error-in-stream, error-in-stream-after-12; ;body=NAME",
  "  html, empty                         a 200 without a stream",
  "  tool-call; ;name=NAME ;input=JSON   half-tool-call, refuse",
  "and at the end, each after a +: slow, instant, rate-20, delay-50ms, first-token-3s, reasoning, tokens-500.",
  "Percent-encode , ; + = and % in values. Example: simulated/429x2;retry-after=7,502+reasoning"
].join("\n")

/** Parses a script, with or without `simulated/` before it. */
export const parse = (name: string): Result.Result<Script, NotUnderstood> => {
  const text = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name
  const [first = "", ...rest] = text.split("+")
  const lone = readDelivery(first)
  const delivery: { -readonly [K in keyof Delivery]: Delivery[K] } = { ...DELIVERY, ...lone }
  let position = name.length - text.length + 1
  const phases: Array<ScriptPhase> = []
  for (const part of lone === undefined ? first.split(",") : ["ok"]) {
    const phase = readPhase(part.trimStart())
    if (Result.isFailure(phase)) return refuse(name, phase.failure, position + part.length - part.trimStart().length)
    phases.push(phase.success)
    position += part.length + 1
  }
  position = name.length - text.length + first.length + 2
  for (const part of rest) {
    const read = readDelivery(part)
    if (read === undefined) return refuse(name, `${Quote.of(part)} after a "+" is not valid.`, position)
    Object.assign(delivery, read)
    position += part.length + 1
  }
  return Result.succeed({ phases, delivery })
}

// --- internal: phases

const refuse = (name: string, why: string, position: number): Result.Result<never, NotUnderstood> =>
  Result.fail({
    why,
    position,
    message: `The model ${Quote.of(name)} does not exist: it is no script of the simulated provider. ${why}\n${HELP}`
  })

const readPhase = (text: string): Result.Result<ScriptPhase, string> => {
  const [whole = "", ...rest] = text.split(";")
  const [, part = whole.trimEnd(), word, length = ""] = /^(.*?) +(for|until) +(\S*) *$/.exec(whole) ?? []
  const [, head = part, preposition, which = ""] = /^(.*?) +(at|over) +(\S*)$/.exec(part) ?? []
  const late = rest.find(
    (param) => !param.startsWith("text=") && /=.* (for|until|at \d+%|over \d+[kM]?B)( |$)/.test(param)
  )
  if (late !== undefined) return Result.fail(`${Quote.of(late)}: a share, a size or a time comes before the ";".`)
  const phase = readCounted(head, rest)
  if ((word === undefined && preposition === undefined) || Result.isFailure(phase)) return phase
  const { outcome, times } = phase.success
  const isTimed = times !== 1 || (outcome._tag === "Down" && outcome.until._tag !== "Never")
  if (isTimed || head.endsWith("x1") || head.startsWith("outage-"))
    return Result.fail(
      `${Quote.of(head)} has a count or a time of its own, so it takes no share, no size and no time by the clock.`
    )
  const only = preposition === undefined ? undefined : readOnly(preposition, which)
  if (preposition !== undefined && only === undefined)
    return Result.fail(
      preposition === "at"
        ? `${Quote.of(which)} is no share of the requests, from 1% to 100%.`
        : `${Quote.of(which)} is no size, such as 500B, 10kB or 1MB.`
    )
  if (only !== undefined && outcome._tag === "Answer")
    return Result.fail(`${Quote.of(part)}: the share or size is of a failure, such as 529 at 60%. Others are answered.`)
  const partial = { outcome, ...(only === undefined ? {} : { only }) }
  if (word === undefined) return Result.succeed({ ...partial, times: Infinity })
  const span = readSpan(word, length)
  return span === undefined
    ? Result.fail(
        word === "for"
          ? `${Quote.of(length)} is no duration of at most 7 days, such as 7h, 90s or 1h30m.`
          : `${Quote.of(length)} is no time of day in UTC, such as 07:00Z.`
      )
    : Result.succeed({ ...partial, times, span })
}

/** Parses the requests that a phase is for. */
const readOnly = (preposition: string, which: string): Only | undefined => {
  if (preposition === "over") {
    const bytes = readSize(which)
    return bytes === undefined ? undefined : Only.Over({ bytes })
  }
  const percent = which.endsWith("%") ? readWholeNumber(which.slice(0, -1), 100) : undefined
  return percent === undefined || percent === 0 ? undefined : Only.Share({ percent })
}

/** Parses the time of a phase by the clock. */
const readSpan = (word: string, length: string): PhaseSpan | undefined => {
  const ms = word === "for" ? readDuration(length) : undefined
  const minute = word === "until" ? readTimeOfDay(length) : undefined
  if (ms !== undefined) return Until.Elapsed({ ms })
  return minute === undefined ? undefined : Until.TimeOfDay({ minute })
}

const readCounted = (head: string, rest: ReadonlyArray<string>): Result.Result<ScriptPhase, string> => {
  const repeated = /^(.+?)x(\d+|\*)$/.exec(head)
  const times =
    repeated?.[2] === undefined ? 1 : repeated[2] === "*" ? Infinity : readWholeNumber(repeated[2], MAX_TIMES)
  if (times === undefined || times === 0) return Result.fail(`${Quote.of(head)} is repeated too often, or never.`)
  const params = readParams(rest)
  if (Result.isFailure(params)) return Result.fail(params.failure)
  const left = new Map(params.success)
  const outage = /^outage-(\d+)$/.exec(head)?.[1]
  const count = outage === undefined ? undefined : readWholeNumber(outage, MAX_TIMES)
  const outcome = readOutcome(count === undefined || count === 0 ? (repeated?.[1] ?? head) : "overloaded", left)
  if (Result.isFailure(outcome)) return Result.fail(outcome.failure)
  const [extra] = left.keys()
  if (extra !== undefined) return Result.fail(`${Quote.of(`${extra}=`)} does not belong to ${Quote.of(head)}.`)
  if (outcome.success._tag === "Down" && times !== 1)
    return Result.fail(`${Quote.of(head)}: a timed outage has no count.`)
  return Result.succeed({ outcome: outcome.success, times: count === undefined ? times : count })
}

type Params = Map<string, string>

const readParams = (parts: ReadonlyArray<string>): Result.Result<Params, string> => {
  const params: Params = new Map()
  for (const part of parts) {
    const equals = part.indexOf("=")
    const value = equals < 1 ? undefined : decode(part.slice(equals + 1))
    if (value === undefined) return Result.fail(`${Quote.of(part)} is not of the form name=value.`)
    if (params.has(part.slice(0, equals))) return Result.fail(`${Quote.of(part)} is given twice.`)
    params.set(part.slice(0, equals), value)
  }
  return Result.succeed(params)
}

/** Parses one outcome, and removes its parameters from `params`. */
const readOutcome = (head: string, params: Params): Result.Result<Outcome, string> => {
  if (/^[45]\d\d$/.test(head)) return readStatus(Number(head), undefined, params)
  if (ErrorBody.isName(head)) return readStatus(ErrorBody.statusOf(head), head, params)
  const counted = /^(cut|ends|stall|error-in-stream)-after-(\d+)$/.exec(head)
  const after = counted?.[2] === undefined ? 0 : readWholeNumber(counted[2], MAX_TOKENS)
  if (after === undefined) return Result.fail(`${Quote.of(head)} counts more than ${MAX_TOKENS} tokens.`)
  switch (counted?.[1] ?? head) {
    case "steady":
    case "ok":
      return Result.succeed(Outcome.Answer())
    case "reset":
      return Result.succeed(Outcome.Reset())
    case "html":
    case "empty":
      return Result.succeed(Outcome.NoStream({ body: head === "html" ? "html" : "empty" }))
    case "cut":
      return Result.succeed(Outcome.Cut({ after }))
    case "ends":
      return Result.succeed(Outcome.Ends({ after }))
    case "stall":
      return Result.succeed(Outcome.Stall({ after: counted === null ? undefined : after }))
    case "stall-with-pings":
      return Result.succeed(Outcome.Pings())
    case "error-in-stream": {
      const error = take(params, "body") ?? "overloaded"
      return ErrorBody.isName(error)
        ? Result.succeed(Outcome.StreamError({ after, error }))
        : Result.fail(`body=${error} cannot come in a stream.`)
    }
    case "tool-call":
      return readToolCall(params)
    case "half-tool-call":
      return Result.succeed(Outcome.HalfToolCall())
    case "refuse":
      return Result.succeed(Outcome.Refusal())
    default:
      return readDown(head)
  }
}

const readStatus = (
  status: number,
  named: ErrorBody.ErrorName | undefined,
  params: Params
): Result.Result<Outcome, string> => {
  const headers: Array<readonly [string, string]> = []
  for (const [param, value] of params) {
    const name = param === "retry-after" ? param : /^header:([a-z0-9-]+)$/.exec(param)?.[1]
    if (name === undefined) continue
    if (!/^[\t\x20-\x7e]*$/.test(value))
      return Result.fail(`${Quote.of(param)} has a character that no header may have.`)
    if (headers.some(([other]) => other === name)) return Result.fail(`${Quote.of(param)} is given twice.`)
    headers.push([name, value])
    params.delete(param)
  }
  const word = take(params, "body")
  const text = take(params, "text")
  if (word !== undefined && text !== undefined) return Result.fail("body= and text= exclude each other.")
  const body = word === undefined ? (named ?? ErrorBody.ofStatus(status)) : ErrorBody.fromName(word)
  if (body === undefined) return Result.fail(`body=${word} is none of ${ErrorBody.NAMES.join(", ")}.`)
  return Result.succeed(Outcome.Status({ status, body: text === undefined ? body : { text }, headers }))
}

const readToolCall = (params: Params): Result.Result<Outcome, string> => {
  const name = take(params, "name")
  const input = take(params, "input") ?? "{}"
  if (name !== undefined && !/^[A-Za-z0-9_-]{1,64}$/.test(name)) return Result.fail(`name=${name} is no tool's name.`)
  return Result.succeed(Outcome.ToolCall({ name, input }))
}

const readDown = (head: string): Result.Result<Outcome, string> => {
  const minute = head.startsWith("down-until-") ? readTimeOfDay(head.slice("down-until-".length)) : undefined
  const ms = head.startsWith("down-for-") ? readDuration(head.slice("down-for-".length)) : undefined
  if (head === "down") return Result.succeed(Outcome.Down({ until: Until.Never() }))
  if (ms !== undefined) return Result.succeed(Outcome.Down({ until: Until.Elapsed({ ms }) }))
  return minute === undefined
    ? Result.fail(
        readDelivery(head) === undefined ? `${Quote.of(head)} is not valid.` : `${Quote.of(head)} belongs after a "+".`
      )
    : Result.succeed(Outcome.Down({ until: Until.TimeOfDay({ minute }) }))
}

// --- internal: delivery

const readDelivery = (text: string): Partial<Delivery> | undefined => {
  if (text === "reasoning") return { reasoning: true }
  if (text === "instant") return { gapMs: 0 }
  if (text === "slow") return { gapMs: 1000 / SLOW_TOKENS_PER_SECOND }
  const [, name, value = ""] = /^(rate|tokens|delay|first-token)-(.+)$/.exec(text) ?? []
  const number = readWholeNumber(value, MAX_TOKENS)
  const ms = readDuration(value)
  if (name === "rate") return number === undefined || number === 0 ? undefined : { gapMs: 1000 / number }
  if (name === "tokens") return number === undefined || number === 0 ? undefined : { tokens: number }
  if (name === undefined || ms === undefined) return undefined
  return name === "delay" ? { gapMs: ms } : { firstTokenMs: ms }
}

const take = (params: Params, name: string): string | undefined => {
  const value = params.get(name)
  params.delete(name)
  return value
}
