/**
 * Reads the turns of a period, page by page, and reports them (X12).
 *
 * PeriodReports.R1. Turns that have not ended are read first. A turn that ends meanwhile counts as not ended, and once.
 */
import type { StorageError } from "@holdfast/journal"
import { defined, type Ids, type PeriodReport } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Option } from "effect"
import { Config } from "../../../config/Config.ts"
import { ConversationNotFound } from "../../../engine/conversation/Conversations.ts"
import { Secrets } from "../../../config/redaction/Secrets.ts"
import { AnsweredCalls } from "../../../storage/AnsweredCalls.ts"
import { Lists } from "../../../storage/Lists.ts"
import { Store } from "../../../storage/Store.ts"
import { TurnLog } from "../../../storage/TurnLog.ts"
import * as LocalTime from "../../../base/text/LocalTime.ts"
import * as TurnUse from "../../../engine/spend/TurnUse.ts"
import { type Period, PeriodTally } from "./PeriodTally.ts"
import * as Remedies from "./Remedies.ts"

/** The length of a period, if none is asked for: a night. */
const DEFAULT_LENGTH_MS = 12 * 3_600_000

/** The reports of a database. */
export class PeriodReports extends Context.Service<PeriodReports, Effect.Success<typeof make>>()(
  "@holdfast/session-orchestrator/inspection/PeriodReports"
) {}

const make = Effect.gen(function* () {
  const store = yield* Store
  const ports = { lists: yield* Lists, log: yield* TurnLog, answered: yield* AnsweredCalls }
  const { prices, providers } = yield* Config
  const { redact } = yield* Secrets
  const settings = { prices, redact, keyVariables: Remedies.keyVariablesOf(providers) }
  const periodOf = (since: number, until: number) => ({
    ...settings,
    since: Math.min(since, until),
    until,
    timeZone: LocalTime.here()
  })
  return {
    /** Reports the time from `since` to `until` (epoch milliseconds); absent: the twelve hours before it, and now. */
    report: (since?: number, end?: number) =>
      Effect.flatMap(end === undefined ? Clock.currentTimeMillis : Effect.succeed(end), (until) =>
        read(ports, periodOf(since ?? until - DEFAULT_LENGTH_MS, until))
      ),
    /** Reports the turns of one conversation from `since` until now; absent: since its beginning. */
    ofConversation: Effect.fn("PeriodReports.ofConversation")(function* (
      conversationId: Ids.ConversationId,
      since?: number
    ) {
      const until = yield* Clock.currentTimeMillis
      const found = yield* store.conversation(conversationId)
      if (Option.isNone(found)) return yield* new ConversationNotFound({ conversationId })
      return yield* read(ports, { ...periodOf(since ?? found.value.createdAt, until), conversationId })
    })
  }
})

/** Over what is on disk. */
export const layer = Layer.effect(PeriodReports, make)

/** Reads and reports a period. */
export const read = Effect.fn("PeriodReports.read")(function* (
  { answered, ...sources }: TurnUse.Sources & { readonly answered: Pick<AnsweredCalls["Service"], "between"> },
  period: Period
): Effect.fn.Return<PeriodReport.PeriodReport, StorageError> {
  const tally = new PeriodTally(period)
  const open = new Set<Ids.TurnId>()
  const { conversationId, since, until } = period
  for (const status of ["open", "completed", "failed", "aborted"] as const) {
    const filter = { ...defined({ conversationId }), status, ...(status === "open" ? undefined : { since }) }
    yield* TurnUse.read(
      sources,
      filter,
      (row, history) => {
        if (status === "open") open.add(row.turn.turnId)
        tally.add(row, history)
      },
      ({ turn }) => !open.has(turn.turnId) && (turn.end?.endedAt ?? 0) <= until // PeriodReports.R1
    )
  }
  // They belong to no conversation.
  if (conversationId === undefined) tally.addAnswered(yield* answered.between(since, until))
  return tally.report()
})
