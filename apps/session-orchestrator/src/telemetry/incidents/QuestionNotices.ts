/**
 * Puts one notice per question to a person into the outbox (rule X12).
 *
 * A turn reports and continues. A process that is killed before the write loses the notice; the report has the question.
 */
import type { StorageError } from "@holdfast/journal"
import type { Observer } from "@holdfast/kernel"
import { Effect, Queue, Schedule } from "effect"
import * as QuestionNotice from "../../delivery/QuestionNotice.ts"
import type { NewMessage } from "../../storage/Outbox.ts"

/** The questions that turns of this process ask. */
export interface Questions {
  readonly listeners: Observer.Listeners
  readonly next: Effect.Effect<QuestionNotice.Question>
}

/** Questions that are kept while the database is away. */
const MOST_KEPT = 10_000

/** Makes the listeners of turns. */
export const make: Effect.Effect<Questions> = Effect.map(
  Queue.sliding<QuestionNotice.Question>(MOST_KEPT),
  (queue) => ({
    listeners: {
      event: ({ event }) => {
        if (event.type !== "provider-retry" || event.asks === undefined) return
        Queue.offerUnsafe(queue, { event, asks: event.asks })
      }
    },
    next: Queue.take(queue)
  })
)

/** Writes notices, without end. */
export const run = (
  { next }: Questions,
  {
    add,
    ...options
  }: QuestionNotice.Options & {
    readonly add: (messages: ReadonlyArray<NewMessage>) => Effect.Effect<void, StorageError>
  }
): Effect.Effect<never> =>
  Effect.forever(
    Effect.flatMap(next, (question) =>
      add(QuestionNotice.messagesOf(question, options)).pipe(
        Effect.tapError(({ message }) => Effect.logError(`A question is not in the outbox yet. ${message}`)),
        Effect.retry(Schedule.spaced("5 seconds")),
        Effect.orDie
      )
    )
  )
