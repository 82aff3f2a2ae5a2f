/**
 * Logs each failed turn: one line, at its seal.
 *
 * The retry log has the failures that were retried. A completed or aborted turn has no line here.
 */
import type { Observer } from "@holdfast/kernel"
import { defined, Failure, Target } from "@holdfast/wire"
import { type Context, Effect } from "effect"
import * as Prose from "../../text/Prose.ts"

/** Characters. A provider's message may be a page: the log has its beginning, and `explain` has all of it. */
export const LONGEST_MESSAGE = 1_000

/** The listener that logs, with the loggers of a context. */
export const observer = (redact: (text: string) => string, context: Context.Context<never>): Observer.Listeners => {
  const run = Effect.runSyncWith(context)
  return {
    seal: ({ conversationId, end, target, turnId }) => {
      const { attempts, error, status } = end
      if (status !== "failed") return
      const message = Prose.clip(redact(error?.message ?? "no error was recorded"), LONGEST_MESSAGE)
      const code = error && Failure.codeOf(error)
      run(
        Effect.annotateLogs(Effect.logWarning(`Turn failed: ${message}`), {
          conversation: conversationId,
          turn: turnId,
          target: Target.format(target),
          reason: error?.reason ?? "unknown",
          ...defined({ code: code && redact(code) }),
          attempts
        })
      )
    }
  }
}
