/**
 * Reads the turns of a period, page by page, and reports them (X12).
 *
 * A page is in memory, and what it adds to the report; never all turns. Records are read of the turns that need them
 * (`TurnUse.needsRecords`), and of no other.
 *
 * PeriodReports.R1. Turns that have not ended are read first. A turn that ends meanwhile counts as not ended, and once.
 */
import type { StorageError } from "@holdfast/journal"
import type { Records } from "@holdfast/kernel"
import { History } from "@holdfast/kernel/host"
import { defined, type Ids, type PeriodReport } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Option } from "effect"
import { Config, type Values } from "../../config/Config.ts"
import { ConversationNotFound } from "../../conversation/Conversations.ts"
import { Secrets } from "../../redaction/Secrets.ts"
import { AnsweredCalls } from "../../storage/AnsweredCalls.ts"
import { Journal } from "../../storage/EventJournal.ts"
import { Lists, type Position } from "../../storage/Lists.ts"
import { Store } from "../../storage/Store.ts"
import * as LocalTime from "../../text/LocalTime.ts"
import * as TurnUse from "../TurnUse.ts"
import { type Period, PeriodTally } from "./PeriodTally.ts"

/** Where the rows are from. */
export interface Sources {
  readonly turns: Lists["Service"]["turns"]
  /** The calls through the gateway that were answered at once, between two moments in epoch milliseconds. */
  readonly answeredCalls: AnsweredCalls["Service"]["between"]
  /** The records of turns, in the order of the ids. */
  readonly records: (
    ids: ReadonlyArray<Ids.TurnId>
  ) => Effect.Effect<ReadonlyArray<ReadonlyArray<Records.Stored>>, StorageError>
}

/** Turns of one page. */
export const PAGE = 100

/** The length of a period, if none is asked for: a night. */
export const DEFAULT_LENGTH_MS = 12 * 3_600_000

/** The reports of a service. */
export class PeriodReports extends Context.Service<
  PeriodReports,
  {
    /** Reports the time from `since` to `until` (epoch milliseconds); absent: the twelve hours before it, and now. */
    readonly report: (since?: number, until?: number) => Effect.Effect<PeriodReport.PeriodReport, StorageError>
    /** Reports the turns of one conversation from `since` until now; absent: since its beginning. */
    readonly ofConversation: (
      conversationId: Ids.ConversationId,
      since?: number
    ) => Effect.Effect<PeriodReport.PeriodReport, ConversationNotFound | StorageError>
  }
>()("@holdfast/session-orchestrator/inspection/PeriodReports") {}

/** Over what is on disk. */
export const layer: Layer.Layer<PeriodReports, never, Config | Secrets | Lists | Journal | Store | AnsweredCalls> =
  Layer.effect(
    PeriodReports,
    Effect.gen(function* () {
      const lists = yield* Lists
      const journal = yield* Journal
      const store = yield* Store
      const { between } = yield* AnsweredCalls
      const { redact } = yield* Secrets
      const choice = settingsOf(yield* Config, redact)
      const sources: Sources = {
        turns: lists.turns,
        answeredCalls: between,
        records: (ids) => Effect.forEach(ids, journal.load, { concurrency: "unbounded" })
      }
      const periodOf = (since: number, until: number) => ({
        ...choice,
        since: Math.min(since, until),
        until,
        timeZone: LocalTime.here()
      })
      return {
        report: (since, end) =>
          Effect.flatMap(end === undefined ? Clock.currentTimeMillis : Effect.succeed(end), (until) =>
            read(sources, periodOf(since ?? until - DEFAULT_LENGTH_MS, until))
          ),
        ofConversation: Effect.fn("PeriodReports.ofConversation")(function* (conversationId, since) {
          const until = yield* Clock.currentTimeMillis
          if (Option.isNone(yield* store.conversation(conversationId)))
            return yield* new ConversationNotFound({ conversationId })
          const begin = since ?? (yield* beginning(sources.turns, conversationId)) ?? until
          return yield* read(sources, { ...periodOf(begin, until), conversationId })
        })
      }
    })
  )

/** Reads and reports a period. */
export const read = Effect.fn("PeriodReports.read")(function* (
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
      const rows = page.rows.filter(({ turn }) => !open.has(turn.turnId) && (turn.end?.endedAt ?? 0) <= until) // PeriodReports.R1
      const needing = rows.filter(TurnUse.needsRecords)
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

/** The settings that a report takes from the configuration. */
export const settingsOf = (
  { prices, providers }: Pick<Values, "prices" | "providers">,
  redact: (text: string) => string
): Pick<Period, "prices" | "keyVariables" | "redact"> => ({
  prices,
  redact,
  keyVariables: (name) => {
    const provider = providers.get(name)
    return provider === undefined || provider.type === "simulated" ? [] : provider.apiKeyEnv
  }
})

// --- internal

const NO_RECORDS = History.of([])
