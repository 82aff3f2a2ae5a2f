/**
 * One response, from the bytes of its body to events: framing, `JSON.parse`, and the protocol's machine.
 *
 * Synchronous and without a clock of its own, so that any way of cutting a recording can be tried in a loop.
 *
 * D1. Nothing is read after an error or after the provider's last word.
 * D2. Frames of a text under way are read by their likeness to each other (`DeltaTemplate`); every other one by `JSON.parse`.
 * D3. A frame that is not JSON is an error of the endpoint (C3), unless the body's end cut it off: that is for C6 to judge.
 */
import type { Provider } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import * as DeltaTemplate from "./DeltaTemplate.ts"
import * as EventStream from "./EventStream.ts"
import { isObject, type JsonObject } from "./Json.ts"
import type { Machine, Standing } from "./Protocol.ts"

/** The most that one frame may hold, in characters. A larger one is no answer of a model. */
export const MAX_FRAME_LENGTH = 16 * 1024 * 1024

export interface Decoder {
  readonly feed: (reads: ReadonlyArray<Uint8Array>) => void
  /** The body has ended. */
  readonly end: () => void
  readonly standing: () => Standing
  /** The events since the last call. */
  readonly take: () => Array<Provider.ProviderEvent>
  /** Appends what the machine held back, and `finish`. */
  readonly finish: () => void
  /** Characters of tool calls so far (`Machine.held`). */
  readonly held: () => number
}

/** `classify` judges a frame that is an error, or is not JSON. */
export const make = (
  machine: Machine,
  classify: (data: string, event: string | undefined) => Provider.EmittedFailure
): Decoder => {
  let out: Array<Provider.ProviderEvent> = []
  let standing: Standing = "open"
  let isEnding = false
  const template = DeltaTemplate.make()

  const fail = (failure: Provider.EmittedFailure) => {
    standing = "failed"
    out.push({ type: "error", failure })
  }

  const frames = EventStream.make((data, event) => {
    if (isOver(standing)) return
    if (data === "[DONE]") {
      standing = machine.done()
      return
    }
    const delta = template.match(data, event)
    if (delta !== undefined) {
      out.push(delta)
      return
    }
    const frame = parse(data)
    if (frame !== undefined) {
      const before = out.length
      const held = machine.held()
      standing = machine.frame(frame, event, out)
      if (standing === "open" && machine.held() === held) template.learn(data, event, out.slice(before))
      else template.forget()
      if (standing === "error") fail(classify(data, event))
    } else if (!isEnding) {
      fail(classify(data, event))
    }
  })

  return {
    feed: (reads) => {
      for (const read of reads) frames.feed(read)
      if (frames.held() > MAX_FRAME_LENGTH && !isOver(standing)) fail(TOO_LONG)
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
    held: machine.held
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

const TOO_LONG: Failure.Failure = {
  reason: "invalid-response",
  message: `The provider's stream has a frame of more than ${MAX_FRAME_LENGTH} characters.`,
  retryable: true
}
