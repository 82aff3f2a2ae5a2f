/**
 * Writes to a client that may read slowly, or not at all: a response, a WebSocket, or lines on a stream.
 *
 * All clients on the network share a budget of writes in each turn of the event loop (`LoopBudget`).
 *
 * Outlet.O1. Writes leave whole, in the order in which they were asked for.
 * Outlet.O2. Memory is bounded: while the client has not taken what was written, nothing more is written, and each writer waits with its one text.
 *     A client that takes nothing for `STALL_LIMIT` is given up (`stalled`), where it is not a process that runs this one.
 */
import { Duration, Effect, Semaphore } from "effect"
import type { LoopBudget } from "../engine/pacing/LoopBudget.ts"

/** How long a client may take none of the data that was written for it (Outlet.O2). */
export const STALL_LIMIT = Duration.seconds(60)

/** What is written. */
export type Text = string | Uint8Array

/** The part of Node's streams that is used. Their errors are the caller's to handle. */
export interface Writable {
  readonly destroyed: boolean
  readonly writableEnded: boolean
  readonly writableNeedDrain: boolean
  readonly write: (text: Text, onWritten?: () => void) => boolean
  readonly end: (text: Text) => unknown
  readonly once: (event: "drain" | "close", listener: () => void) => unknown
  readonly off: (event: "drain" | "close", listener: () => void) => unknown
}

/** The limits of a client on the network. */
interface Limits<E> {
  readonly budget: LoopBudget
  /** Gives the client up. */
  readonly stalled: Effect.Effect<void, E>
}

/** The writes to one client. */
export class Outlet<E = never> {
  private readonly stream: Writable
  private readonly limits: Limits<E> | undefined
  private readonly oneWrite = Semaphore.makeUnsafe(1)
  /** Writes that wait for their turn. */
  private waiting = 0
  private begun = false

  /** Without `limits` a client may read as slowly as it likes. */
  constructor(stream: Writable, limits?: Limits<E>) {
    this.stream = stream
    this.limits = limits
  }

  /** Whether anything was written. */
  get hasBegun(): boolean {
    return this.begun
  }

  /** Whether a write would leave at once. */
  get isFree(): boolean {
    return this.waiting === 0 && !this.stream.writableNeedDrain
  }

  /** Writes a text; with `isLast`, the stream ends. Returns an effect that has to run before its caller's next write, if there is one. */
  write(text: Text, isLast = false): Effect.Effect<void, E> | undefined {
    if (!isOpen(this.stream)) return undefined // a closed stream takes all
    if (this.isFree && this.limits?.budget.allows(text.length) !== false) return this.put(text, isLast)
    return Effect.suspend(() => {
      this.waiting++
      return Effect.ensuring(
        this.oneWrite.withPermits(1)(Effect.suspend(() => this.later(text, isLast))),
        Effect.sync(() => {
          this.waiting--
        })
      )
    })
  }

  /** Writes a text, and waits until more may be written. */
  send(text: Text): Effect.Effect<void, E> {
    return Effect.suspend(() => this.write(text) ?? Effect.void)
  }

  /** Writes a last text out of turn, and waits until all has left the process, for a time at most; returns whether it has. */
  flushed(text: string, limit: Duration.Duration): Effect.Effect<boolean> {
    return Effect.callback<boolean>((resume) => void this.stream.write(text, () => resume(Effect.succeed(true)))).pipe(
      Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.succeed(false) })
    )
  }

  private later(text: Text, isLast: boolean): Effect.Effect<void, E> {
    const { limits, stream } = this
    const taken = isOpen(stream) && stream.writableNeedDrain ? this.drained() : Effect.void
    const turn = Effect.suspend(() =>
      limits === undefined || limits.budget.allows(text.length) ? Effect.void : limits.budget.turn(text.length)
    )
    return Effect.andThen(Effect.andThen(taken, turn), () => this.put(text, isLast) ?? Effect.void)
  }

  private put(text: Text, isLast: boolean): Effect.Effect<void, E> | undefined {
    if (!isOpen(this.stream)) return undefined
    this.begun = true
    if (!isLast) return this.stream.write(text) ? undefined : this.drained()
    this.stream.end(text)
    return undefined
  }

  /** Waits until the client has taken what was written (Outlet.O2). */
  private drained(): Effect.Effect<void, E> {
    const { limits, stream } = this
    const drained = Effect.callback<void>((resume) => {
      const leave = () => {
        stream.off("drain", onDrain)
        stream.off("close", onDrain)
      }
      const onDrain = () => {
        leave()
        resume(Effect.void)
      }
      stream.once("drain", onDrain)
      stream.once("close", onDrain)
      return Effect.sync(leave)
    })
    return limits === undefined
      ? drained
      : Effect.timeoutOrElse(drained, { duration: STALL_LIMIT, orElse: () => limits.stalled })
  }
}

// --- internal

const isOpen = ({ destroyed, writableEnded }: Writable): boolean => !destroyed && !writableEnded
