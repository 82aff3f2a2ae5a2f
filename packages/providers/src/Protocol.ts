/**
 * What the two wire formats have to say about themselves; all that is HTTP is the transport's.
 *
 * A protocol turns a request into a body, and frames into events by a state machine that lives for one attempt. The
 * machine is synchronous and appends to an array that is passed in, so that a read of many frames becomes one array.
 *
 * M1. A machine never appends usage before output (P1 of the Provider port), half a tool call (C7) or an empty delta (C8).
 * M2. What a machine keeps for later counts in `kept`, so that an endless tool call is bounded like an endless text (C11).
 * M3. `finish` is asked for once, after a frame that left the stream `finishing` or `finished`, and appends last.
 */
import type { Provider } from "@holdfast/kernel"
import type { JsonObject } from "./Json.ts"

/**
 * Where a stream stands after a frame.
 *
 * - `open`: it goes on.
 * - `finishing`: the model has stopped; usage may still come.
 * - `finished`: the provider has said its last word.
 * - `error`: the frame is an error, to be classified.
 * - `failed`: the frame was an error, and the machine has appended it.
 */
export type Standing = "open" | "finishing" | "finished" | "error" | "failed"

export interface Machine {
  /** Takes one frame. `event` is the frame's name, where it had one. */
  readonly frame: (frame: JsonObject, event: string | undefined, out: Array<Provider.ProviderEvent>) => Standing
  /** Takes the `[DONE]` that closes the streams of OpenAI and of many that imitate it. */
  readonly done: () => Standing
  /** Appends what was held back, and `finish`. */
  readonly finish: (out: Array<Provider.ProviderEvent>) => void
  /** Characters of tool calls so far: progress that is not yet an event (C8). */
  readonly held: () => number
  /** The tools whose calls have begun and are not whole. */
  readonly unfinished: () => ReadonlyArray<string>
  /** Characters of everything that it has kept so far, be it an event by now or not; `PART_CHARACTERS` more for each part. */
  readonly kept: () => number
}
