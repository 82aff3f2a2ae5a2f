/** The course of a turn in a dry run: its calls, its waits and its end. Times are in epoch milliseconds. */
import type { Failure, Message } from "@holdfast/wire"

/** One attempt. */
export interface CallMark {
  readonly at: number
  readonly endedAt: number
  /** `provider/model`. */
  readonly target: string
  /** Absent: the provider's first. */
  readonly credential?: string
  /** `shared`: no call was made, because the failure of another turn's call was taken over (X5). */
  readonly outcome: "answered" | "failed" | "shared"
  /** Why it failed. */
  readonly reason?: Failure.Reason
  /** It had content before it failed. */
  readonly contentSeen?: true
  /** The tokens of an answer; absent: they are not known. */
  readonly usage?: Message.Usage
}

/** One wait. */
export interface WaitMark {
  readonly from: number
  /** When it was to end, by the decision. */
  readonly retryAt: number
  readonly endedAt: number
  /** The gate ended it before its time (X5). */
  readonly early?: true
}

/** The end of a turn. */
export interface TurnEnding {
  readonly status: "completed" | "failed" | "aborted"
  readonly at: number
  /** Why there was no further attempt, in the words of a decision; absent unless it failed. */
  readonly because?: string
  /** The reason of the last failure; absent unless it failed. */
  readonly reason?: Failure.Reason
}

/** The course of one turn. */
export interface TurnCourse {
  readonly turnId: string
  readonly startedAt: number
  readonly calls: ReadonlyArray<CallMark>
  readonly waits: ReadonlyArray<WaitMark>
  /** Absent: it still waits when the run ends. */
  readonly end?: TurnEnding
}
