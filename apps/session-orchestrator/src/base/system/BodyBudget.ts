/**
 * Bounds the bytes of all request bodies that are in memory: bodies of the API, and those of calls that the gateway holds.
 *
 * Each has a limit of its own, but a hundred clients may send such bodies at once. A body alone always has room.
 */
import { Context } from "effect"
import { totalmem } from "node:os"
import { getHeapStatistics } from "node:v8"

/** The bytes of one request. */
export type BodyShare = ReturnType<BodyBudget["open"]>

/** Counts the bytes of bodies. */
export class BodyBudget {
  private readonly most: number
  private taken = 0

  constructor(most: number) {
    this.most = most
  }

  /** Begins a request without bytes. */
  open() {
    let own = 0
    return {
      /** Takes bytes; `false`: there is no room for them now. */
      take: (bytes: number): boolean => {
        const others = this.taken - own
        if (others > 0 && this.taken + bytes > this.most) return false
        own += bytes
        this.taken += bytes
        return true
      },
      /** Gives all of them back. */
      release: (): void => {
        this.taken -= own
        own = 0
      }
    }
  }
}

/** The budget of this process: a quarter of its memory, and no more than the heap of V8 may have. */
export const Bodies = Context.Reference<BodyBudget>("@holdfast/session-orchestrator/system/BodyBudget", {
  defaultValue: () => {
    const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity)
    return new BodyBudget(Math.min(memory / 4, getHeapStatistics().heap_size_limit))
  }
})

/** What a byte of an API's body counts: it becomes text, a value, an event, a row and a request to the provider, most of them in the heap. */
export const TEXT = 8

/** For a client that is refused. */
export const NO_ROOM =
  "The bodies of requests under way take all memory that they may take. Send the request again later."
