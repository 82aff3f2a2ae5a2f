/**
 * Logs each failed turn: one line, at its seal.
 *
 * The retry log has the failures that were retried. A completed or aborted turn has no line here.
 */
import type { Observer } from "@holdfast/kernel"
import { type Failure, Target, type TurnState } from "@holdfast/wire"
import { type Context, Effect } from "effect"
import * as TurnReport from "../../../insight/inspection/TurnReport.ts"
import * as Prose from "../../../base/text/Prose.ts"

/** Characters. A provider's message may be a page: the log has its beginning, and `explain` has all of it. */
export const LONGEST_MESSAGE = 1_000

/** The listener that logs, with the loggers of a context. */
export const observer = (redact: (text: string) => string, context: Context.Context<never>): Observer.Listeners => {
  const run = Effect.runSyncWith(context)
  return {
    seal: ({ conversationId, end, target, turnId }) => {
      if (end.status !== "failed") return
      const { message, ...error } = errorOf(end.error, redact)
      run(
        Effect.annotateLogs(Effect.logWarning(`Turn failed: ${message}`), {
          conversation: conversationId,
          turn: turnId,
          target: Target.format(target),
          ...error,
          attempts: end.attempts
        })
      )
    }
  }
}

/** The error of a turn for a person, without secrets, its message cut. */
export const errorOf = (
  failure: Failure.Failure = { reason: "unknown", message: "no error was recorded", retryable: false },
  redact: (text: string) => string
): TurnState.TurnError => {
  const error = TurnReport.errorOf(failure, redact)
  return { ...error, message: Prose.clip(error.message, LONGEST_MESSAGE) }
}
