/**
 * Writes to a socket that may be read slowly, or not at all.
 *
 * SocketOutput.O1. Writes leave in the order in which they were asked for.
 * SocketOutput.O2. Memory is bounded: while the client has not taken what was written, nothing more is written, and each writer waits with its one
 *     buffer.
 * SocketOutput.O3. A client that takes nothing for `STALL_LIMIT` is dropped: the socket is destroyed.
 * SocketOutput.O4. All responses share a budget of writes in each turn of the event loop (`LoopBudget`).
 */
import { Effect, Semaphore } from "effect"
import { STALL_LIMIT } from "../body/LiveResponse.ts"
import type { LoopBudget } from "../../pacing/LoopBudget.ts"

/** The part of Node's socket that is used. */
export interface Writable {
  readonly writable: boolean
  readonly writableNeedDrain: boolean
  readonly write: (bytes: Uint8Array) => boolean
  readonly once: (event: "drain" | "close", listener: () => void) => unknown
  readonly off: (event: "drain" | "close", listener: () => void) => unknown
  readonly destroy: () => unknown
}

/** The output of one socket. */
export class SocketOutput {
  private readonly socket: Writable
  private readonly budget: LoopBudget
  private readonly oneWrite = Semaphore.makeUnsafe(1)
  /** Writes that wait for their turn. */
  private waiting = 0

  constructor(socket: Writable, budget: LoopBudget) {
    this.socket = socket
    this.budget = budget
  }

  /** Whether a write would leave at once. */
  get isFree(): boolean {
    return this.waiting === 0 && !this.socket.writableNeedDrain
  }

  /** Writes whole frames. Returns an effect that has to run before its caller's next write, if there is one. A closed socket takes all. */
  write(frames: Uint8Array): Effect.Effect<void> | undefined {
    const { budget, socket } = this
    if (!socket.writable) return undefined
    if (this.isFree && budget.allows(frames.length)) {
      socket.write(frames)
      return undefined
    }
    return Effect.suspend(() => {
      this.waiting++
      return Effect.ensuring(
        this.oneWrite.withPermits(1)(Effect.suspend(() => this.later(frames))),
        Effect.sync(() => {
          this.waiting--
        })
      )
    })
  }

  private later(frames: Uint8Array): Effect.Effect<void> {
    const { budget, socket } = this
    const turn = Effect.suspend(() => (budget.allows(frames.length) ? Effect.void : budget.turn(frames.length)))
    return Effect.andThen(Effect.andThen(taken(socket), turn), () =>
      Effect.sync(() => {
        if (socket.writable) socket.write(frames)
      })
    )
  }
}

// --- internal

/** Waits until the client has taken what was written, for `STALL_LIMIT` at most (SocketOutput.O3). */
const taken = (socket: Writable): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (!socket.writable || !socket.writableNeedDrain) return Effect.void
    return Effect.callback<void>((resume) => {
      const onDrain = () => resume(Effect.void)
      socket.once("drain", onDrain)
      socket.once("close", onDrain)
      return Effect.sync(() => {
        socket.off("drain", onDrain)
        socket.off("close", onDrain)
      })
    }).pipe(Effect.timeoutOrElse({ duration: STALL_LIMIT, orElse: () => Effect.sync(() => void socket.destroy()) }))
  })
