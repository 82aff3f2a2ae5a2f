/**
 * Durable engines that run a turn's work themselves, such as Restate: `hf.turn(prompt, { engine })`.
 *
 * Engine.E1. A turn makes the same calls in the same order each time the engine runs it, and no call inside another. The calls of one
 *     response's tools begin in the order of the tools, and may be under way at once.
 */
import type { Json } from "./Events.ts"

/** Records the work of one turn, and waits for it. */
export interface Engine {
  /** The turn's id where its program chooses none; the same in every run. */
  readonly id: string
  /**
   * Does a piece of work and records its result under a name that is unique in the turn. When the engine runs the turn again, the recorded result comes
   * instead. Work that fails does not settle: the turn ends there, unrecorded.
   */
  run(name: string, work: () => Promise<Json>): PromiseLike<Json>
  /** Waits by a timer that survives the process. The turn may leave memory meanwhile. */
  sleep(name: string, ms: number): PromiseLike<unknown>
  /** Aborted when this run of the turn is over for the engine: the turn was suspended, or runs elsewhere. */
  readonly over?: AbortSignal
  /** Whether a rejection of `run` or `sleep` is a person's order to end the turn: it is aborted. Default: it never is. */
  isCancelled?(error: unknown): boolean
}
