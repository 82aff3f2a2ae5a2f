/** Reports periods from the database of this service (X12). */
import type { StorageError } from "@holdfast/journal"
import type { Ids, PeriodReport } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Option } from "effect"
import { Config } from "../../config/Config.ts"
import { ConversationNotFound } from "../../conversation/Conversations.ts"
import { Secrets } from "../../redaction/Secrets.ts"
import { AnsweredCalls } from "../../storage/AnsweredCalls.ts"
import { Journal } from "../../storage/EventJournal.ts"
import { Lists } from "../../storage/Lists.ts"
import { Store } from "../../storage/Store.ts"
import * as LocalTime from "../../text/LocalTime.ts"
import * as PeriodChoice from "./PeriodChoice.ts"
import * as PeriodRows from "./PeriodRows.ts"

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
      const choice = PeriodChoice.of(yield* Config, redact)
      const sources: PeriodRows.Sources = {
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
            PeriodRows.report(sources, periodOf(since ?? until - PeriodChoice.DEFAULT_LENGTH_MS, until))
          ),
        ofConversation: Effect.fn("PeriodReports.ofConversation")(function* (conversationId, since) {
          const until = yield* Clock.currentTimeMillis
          if (Option.isNone(yield* store.conversation(conversationId)))
            return yield* new ConversationNotFound({ conversationId })
          const begin = since ?? (yield* PeriodRows.beginning(sources.turns, conversationId)) ?? until
          return yield* PeriodRows.report(sources, { ...periodOf(begin, until), conversationId })
        })
      }
    })
  )
