/**
 * One response, from the bytes of its body to events: framing, `JSON.parse`, and the protocol's machine.
 *
 * Synchronous and without a clock of its own, so that any way of cutting a recording can be tried in a loop.
 *
 * D1. Nothing is read after an error or after the provider's last word.
 * D2. Frames of a text under way are read by their likeness to each other (`DeltaTemplate`); every other one by `JSON.parse`.
 * D3. A frame that is not JSON, or is named `error`, is an error of the endpoint (C3), unless the body's end cut it off: that is for C6
 *     to judge.
 * D4. What a response has brought and what the machine keeps of it is bounded together, and so is what is held back of a frame (C11).
 *     Nothing of the frame that goes beyond is given.
 */
import { type Provider, ResponseLimit } from "@holdfast/kernel"
import { JsonShape } from "@holdfast/wire"
import * as DeltaTemplate from "./DeltaTemplate.ts"
import * as EventStream from "./EventStream.ts"
import { isObject, type JsonObject } from "./Json.ts"
import type { Machine, Standing } from "./Protocol.ts"

/** The most that one frame, or a whole answer in JSON, may hold: what a response may, and what is usual around that. */
export const mostOfFrame = (most: number): number => Math.max(most, ResponseLimit.MOST_CHARACTERS)

/** Frames from here on are looked at before they are parsed: as many brackets take a hundred times as much memory. */
const LONG_FRAME = 65_536

/** Below a long frame's brackets, and above what any provider writes. */
const MOST_FRAME_LEVELS = 10_000

export interface Decoder {
  readonly feed: (reads: ReadonlyArray<Uint8Array>) => void
  /** Takes a body that is one JSON document, in place of a stream; `false` where it is no answer. */
  readonly whole: (document: string) => boolean
  /** The body has ended. */
  readonly end: () => void
  readonly standing: () => Standing
  /** The events since the last call. */
  readonly take: () => Array<Provider.ProviderEvent>
  /** Appends what the machine held back, and `finish`. */
  readonly finish: () => void
  /** Characters of tool calls so far (`Machine.held`). */
  readonly held: () => number
  /** What stands before a failure: that calls had begun which are not whole (A12); nothing where there are none. */
  readonly cut: () => ReadonlyArray<Provider.ProviderEvent>
}

/** `classify` judges a frame that is an error, or is not JSON; `most` is how many characters the response may have. */
export const make = (
  machine: Machine,
  classify: (data: string, event: string | undefined) => Provider.EmittedFailure,
  most: number = ResponseLimit.MOST_CHARACTERS
): Decoder => {
  const mostHeld = mostOfFrame(most)
  let out: Array<Provider.ProviderEvent> = []
  let said = 0
  let standing: Standing = "open"
  let isEnding = false
  const template = DeltaTemplate.make()

  const cut = (): ReadonlyArray<Provider.ProviderEvent> => {
    const toolNames = machine.unfinished()
    return toolNames.length === 0 ? [] : [{ type: "tool-calls-cut", toolNames }]
  }

  const fail = (failure: Provider.EmittedFailure) => {
    standing = "failed"
    out.push(...cut(), { type: "error", failure })
  }

  /** D4. What came from `before` on is new. */
  const exceeds = (before: number): boolean => {
    for (let i = before; i < out.length; i++) said += sizeOf(out[i] as Provider.ProviderEvent)
    if (said + machine.kept() <= most) return false
    out.length = before
    fail(ResponseLimit.exceeded(most))
    return true
  }

  const frames = EventStream.make((data, event) => {
    if (isOver(standing)) return
    if (data.length > mostHeld) return fail(ResponseLimit.exceeded(most))
    if (data === "[DONE]") {
      standing = machine.done()
      return
    }
    const before = out.length
    const delta = template.match(data, event)
    if (delta !== undefined) {
      out.push(delta)
      exceeds(before)
      return
    }
    if (isTooDeep(data)) return fail(TOO_DEEP)
    const frame = parse(data)
    if (frame === undefined ? !isEnding : event === "error") return fail(classify(data, event)) // D3
    if (frame === undefined) return
    const kept = machine.kept()
    standing = machine.frame(frame, event, out)
    if (standing === "open" && machine.kept() === kept) template.learn(data, event, out.slice(before))
    else template.forget()
    if (exceeds(before)) return
    if (standing === "failed") out.splice(-1, 0, ...cut())
    if (standing === "error") fail(classify(data, event))
  })

  return {
    feed: (reads) => {
      for (const read of reads) {
        frames.feed(read)
        if (isOver(standing)) return
        if (frames.held() > mostHeld) return fail(ResponseLimit.exceeded(most))
      }
    },
    whole: (document) => {
      const frame = isTooDeep(document) ? undefined : parse(document)
      if (frame === undefined) return false
      standing = machine.frame(frame, undefined, out)
      // A document has no `[DONE]`; its end is as good.
      if (standing === "open") standing = machine.done()
      if (standing === "open" || standing === "error") return false
      exceeds(0)
      return true
    },
    end: () => {
      isEnding = true
      frames.end()
    },
    standing: () => standing,
    take: () => {
      const events = out
      out = []
      return events
    },
    finish: () => machine.finish(out),
    held: machine.held,
    cut
  }
}

// --- internal

const isOver = (standing: Standing): boolean => standing === "finished" || standing === "failed" || standing === "error"

/** The object of a frame. Google sends errors as an array of one. */
const parse = (data: string): JsonObject | undefined => {
  try {
    const value: unknown = JSON.parse(data)
    const frame: unknown = Array.isArray(value) ? value[0] : value
    return isObject(frame) ? frame : undefined
  } catch {
    return undefined
  }
}

const isTooDeep = (data: string): boolean =>
  data.length > LONG_FRAME && JsonShape.isTextTooDeep(data, MOST_FRAME_LEVELS)

const TOO_DEEP: Provider.EmittedFailure = {
  reason: "invalid-response",
  message: `The provider's response is nested deeper than ${MOST_FRAME_LEVELS} levels.`,
  retryable: false
}

/** Characters of an event that are the response's; those of calls are the machine's to count. */
const sizeOf = (event: Provider.ProviderEvent): number => {
  switch (event.type) {
    case "text-delta":
    case "reasoning-delta":
      return event.delta.length
    default:
      return 0
  }
}
