/**
 * The record of turns: what a replay follows (X10).
 *
 * Recording.R1. A turn belongs to the record from a moment on if it was accepted or ended since, or has not ended.
 * Recording.R2. A reader asks for a number of turns, and gets the newest: more would take longer to read than a person waits.
 */
import type { Records } from "@holdfast/kernel"
import type { Ids, Target, TurnEvent } from "@holdfast/wire"
import type { Conversation } from "./Store.ts"

/** One turn of the record. */
export interface RecordedTurn {
  readonly turnId: Ids.TurnId
  readonly conversationId: Ids.ConversationId
  /** Epoch milliseconds. */
  readonly acceptedAt: number
  /** The model of its conversation. */
  readonly target: Target.Target
  /** The conversation's own retry settings. */
  readonly retry: Conversation["retry"]
  /** The conversation's switch for retries. */
  readonly autoRetryEnabled: boolean
  /** Its client did not stay (X15). */
  readonly isSubmitted: boolean
  /** In the order in which they were written. */
  readonly records: ReadonlyArray<Records.TurnRecord>
  /** Absent: it has not ended. */
  readonly end: TurnEvent.TurnEnd | undefined
}

/** The record since a moment. */
export interface Recording {
  /** In the order of acceptance. */
  readonly turns: ReadonlyArray<RecordedTurn>
  /** Turns whose records are gone (`database.retention`) or cannot be read. */
  readonly without: number
  /** There were more turns than were asked for; the oldest are left out. */
  readonly isCut: boolean
}
