/**
 * Keeps a conversation in memory while its turns run, by as few requests as that takes.
 *
 * The cluster evicts an entity that has had no request for five seconds. `Stay` is a request that lasts as long as turns run. The alarm clock
 * brings a conversation into memory by such a request, so a turn that wakes for one attempt needs no other; a request costs a wake a tenth
 * of its time.
 *
 * Staying.S1. While turns run, a `Stay` lasts or is sent within `GRACE_MS`, and early enough before the cluster may evict: it counts from
 *     the last request, which may have ended long before a turn begins to run.
 * Staying.S2. No second one is sent while one lasts, nor for turns that sleep again by then.
 */
import type { Timer } from "@holdfast/journal"
import { Effect } from "effect"

/** Milliseconds without a request after which the cluster may evict. */
export const MAX_IDLE_MS = 5_000

/** Milliseconds in which a turn may sleep again, or another request may come. */
export const GRACE_MS = 1_000

/** What the stay of a conversation depends on. */
export interface Dependencies {
  readonly timer: Pick<Timer.Timer["Service"], "at">
  readonly now: () => number
  /** Sends `Stay` to the conversation. */
  readonly send: () => void
  /** Whether the first turn waits on disk, and nothing has to stay for it. */
  readonly isAsleep: () => boolean
}

/** The stay of one conversation in memory. */
export class Staying {
  private readonly dependencies: Dependencies
  private lasting = 0
  /** How often turns have begun to run. */
  private begun = 0
  private cancel: (() => void) | undefined
  private isClosed = false
  /** The end of the last `Stay`; another request may have ended later. */
  private idleSince: number

  constructor(dependencies: Dependencies) {
    this.dependencies = dependencies
    this.idleSince = dependencies.now()
  }

  /** A turn begins to run. */
  busy(): void {
    this.begun++
    if (this.lasting === 0) this.expect()
  }

  /** One `Stay`, which lasts until `quiet` returns. */
  while(quiet: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.lasting++
      let seen = this.begun
      const untilQuiet: Effect.Effect<void> = Effect.flatMap(
        Effect.suspend(() => {
          seen = this.begun
          return quiet
        }),
        () => (this.begun === seen ? Effect.void : untilQuiet)
      )
      return Effect.onExit(untilQuiet, () =>
        Effect.sync(() => {
          this.lasting--
          this.idleSince = this.dependencies.now()
          if (this.lasting === 0 && this.begun !== seen) this.expect()
        })
      )
    })
  }

  /** Sends nothing any more: the conversation leaves memory. */
  close(): void {
    this.isClosed = true
    this.cancel?.()
  }

  private expect(): void {
    if (this.cancel !== undefined || this.isClosed) return
    const { isAsleep, now, send, timer } = this.dependencies
    const latest = this.idleSince + MAX_IDLE_MS - GRACE_MS
    if (now() >= latest) {
      this.idleSince = now()
      return send()
    }
    this.cancel = timer.at(Math.min(now() + GRACE_MS, latest), () => {
      this.cancel = undefined
      if (this.lasting === 0 && !isAsleep()) send()
    })
  }
}
