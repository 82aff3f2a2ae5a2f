/**
 * Decodes a response's bytes to events: framing, `JSON.parse`, and the protocol's state machine.
 *
 * It is synchronous and has no clock, so tests can try every way of cutting a recording in a loop. Consecutive frames of one text are
 * matched by a template (`DeltaTemplate`); all others go through `JSON.parse`. A frame that is not JSON, or is named `error`, is an
 * error of the endpoint (C3), unless the body's end cut it off (C6).
 *
 * Nothing is read after an error or after the provider's terminal frame. The emitted events, the state that the machine keeps and an
 * incomplete frame are bounded together (C11). The frame that exceeds the bound emits nothing.
 */
import type { Provider } from "@holdfast/kernel"
import { ResponseLimit } from "@holdfast/kernel/host"
import { JsonShape } from "@holdfast/wire"
import * as DeltaTemplate from "./DeltaTemplate.ts"
import * as SseParser from "./SseParser.ts"
import { objectIn } from "./Json.ts"
import type { Machine, StreamStanding } from "./Protocol.ts"

/** The most characters of one frame, or of a whole response in JSON: the response's limit, and no less than the usual one. */
export const mostOfFrame = (most: number): number => Math.max(most, ResponseLimit.MOST_CHARACTERS)

/** Longer frames are measured before they are parsed: a frame of brackets takes a hundred times its length in memory. */
const LONG_FRAME = 65_536

/** The most levels of a long frame: below a frame of brackets, and above any real provider's output. */
const MOST_FRAME_LEVELS = 10_000

/** Decodes one response. */
export type Decoder = ReturnType<typeof make>

/** `classify` classifies a frame that is an error or is not JSON; `most` is the response's limit in characters. */
export const make = (
  machine: Machine,
  classify: (data: string, event: string | undefined) => Provider.EmittedFailure,
  most: number = ResponseLimit.MOST_CHARACTERS
) => {
  const mostHeld = mostOfFrame(most)
  let out: Array<Provider.ProviderEvent> = []
  let emitted = 0
  let standing: StreamStanding = "open"
  let isEnding = false
  let template: DeltaTemplate.DeltaTemplate | undefined

  /** The events before a failure: the tool calls that had begun and are incomplete (A12); empty where there are none. */
  const cut = (): ReadonlyArray<Provider.ProviderEvent> => {
    const toolNames = machine.unfinished()
    return toolNames.length === 0 ? [] : [{ type: "tool-calls-cut", toolNames }]
  }

  const fail = (failure: Provider.EmittedFailure) => {
    standing = "failed"
    out.push(...cut(), { type: "error", failure })
  }

  /** The events from `before` on are new. */
  const exceeds = (before: number): boolean => {
    for (const event of out.slice(before)) emitted += sizeOf(event)
    if (emitted + machine.kept() <= most) return false
    out.length = before
    fail(ResponseLimit.exceeded(most))
    return true
  }

  const skip = (text: string, start: number): number => {
    if (template === undefined || isOver(standing)) return start
    const match = DeltaTemplate.match(template, text, start, most - emitted - machine.kept())
    if (match === undefined) return start
    exceeds(out.push(match.delta) - 1)
    return match.end
  }

  const frames = SseParser.make((data, event, raw) => {
    if (isOver(standing)) return
    if (data.length > mostHeld) return fail(ResponseLimit.exceeded(most))
    if (data === "[DONE]") {
      standing = machine.done()
      return
    }
    const before = out.length
    if (isTooDeep(data)) return fail(TOO_DEEP)
    const frame = objectIn(data)
    if (frame === undefined ? !isEnding : event === "error") return fail(classify(data, event))
    if (frame === undefined) return
    const kept = machine.kept()
    standing = machine.frame(frame, event, out)
    const isPlain = standing === "open" && machine.kept() === kept
    template = isPlain ? DeltaTemplate.of(raw, out.slice(before)) : undefined
    if (exceeds(before)) return
    if (standing === "failed") out.splice(-1, 0, ...cut())
    if (standing === "error") fail(classify(data, event))
  }, skip)

  return {
    feed: (reads: ReadonlyArray<Uint8Array>): void => {
      for (const read of joined(reads)) {
        frames.feed(read)
        if (isOver(standing)) return
        if (frames.held() > mostHeld) return fail(ResponseLimit.exceeded(most))
      }
    },
    /** Reads a body that is one JSON document in place of a stream; `false` where it is no response of a model. */
    whole: (document: string): boolean => {
      const frame = isTooDeep(document) ? undefined : objectIn(document)
      if (frame === undefined) return false
      standing = machine.frame(frame, undefined, out)
      // A document has no `[DONE]`; its end counts as one.
      if (standing === "open") standing = machine.done()
      if (standing === "open" || standing === "error") return false
      exceeds(0)
      return true
    },
    /** The body has ended. */
    end: (): void => {
      isEnding = true
      frames.end()
    },
    standing: () => standing,
    /** The events since the last call. */
    take: () => {
      const events = out
      out = []
      return events
    },
    /** Appends the events that the machine held back, and `finish`. */
    finish: () => machine.finish(out),
    /** Characters of tool calls so far (`Machine.held`). */
    held: machine.held,
    cut
  }
}

// --- internal

/** Holds reads for `joined`: some providers send one event a chunk, and a read of the socket has hundreds of chunks. */
const together = new Uint8Array(65_536)

/** Short reads as one, until the next call: decoding a text costs more than copying its bytes. */
const joined = (reads: ReadonlyArray<Uint8Array>): ReadonlyArray<Uint8Array> => {
  let length = 0
  for (const read of reads) {
    if (length + read.length > together.length) return reads
    together.set(read, length)
    length += read.length
  }
  return [together.subarray(0, length)]
}

const isOver = (standing: StreamStanding): boolean =>
  standing === "finished" || standing === "failed" || standing === "error"

const isTooDeep = (data: string): boolean =>
  data.length > LONG_FRAME && JsonShape.isTextTooDeep(data, MOST_FRAME_LEVELS)

const TOO_DEEP: Provider.EmittedFailure = {
  reason: "invalid-response",
  message: `The provider's response is nested deeper than ${MOST_FRAME_LEVELS} levels.`,
  retryable: false
}

/** The event's characters that count towards the limit; the machine counts those of tool calls. */
const sizeOf = (event: Provider.ProviderEvent): number =>
  "delta" in event ? event.delta.length : "data" in event ? event.data.length : 0
