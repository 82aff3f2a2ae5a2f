/**
 * Limits the data that a tool server may send.
 *
 * The limits are for lines that are no message, for unrequested messages, and for the work in one turn of the event loop.
 *
 * A line costs 1, and 1 more for each KiB. An answer to a request of Holdfast costs nothing.
 *
 * Lines that are no message have a budget that refills slowly. Beyond it the connection ends: the server is started again with its growing
 * delays.
 *
 * Intake.I3. Notifications and requests of the server have a rate. Beyond it the connection is not read until the rate allows it, so the
 *     server waits and this process does not.
 * Intake.I4. After `WORK_PER_TURN` the next read waits for a new turn of the event loop.
 */

import type { RequestId } from "@modelcontextprotocol/client"

/** A budget of `burst` that refills by `perSecond`. */
export interface Rate {
  readonly burst: number
  readonly perSecond: number
}

/** A verbose start takes some hundred lines; a debug log that goes to the wrong stream takes some tens a second. */
export const JUNK: Rate = { burst: 10_000, perSecond: 100 }

/** Intake.I3. A tool that reports its progress sends some hundred notifications a second; 5,000 take about 5 % of one core. */
export const UNREQUESTED: Rate = { burst: 50_000, perSecond: 5_000 }

/** Intake.I4. Some milliseconds on a slow machine. */
export const WORK_PER_TURN = 250

/** The rest of a budget at a moment. */
export interface Account {
  /** Below 0: a debt. */
  readonly left: number
  /** Epoch milliseconds. */
  readonly at: number
}

/** A full budget. */
export const full = ({ burst }: Rate, at: number): Account => ({ left: burst, at })

/** The budget after a cost. A clock that goes back refills nothing. */
export const spend = ({ burst, perSecond }: Rate, { at, left }: Account, cost: number, now: number): Account => ({
  left: Math.min(burst, left + (Math.max(0, now - at) * perSecond) / 1_000) - cost,
  at: now
})

/** How long until a debt is refilled, in milliseconds; 0 without one. */
export const debtMs = ({ perSecond }: Rate, { left }: Account): number =>
  left >= 0 ? 0 : Math.ceil((-left * 1_000) / perSecond)

/** The cost of a line of `bytes`. */
export const costOf = (bytes: number): number => 1 + Math.floor(bytes / 1_024)

/** The decision about a message. */
export type MessageCheck =
  | "pass"
  /** The message is not needed. */
  | "drop"
  /** The budget is spent: the connection ends. */
  | "end"

/** The limits of one connection. */
export class Intake {
  private readonly now: () => number
  private junkAccount: Account
  private account: Account
  private work = 0
  private readonly unanswered = new Set<RequestId>()

  /** `now`: epoch milliseconds. */
  constructor(now: () => number) {
    this.now = now
    this.junkAccount = full(JUNK, now())
    this.account = full(UNREQUESTED, now())
  }

  /** Records that a request was sent. */
  requested(id: RequestId): void {
    this.unanswered.add(id)
  }

  /** Records that a request has ended. Returns `false` if it had ended before. */
  answered(id: RequestId): boolean {
    return this.unanswered.delete(id)
  }

  /** Decides about a server's message and counts its cost. */
  check(message: Shape, bytes: number): MessageCheck {
    if (message.method === undefined) {
      return message.id !== undefined && this.answered(message.id) ? "pass" : this.junk(bytes)
    }
    this.unrequested(costOf(bytes))
    return message.id !== undefined || message.method === LIST_CHANGED ? "pass" : "drop"
  }

  /** Counts a line that is no message. */
  junk(bytes: number): "drop" | "end" {
    this.junkAccount = spend(JUNK, this.junkAccount, costOf(bytes), this.now())
    return this.junkAccount.left < 0 ? "end" : "drop"
  }

  /** Counts a message that answers no request (Intake.I3). */
  unrequested(cost: number): void {
    this.account = spend(UNREQUESTED, this.account, cost, this.now())
  }

  /** Counts work. Returns whether further work must wait for a new turn of the event loop (Intake.I4). */
  isTurnOver(cost: number): boolean {
    this.work += cost
    return this.work >= WORK_PER_TURN
  }

  /** Begins a new turn. Returns the milliseconds to wait for it; 0 is one turn of the event loop. */
  nextTurn(): number {
    this.work = 0
    this.unrequested(0)
    return debtMs(UNREQUESTED, this.account)
  }
}

/** The reason of a connection's end if its budget is spent. */
export const TOO_MUCH_JUNK = `it sent more than ${JUNK.burst} lines that are no message, and was stopped`

// --- internal

/** The fields of a message that show its kind. */
interface Shape {
  readonly id?: RequestId | undefined
  readonly method?: string | undefined
}

/** The only notification that Holdfast uses: no request asks for progress, and a server's log is not read. */
const LIST_CHANGED = "notifications/tools/list_changed"
