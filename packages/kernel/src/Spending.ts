/**
 * What a step has spent on its failures so far: in all, and by reason (D2, X11).
 *
 * S1. It follows from the failures, the decisions about them and the waits, all of which are on record: a step that is taken up
 *     again has spent what it had spent.
 * S2. Every failure and every wait counts for one reason, so what the reasons have cost adds up to the whole.
 */
import type { Failure } from "@holdfast/wire"
import type { Spent } from "./RetryStrategy.ts"

export class Spending {
  /** Retries so far; the number of the next one. */
  retries = 0
  private sleptMs = 0
  private extendedMs = 0
  private firstFailureAt: number | undefined = undefined
  private readonly reasons = new Map<Failure.Reason, Share>()

  /** Takes a failure in, and says what had been spent by then. `spread` is drawn for the decision about it. */
  fail({ reason }: Failure.Failure, at: number, spread: number): Spent {
    const share = this.reasons.get(reason) ?? { retries: 0, sleptMs: 0, firstFailureAt: at }
    this.reasons.set(reason, share)
    const firstFailureAt = (this.firstFailureAt ??= at)
    const { extendedMs, sleptMs } = this
    return {
      sleptMs,
      elapsedMs: Math.max(0, at - firstFailureAt),
      extendedMs,
      onReason: {
        retries: share.retries,
        sleptMs: share.sleptMs,
        elapsedMs: Math.max(0, at - share.firstFailureAt)
      },
      spread
    }
  }

  /** Counts the retry that follows a failure, and returns its number. */
  retry({ reason }: Failure.Failure): number {
    const share = this.reasons.get(reason)
    if (share !== undefined) share.retries++
    return this.retries++
  }

  /** Counts a wait, as long as it was decided on, for the failure that it followed. */
  sleep({ reason }: Failure.Failure, delayMs: number): void {
    const share = this.reasons.get(reason)
    if (share !== undefined) share.sleptMs += delayMs
    this.sleptMs += delayMs
  }

  /** Counts what somebody added to the budget (X4). */
  extend(byMs: number): void {
    this.extendedMs += byMs
  }
}

// --- internal

interface Share {
  retries: number
  sleptMs: number
  readonly firstFailureAt: number
}
