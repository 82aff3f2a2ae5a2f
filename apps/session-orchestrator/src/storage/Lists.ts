/**
 * Lists turns and conversations, read page by page, newest first (X15).
 *
 * - A page costs what its own rows cost, however many there are: it is read by an index from a position on.
 * - A position is the order and the number of a row. What is added later comes before every position, so no row comes twice.
 * - A filter that no index answers is applied to 1,000 rows at most, and to no more once that took 20 ms (`tables/Keyset`). Then the page ends,
 *   with the position that it came to.
 */
import type { StorageError } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import type { SqlDatabase } from "@holdfast/journal/sql"
import { Context, Effect, Option, Stream } from "effect"
import * as Recording from "./Recording.ts"
import type { ConversationFilter, ConversationRow, Page, Position, TurnFilter, TurnRow } from "./ListPage.ts"
import * as ConversationListTable from "./tables/ConversationListTable.ts"
import * as TurnListTable from "./tables/TurnListTable.ts"

/** The rows of all pages; each page is one array of the stream. */
export const rowsOf = <Row>(
  page: (after: Position | undefined) => Effect.Effect<Page<Row>, StorageError>
): Stream.Stream<Row, StorageError> =>
  Stream.paginate<Position | undefined, Row, StorageError>(undefined, (after) =>
    Effect.map(page(after), ({ next, rows }) => [rows, Option.fromUndefinedOr(next)] as const)
  )

/** The lists of a database. */
export class Lists extends Context.Service<Lists, ReturnType<typeof make>>()(
  "@holdfast/session-orchestrator/storage/Lists"
) {}

/** The lists over a database. */
export const make = ({ read, sql }: SqlDatabase.SqlDatabase) => ({
  /** Turns behind a position (`undefined`: the newest), at most `limit`. */
  turns: (filter: TurnFilter, after: Position | undefined, limit: number): Effect.Effect<Page<TurnRow>, StorageError> =>
    TurnListTable.page(sql, filter, after, limit).pipe(read("a list of turns")),
  /** Conversations behind a position, at most `limit`. */
  conversations: (
    filter: ConversationFilter,
    after: Position | undefined,
    limit: number
  ): Effect.Effect<Page<ConversationRow>, StorageError> =>
    ConversationListTable.page(sql, filter, after, limit).pipe(read("a list of conversations")),
  /** What a dry run replays: the newest turns since a moment (epoch milliseconds), at most `most`, each with its records (X10). */
  recording: (since: number, most: number) => Recording.read(sql, since, most).pipe(read("the record of turns")),
  /** The labels of one turn. */
  labelsOf: (turnId: Ids.TurnId) => TurnListTable.labelsOf(sql, turnId).pipe(read(`the labels of turn ${turnId}`))
})
