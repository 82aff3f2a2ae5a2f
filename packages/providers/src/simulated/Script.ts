/**
 * What a simulated provider does to a turn: a list of scenes, one per request, and the way an answer is spoken.
 *
 * This file owns what a script is and which scene comes next. How a script is written is `Syntax.ts`, how it is put in
 * words `Description.ts`, how a scene is played `Cue.ts`.
 *
 * S1. Scenes are played in order, each as many times as it says. After the last one every request is answered.
 * S2. An outage by the clock is played as long as it lasts and not a millisecond longer, however often it is asked;
 *     it begins when the turn does, so a turn that is taken up by another process meets the same outage.
 * S3. Nothing here keeps count: what was played is an argument, and so is the time.
 */
import { Data } from "effect"
import type { ErrorBody, Name } from "./ErrorBody.ts"

/** What one request meets. `after` counts tokens of text that come first. */
export type Act = Data.TaggedEnum<{
  /** The answer, streamed to its end. */
  Answer: {}
  /** A response with an error status. */
  Status: {
    readonly status: number
    readonly body: ErrorBody
    /** In the order in which they are written; names in lower case. */
    readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  }
  /** The connection is reset before there is any response. */
  Reset: {}
  /** A 200 with an HTML page, or with no body, where a stream should be. */
  Hollow: { readonly body: "html" | "empty" }
  /** An error inside a stream that began with a 200 (C3). */
  StreamError: { readonly after: number; readonly error: Name }
  /** The connection is cut within the stream. */
  Cut: { readonly after: number }
  /** The stream ends properly, without its terminal event (C6). */
  Ends: { readonly after: number }
  /** Silence for ever: before the response begins, or within the stream. */
  Stall: { readonly after: number | undefined }
  /** A stream of keep-alives and nothing else, for ever (C8). */
  Pings: {}
  /** A whole tool call. `name` is otherwise the first tool of the request. */
  ToolCall: { readonly name: string | undefined; readonly input: string }
  /** The connection is cut within the arguments of a tool call (C7). */
  HalfToolCall: {}
  /** The model declines to answer: a finished stream whose finish reason says so. */
  Refusal: {}
  /** 503 for as long as the outage lasts, by the clock. */
  Down: { readonly until: Until }
}>
export const Act = Data.taggedEnum<Act>()

/** When an outage by the clock is over. */
export type Until = Data.TaggedEnum<{
  Never: {}
  /** This long after the turn began. */
  Elapsed: { readonly ms: number }
  /** The next time it is this minute of the day, UTC, after the turn began. */
  TimeOfDay: { readonly minute: number }
}>
export const Until = Data.taggedEnum<Until>()

/** An act and how many requests in a row meet it: at least 1, `Infinity` for all that follow. */
export interface Scene {
  readonly act: Act
  readonly times: number
}

/** How an answer is spoken. */
export interface Delivery {
  /** Milliseconds between two tokens. */
  readonly gapMs: number
  /** Milliseconds before the first. */
  readonly firstTokenMs: number
  /** Whether there is reasoning before the text. */
  readonly reasoning: boolean
  /** Length of the answer's text in tokens; otherwise as long as what there is to say. */
  readonly tokens: number | undefined
}

export interface Script {
  readonly scenes: ReadonlyArray<Scene>
  readonly delivery: Delivery
}

/** About as fast as people read along with a model. */
export const DEFAULT_TOKENS_PER_SECOND = 30

/** A delivery of which a script says nothing. */
export const DELIVERY: Delivery = {
  gapMs: 1000 / DEFAULT_TOKENS_PER_SECOND,
  firstTokenMs: 0,
  reasoning: false,
  tokens: undefined
}

/** A script of these scenes, spoken as usual. */
export const make = (scenes: ReadonlyArray<Scene>, delivery: Partial<Delivery> = {}): Script => ({
  scenes,
  delivery: { ...DELIVERY, ...delivery }
})

/** An act that happens once. */
export const once = (act: Act): Scene => ({ act, times: 1 })

/** Whether a request that meets this act has failed, as opposed to one that got what it asked for. */
export const isFailure = (act: Act): boolean =>
  act._tag !== "Answer" && act._tag !== "ToolCall" && act._tag !== "Refusal"

/** Where a turn stands in a script. */
export interface Position {
  /** Scenes played so far, each counted as often as it was played; an outage by the clock counts 1 once it is over. */
  readonly played: number
  /** Epoch milliseconds. */
  readonly startedAt: number
  /** Epoch milliseconds. */
  readonly now: number
}

/** What a request meets, and what will then have been played. */
export interface Step {
  readonly act: Act
  readonly played: number
  /** Nothing is left but to answer, so a turn that was answered needs no count any more. */
  readonly last: boolean
}

/** Decides what the next request of a turn meets. */
export const next = (script: Script, position: Position): Step => {
  let before = 0
  for (const { act, times } of script.scenes) {
    if (position.played >= before + times) {
      before += times
    } else if (act._tag !== "Down") {
      const played = Math.max(position.played, before) + 1
      return { act, played, last: played >= lengthOf(script.scenes) }
    } else if (position.now < endOf(act.until, position.startedAt)) {
      return { act, played: before, last: false } // S2
    } else {
      before += times
    }
  }
  return { act: Act.Answer(), played: before, last: true } // S1
}

/**
 * What to take as played of a turn that was begun by another process, of which no more is known than how many requests
 * it has made.
 *
 * **Gotchas**
 *
 * How many of them an outage by the clock has met cannot be known, so scenes behind one may be played a second time.
 */
export const resume = (script: Script, attempts: number): number => {
  const outage = script.scenes.findIndex(({ act }) => act._tag === "Down")
  return outage < 0 ? attempts : Math.min(attempts, lengthOf(script.scenes.slice(0, outage)))
}

/** The millisecond at which an outage that began with the turn is over. */
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

// --- internal

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const lengthOf = (scenes: ReadonlyArray<Scene>): number => scenes.reduce((sum, scene) => sum + scene.times, 0)
