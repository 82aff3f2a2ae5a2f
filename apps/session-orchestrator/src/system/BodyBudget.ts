/**
 * Bounds the bytes of all request bodies that are in memory: bodies of the API, and those of calls that the gateway holds.
 *
 * Each has a limit of its own, but a hundred clients may send such bodies at once. A body alone always has room.
 */
import { Context } from "effect"
import { totalmem } from "node:os"

/** The bytes of one request. */
export interface Share {
  /** Takes bytes; `false`: there is no room for them now. */
  readonly take: (bytes: number) => boolean
  /** Gives all of them back. */
  readonly release: () => void
}

/** Counts the bytes of bodies. */
export class BodyBudget {
  private readonly most: number
  private taken = 0

  constructor(most: number) {
    this.most = most
  }

  /** Begins a request without bytes. */
  open(): Share {
    let own = 0
    return {
      take: (bytes) => {
        const others = this.taken - own
        if (others > 0 && this.taken + bytes > this.most) return false
        own += bytes
        this.taken += bytes
        return true
      },
      release: () => {
        this.taken -= own
        own = 0
      }
    }
  }
}

/** The budget of this process: a quarter of its memory. */
export const Bodies = Context.Reference<BodyBudget>("@holdfast/session-orchestrator/system/BodyBudget", {
  defaultValue: () => new BodyBudget(Math.min(totalmem(), process.constrainedMemory() || Infinity) / 4)
})

/** For a client that is refused. */
export const NO_ROOM =
  "The bodies of requests under way take all memory that they may take. Send the request again later."
