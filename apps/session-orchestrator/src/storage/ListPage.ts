/** Pages of lists of turns and conversations: their filters, positions and rows. */
import type { Ids, Labels, TurnEvent } from "@holdfast/wire"
import type { Conversation, Turn } from "./Stored.ts"

/** A row's place in the order of its list. */
export interface Position {
  /** What the list is ordered by, in epoch milliseconds; 0 in a list that is ordered by numbers alone. */
  readonly at: number
  /** The row's number. */
  readonly number: number
}

/** One page of a list. */
export interface Page<Row> {
  readonly rows: ReadonlyArray<Row>
  /** Where the next page begins; absent on the last one. */
  readonly next: Position | undefined
}

/** Which turns, and in which order. */
export interface TurnFilter {
  /** `open`: turns that have not ended. */
  readonly status?: TurnEvent.TurnStatus | "open" | "uncounted" | undefined
  /** Ended since then, with a status of turns that have ended; otherwise accepted since then. Epoch milliseconds. */
  readonly since?: number | undefined
  /** `provider/model` or a provider. Not applied to turns that have not ended: only their records have their target. */
  readonly model?: string | undefined
  /** A tag that the turns have. Their order is that of acceptance then. */
  readonly tag?: string | undefined
  /** A text in the prompt or in an answer. */
  readonly search?: string | undefined
  /** Of this conversation alone, in the order of acceptance. Not together with `tag`. */
  readonly conversationId?: Ids.ConversationId | undefined
}

/** A turn in a list. */
export interface TurnRow {
  readonly position: Position
  /** Its prompt is cut (`Keyset.PROMPT_CHARACTERS`). */
  readonly turn: Turn
  /**
   * The model that the turn changed to last, or began at, which an earlier turn may have moved to; as far as its records are kept, and else
   * that of its conversation: `provider/model`.
   */
  readonly model: string
  /** The model before, if the turn changed it. */
  readonly changedFrom: string | undefined
  /** Whether it has events. */
  readonly hasEvents: boolean
  readonly labels: Labels.Labels
}

/** Which conversations. */
export interface ConversationFilter {
  /** Opened since then, in epoch milliseconds. */
  readonly since?: number | undefined
  /** `provider/model` or a provider. */
  readonly model?: string | undefined
  readonly tag?: string | undefined
  /** A text in the title or in a prompt. */
  readonly search?: string | undefined
  /** Those whose newest turn has not ended, in the order of these turns. */
  readonly isBusy?: boolean | undefined
  /** These alone. */
  readonly ids?: ReadonlyArray<Ids.ConversationId> | undefined
}

/** A conversation in a list. */
export interface ConversationRow {
  readonly position: Position
  readonly conversation: Pick<Conversation, "conversationId" | "model" | "createdAt">
  /** Its own, or else the beginning of its first prompt (`Keyset.PROMPT_CHARACTERS`); absent before that. */
  readonly title: string | undefined
  readonly lastTurnId: Ids.TurnId | undefined
  /** The end of that turn, in epoch milliseconds; absent before it. */
  readonly lastEndedAt: number | undefined
  readonly isBusy: boolean
  readonly labels: Labels.Labels
}
