/**
 * The interface of a wire format; the transport handles HTTP.
 *
 * A protocol encodes a request as a body, and decodes frames to events by a state machine that lives for one attempt. The machine is
 * synchronous and appends to an array that is passed in, so a read of many frames becomes one array. Its `finish` is called once, after
 * a frame that left the stream `finishing` or `finished`, and appends last.
 *
 * A machine never appends usage before output (P1 of the Provider port), half a tool call (C7) or an empty delta (C8). State that a machine
 * keeps for later counts in `kept`, so an endless tool call is bounded like an endless text (C11).
 */
import type { Provider } from "@holdfast/kernel"
import type { JsonObject } from "./Json.ts"

/**
 * The state of a stream after a frame.
 *
 * - `open`: more frames follow.
 * - `finishing`: the model has stopped; usage may follow.
 * - `finished`: the terminal frame has arrived.
 * - `error`: the frame is an error, to be classified.
 * - `failed`: the frame was an error, and the machine has appended it.
 */
export type StreamStanding = "open" | "finishing" | "finished" | "error" | "failed"

/** The state machine of one response. */
export interface Machine {
  /** Reads one frame. `event` is the frame's name, where it has one. */
  readonly frame: (frame: JsonObject, event: string | undefined, out: Array<Provider.ProviderEvent>) => StreamStanding
  /** Reads the `[DONE]` that closes streams of OpenAI and of many compatible servers. */
  readonly done: () => StreamStanding
  /** Appends the events that were held back, and `finish`. */
  readonly finish: (out: Array<Provider.ProviderEvent>) => void
  /** Characters of tool calls so far: progress that is not yet an event (C8). */
  readonly held: () => number
  /** The tools whose calls have begun and are incomplete. */
  readonly unfinished: () => ReadonlyArray<string>
  /** Characters of everything kept so far, emitted or not; `PART_CHARACTERS` more for each part. */
  readonly kept: () => number
}
