/**
 * Defines a script: the outcomes of a turn's requests, in phases.
 *
 * This file defines scripts and decides the next phase. `Syntax.ts` parses a script, `Description.ts` describes it in words, and
 * `ResponseAction.ts` turns an outcome into a response.
 *
 * Phases apply in order, each to its number of requests. After the last phase every request is answered. A timed outage applies exactly
 * as long as it lasts, to any number of requests. It begins with the turn, so a turn that another process resumes has the same outage.
 * The functions here are pure: the count of served requests is an argument, and so are time and chance. A phase with a span applies by
 * the endpoint's clock, to all turns alike: the spans of a script follow each other from the opening of the endpoint on, and a turn that
 * comes later meets the rest.
 */
import * as Data from "effect/Data"
import type { ErrorBody, ErrorName } from "../ErrorBody.ts"

/** The outcome of one request. `after` is the number of tokens of text before it. */
export type Outcome = Data.TaggedEnum<{
  /** The answer, streamed to its end. */
  Answer: {}
  /** A response with an error status. */
  Status: {
    readonly status: number
    readonly body: ErrorBody
    /** In the order of the script; names in lower case. */
    readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  }
  /** The connection is reset before there is any response. */
  Reset: {}
  /** A 200 with an HTML page, or with no body, in place of a stream. */
  NoStream: { readonly body: "html" | "empty" }
  /** An error inside a stream that began with a 200 (C3). */
  StreamError: { readonly after: number; readonly error: ErrorName }
  /** The connection is cut within the stream. */
  Cut: { readonly after: number }
  /** The stream ends properly, without its terminal event (C6). */
  Ends: { readonly after: number }
  /** Endless silence: before the response begins, or within the stream. */
  Stall: { readonly after: number | undefined }
  /** An endless stream of keep-alives alone (C8). */
  Pings: {}
  /** A complete tool call. Without `name` it calls the first tool of the request. */
  ToolCall: { readonly name: string | undefined; readonly input: string }
  /** The connection is cut within the arguments of a tool call (C7). */
  HalfToolCall: {}
  /** The model declines to answer: a finished stream with that finish reason. */
  Refusal: {}
  /** 503 for as long as the outage lasts, by the clock. */
  Down: { readonly until: Until }
}>
/** Constructors of the outcomes. */
export const Outcome = Data.taggedEnum<Outcome>()

/** The end of a timed outage. */
export type Until = Data.TaggedEnum<{
  Never: {}
  /** This long after the turn began. */
  Elapsed: { readonly ms: number }
  /** The next time it is this minute of the day, UTC, after the turn began. */
  TimeOfDay: { readonly minute: number }
}>
/** Constructors of the ends. */
export const Until = Data.taggedEnum<Until>()

/** How long a phase applies by the endpoint's clock. */
export type PhaseSpan = Exclude<Until, { readonly _tag: "Never" }>

/** The requests that a phase refuses while it applies; the others are answered. */
export type Only = Data.TaggedEnum<{
  /** So many percent of the requests, by chance. */
  Share: { readonly percent: number }
  /** Those that are larger than this. */
  Over: { readonly bytes: number }
}>
/** Constructors of the conditions. */
export const Only = Data.taggedEnum<Only>()

/** An outcome for a number of requests in a row: at least 1; `Infinity` for all further requests. */
export interface ScriptPhase {
  readonly outcome: Outcome
  readonly times: number
  /** Present: it applies to any number of requests, as long as this lasts; `times` is 1. */
  readonly span?: PhaseSpan
  /** Without a span `times` is `Infinity`. */
  readonly only?: Only
}

/** The pace and length of an answer. */
export interface Delivery {
  /** Milliseconds between two tokens. */
  readonly gapMs: number
  /** Milliseconds before the first token. */
  readonly firstTokenMs: number
  /** Whether there is reasoning before the text. */
  readonly reasoning: boolean
  /** Length of the answer's text in tokens; `undefined` for its natural length. */
  readonly tokens: number | undefined
}

/** The behaviour of a simulated model. */
export interface Script {
  readonly phases: ReadonlyArray<ScriptPhase>
  readonly delivery: Delivery
}

/** About the speed at which people read. */
const DEFAULT_TOKENS_PER_SECOND = 30

/** The default delivery. */
export const DELIVERY: Delivery = {
  gapMs: 1000 / DEFAULT_TOKENS_PER_SECOND,
  firstTokenMs: 0,
  reasoning: false,
  tokens: undefined
}

/** A script of these phases, with the default delivery where none is given. */
export const make = (phases: ReadonlyArray<ScriptPhase>, delivery: Partial<Delivery> = {}): Script => ({
  phases,
  delivery: { ...DELIVERY, ...delivery }
})

/** A phase of one request. */
export const once = (outcome: Outcome): ScriptPhase => ({ outcome, times: 1 })

/** Whether a request with this outcome has failed. Answers, tool calls and refusals are successes. */
export const isFailure = (outcome: Outcome): boolean =>
  outcome._tag !== "Answer" && outcome._tag !== "ToolCall" && outcome._tag !== "Refusal"

/** A request, and its turn's position in a script. */
interface Position {
  /** From 0 (included) to 1 (excluded). */
  readonly chance: number
  /** The size of the request; called only where a phase depends on it. */
  readonly bytes: () => number
  /** Requests served so far; a timed outage counts as 1 once it is over. */
  readonly served: number
  /** Epoch milliseconds. */
  readonly startedAt: number
  /** When the endpoint's clock began, in epoch milliseconds; absent: with the turn. */
  readonly openedAt?: number
  /** Epoch milliseconds. */
  readonly now: number
}

/** The outcome of a request, and the position after it. */
interface Step {
  readonly outcome: Outcome
  readonly served: number
  /** No phase is left, so a turn that was answered needs no position any more. */
  readonly last: boolean
}

/** Decides the outcome of a turn's next request. */
export const next = (script: Script, position: Position): Step => {
  let before = 0
  let clock = position.openedAt ?? position.startedAt
  for (const phase of script.phases) {
    const { span, times } = phase
    const outcome = isMeant(phase, position) ? phase.outcome : Outcome.Answer()
    if (span !== undefined) {
      clock = endOf(span, clock)
      if (position.now < clock) return { outcome, served: Math.max(position.served, before), last: false }
      before += times
    } else if (position.served >= before + times) {
      before += times
    } else if (phase.outcome._tag !== "Down") {
      const served = Math.max(position.served, before) + 1
      return { outcome, served, last: served >= lengthOf(script.phases) }
    } else if (position.now < endOf(phase.outcome.until, position.startedAt)) {
      return { outcome, served: before, last: false }
    } else {
      before += times
    }
  }
  return { outcome: Outcome.Answer(), served: before, last: true }
}

/**
 * Estimates the position of a turn that another process began, from the number of its requests.
 *
 * **Gotchas**
 *
 * The number of requests during a timed outage is unknown, so phases after one may apply a second time.
 */
export const resume = (script: Script, attempts: number): number => {
  const outage = script.phases.findIndex(({ outcome, span }) => outcome._tag === "Down" || span !== undefined)
  return outage < 0 ? attempts : Math.min(attempts, lengthOf(script.phases.slice(0, outage)))
}

/** The end of an outage that began with the turn, in epoch milliseconds. */
export const endOf = (until: Until, startedAt: number): number => {
  switch (until._tag) {
    case "Never":
      return Number.POSITIVE_INFINITY
    case "Elapsed":
      return startedAt + until.ms
    case "TimeOfDay": {
      const midnight = Math.floor(startedAt / DAY_MS) * DAY_MS
      const today = midnight + until.minute * MINUTE_MS
      return today > startedAt ? today : today + DAY_MS
    }
    default:
      return until satisfies never
  }
}

/** Whether a script depends on the endpoint's clock. */
export const isClocked = ({ phases }: Script): boolean => phases.some(({ span }) => span !== undefined)

// --- internal

const isMeant = ({ only }: ScriptPhase, { bytes, chance }: Position): boolean => {
  switch (only?._tag) {
    case undefined:
      return true
    case "Share":
      return chance * 100 < only.percent
    case "Over":
      return bytes() > only.bytes
    default:
      return only satisfies never
  }
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const lengthOf = (phases: ReadonlyArray<ScriptPhase>): number => phases.reduce((sum, phase) => sum + phase.times, 0)
