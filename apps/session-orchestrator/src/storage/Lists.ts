/**
 * The port to lists of turns and conversations, read page by page, newest first (X15).
 *
 * Lists.L1. A page costs what its own rows cost, however many there are: it is read by an index from a position on.
 * Lists.L2. A position is the order and the number of a row. What is added later comes before every position, so no row comes twice.
 * Lists.L3. A filter that no index answers is applied to `SCAN` rows at most, and to no more once that took `SCAN_MS`. Then the page
 *     ends, with the position that it came to.
 */
import type { StorageError } from "@holdfast/journal"
import type { Ids, Labels, TurnEvent } from "@holdfast/wire"
import { Context, type Effect } from "effect"
import type { Recording } from "./Recording.ts"
import type { Conversation, Turn } from "./Store.ts"

/** Rows that one page looks at, at most (Lists.L3). */
export const SCAN = 1_000

/** Milliseconds after which a page looks at no further rows (Lists.L3). */
export const SCAN_MS = 20

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
  readonly status?: TurnEvent.TurnStatus | "open" | undefined
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
  /** Its prompt is cut (`PROMPT_CHARACTERS`). */
  readonly turn: Turn
  /** The model that its conversation was opened with, or that the turn changed to last: `provider/model`. */
  readonly model: string
  /** It went on with another model than that of its conversation. */
  readonly hasChangedModel: boolean
  /** Whether it has events. */
  readonly hasEvents: boolean
  readonly labels: Labels.Labels
}

/** Of a prompt in a list. */
export const PROMPT_CHARACTERS = 200

/** Which conversations. */
export interface ConversationFilter {
  /** Opened since then, in epoch milliseconds. */
  readonly since?: number | undefined
  /** `provider/model` or a provider. */
  readonly model?: string | undefined
  readonly tag?: string | undefined
  /** A text in the title or in a prompt. */
  readonly search?: string | undefined
}

/** A conversation in a list. */
export interface ConversationRow {
  readonly position: Position
  readonly conversation: Pick<Conversation, "conversationId" | "model" | "createdAt">
  /** Its own, or else the beginning of its first prompt (`PROMPT_CHARACTERS`); absent before that. */
  readonly title: string | undefined
  readonly lastTurnId: Ids.TurnId | undefined
  /** The end of that turn, in epoch milliseconds; absent before it. */
  readonly lastEndedAt: number | undefined
  readonly isBusy: boolean
  readonly labels: Labels.Labels
}

/** The lists of a database. */
export class Lists extends Context.Service<
  Lists,
  {
    /** Turns behind a position (`undefined`: the newest), at most `limit`. */
    readonly turns: (
      filter: TurnFilter,
      after: Position | undefined,
      limit: number
    ) => Effect.Effect<Page<TurnRow>, StorageError>
    /** Conversations behind a position, at most `limit`. */
    readonly conversations: (
      filter: ConversationFilter,
      after: Position | undefined,
      limit: number
    ) => Effect.Effect<Page<ConversationRow>, StorageError>
    /** Sets the title of a conversation. Returns whether there is one. */
    readonly setTitle: (conversationId: Ids.ConversationId, title: string) => Effect.Effect<boolean, StorageError>
    /** The record of turns since a moment, in epoch milliseconds: the newest, at most `most` (X10). */
    readonly recording: (since: number, most: number) => Effect.Effect<Recording, StorageError>
    /** The labels of one turn. */
    readonly labelsOf: (turnId: Ids.TurnId) => Effect.Effect<Labels.Labels, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/Lists") {}
