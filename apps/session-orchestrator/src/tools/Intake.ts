/**
 * Limits what a tool server may send: lines that are no message, unrequested messages, work in one turn of the event loop.
 *
 * I1. A line costs 1, and 1 more for each KiB. What answers a request of ours costs nothing.
 * I2. Lines that are no message have a budget that refills slowly. Beyond it the connection ends: the server is started
 *     again with its growing delays.
 * I3. Notifications and requests of the server have a rate. Beyond it the connection is not read until the rate allows it, so
 *     the server waits and this process does not.
 * I4. After `WORK_PER_TURN` the event loop turns before more is read.
 */

import type { RequestId } from "@modelcontextprotocol/client"

/** Some at once, refilled over time. */
export interface Rate {
  readonly burst: number
  readonly perSecond: number
}

/** I2. A verbose start takes some hundred lines; a debug log that goes to the wrong stream takes some tens a second. */
export const JUNK: Rate = { burst: 10_000, perSecond: 100 }

/** I3. A tool that reports its progress sends some hundred notifications a second; 5,000 take about 5 % of one core. */
export const UNREQUESTED: Rate = { burst: 50_000, perSecond: 5_000 }

/** I4. Some milliseconds on a slow machine. */
export const WORK_PER_TURN = 250

/** What is left of a rate. */
export interface Account {
  /** Below 0: a debt. */
  readonly left: number
  /** Epoch milliseconds. */
  readonly at: number
}

/** An account of which nothing has been spent. */
export const full = ({ burst }: Rate, at: number): Account => ({ left: burst, at })

/** The account after a cost. A clock that goes back refills nothing. */
export const spend = ({ burst, perSecond }: Rate, { at, left }: Account, cost: number, now: number): Account => ({
  left: Math.min(burst, left + (Math.max(0, now - at) * perSecond) / 1_000) - cost,
  at: now
})

/** How long until a debt is refilled, in milliseconds; 0 without one. */
export const debtMs = ({ perSecond }: Rate, { left }: Account): number =>
  left >= 0 ? 0 : Math.ceil((-left * 1_000) / perSecond)

/** I1 */
export const costOf = (bytes: number): number => 1 + Math.floor(bytes / 1_024)

/** What becomes of a message. */
export type Verdict =
  | "pass"
  /** Nothing of it is needed. */
  | "drop"
  /** It is one too many (I2). */
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

  /** Records that a request is on its way. */
  requested(id: RequestId): void {
    this.unanswered.add(id)
  }

  /** Records that a request has come to its end; returns whether it had not before. */
  answered(id: RequestId): boolean {
    return this.unanswered.delete(id)
  }

  /** Judges and counts what a server has sent that is of the form of a message. */
  judge(message: Shape, bytes: number): Verdict {
    if (message.method === undefined) {
      return message.id !== undefined && this.answered(message.id) ? "pass" : this.junk(bytes)
    }
    this.unrequested(costOf(bytes))
    return message.id !== undefined || message.method === LIST_CHANGED ? "pass" : "drop"
  }

  /** Counts a line that is no message (I2). */
  junk(bytes: number): "drop" | "end" {
    this.junkAccount = spend(JUNK, this.junkAccount, costOf(bytes), this.now())
    return this.junkAccount.left < 0 ? "end" : "drop"
  }

  /** Counts what answers no request (I3). */
  unrequested(cost: number): void {
    this.account = spend(UNREQUESTED, this.account, cost, this.now())
  }

  /** Counts work; returns whether the event loop has to turn before there is more of it (I4). */
  isTurnOver(cost: number): boolean {
    this.work += cost
    return this.work >= WORK_PER_TURN
  }

  /** Begins the next turn; returns how long to wait for it, in milliseconds. 0: one turn of the event loop. */
  nextTurn(): number {
    this.work = 0
    this.unrequested(0)
    return debtMs(UNREQUESTED, this.account)
  }
}

/** Why a connection ends that has used up its budget (I2). */
export const TOO_MUCH_JUNK = `it sent more than ${JUNK.burst} lines that are no message, and was stopped`

// --- internal

/** What of a message tells its kind. */
interface Shape {
  readonly id?: RequestId | undefined
  readonly method?: string | undefined
}

/** The one notification that is of use: no request asks for progress, and nobody reads a server's log. */
const LIST_CHANGED = "notifications/tools/list_changed"
