/**
 * Reads the turns of a period, page by page, and reports them (X12).
 *
 * PeriodRows.R1. A page is in memory, and what it adds to the report; never all turns.
 * PeriodRows.R2. Records are read of the turns that need them (`TurnUse.needsRecords`), and of no other.
 * PeriodRows.R3. Turns that have not ended are read first. A turn that ends meanwhile counts as not ended, and once.
 */
import type { StorageError } from "@holdfast/journal"
import type { Records } from "@holdfast/kernel"
import { History } from "@holdfast/kernel/host"
import { defined, type Ids, type PeriodReport } from "@holdfast/wire"
import { Effect } from "effect"
import type { AnsweredCalls } from "../../storage/AnsweredCalls.ts"
import type { Page, Position, TurnFilter, TurnRow } from "../../storage/Lists.ts"
import { type Period, PeriodTally } from "./PeriodTally.ts"
import * as TurnUse from "../TurnUse.ts"

/** Where the rows are from. */
export interface Sources {
  readonly turns: (
    filter: TurnFilter,
    after: Position | undefined,
    limit: number
  ) => Effect.Effect<Page<TurnRow>, StorageError>
  /** The calls through the gateway that were answered at once, between two moments in epoch milliseconds. */
  readonly answeredCalls: AnsweredCalls["Service"]["between"]
  /** The records of turns, in the order of the ids. */
  readonly records: (
    ids: ReadonlyArray<Ids.TurnId>
  ) => Effect.Effect<ReadonlyArray<ReadonlyArray<Records.Stored>>, StorageError>
}

/** Turns of one page. */
export const PAGE = 100

/** Reads and reports a period. */
export const report = Effect.fn("PeriodRows.report")(function* (
  { answeredCalls, records, turns }: Sources,
  period: Period
): Effect.fn.Return<PeriodReport.PeriodReport, StorageError> {
  const tally = new PeriodTally(period)
  const open = new Set<Ids.TurnId>()
  const { conversationId, since, until } = period
  const among = defined({ conversationId })
  for (const status of ["open", "completed", "failed", "aborted"] as const) {
    let position: Position | undefined
    do {
      const page = yield* turns({ ...among, status, ...(status === "open" ? undefined : { since }) }, position, PAGE)
      const rows = page.rows.filter(({ turn }) => !open.has(turn.turnId) && (turn.end?.endedAt ?? 0) <= until) // PeriodRows.R3
      const needing = rows.filter(TurnUse.needsRecords) // PeriodRows.R2
      const found = needing.length === 0 ? [] : yield* records(needing.map(({ turn }) => turn.turnId))
      const histories = new Map(needing.map(({ turn }, i) => [turn.turnId, History.of(found[i] ?? [])]))
      for (const row of rows) {
        if (status === "open") open.add(row.turn.turnId)
        tally.add(row, histories.get(row.turn.turnId) ?? NO_RECORDS)
      }
      position = page.next
    } while (position !== undefined)
  }
  // They belong to no conversation.
  if (conversationId === undefined) tally.addAnswered(yield* answeredCalls(since, until))
  return tally.report()
})

/** When the first turn of a conversation was accepted, in epoch milliseconds; absent: it has none. */
export const beginning = Effect.fnUntraced(function* (
  turns: Sources["turns"],
  conversationId: Ids.ConversationId
): Effect.fn.Return<number | undefined, StorageError> {
  let first: number | undefined
  let position: Position | undefined
  do {
    const page = yield* turns({ conversationId }, position, PAGE)
    first = page.rows.at(-1)?.turn.acceptedAt ?? first
    position = page.next
  } while (position !== undefined)
  return first
})

// --- internal

const NO_RECORDS = History.of([])
