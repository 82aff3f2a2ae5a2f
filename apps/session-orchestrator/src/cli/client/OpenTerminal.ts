/**
 * `holdfast chat`: a conversation in the terminal, of the running service, or of a service in this process.
 *
 * Its own service (`NearService`) runs until the terminal is left. Its log goes to a file beside the database, because the screen is taken. The terminal's program is loaded by this
 * command alone: no other command starts slower for it.
 */
import { Effect, Option, Stream } from "effect"
import * as ExplanationText from "../../insight/inspection/ExplanationText.ts"
import * as PeriodText from "../../insight/inspection/period/PeriodText.ts"
import * as LocalTime from "../../base/text/LocalTime.ts"
import * as Declaration from "../Declaration.ts"
import { Ended, ExitCode } from "../Ended.ts"
import * as Setup from "../Setup.ts"
import * as Signals from "../Signals.ts"
import { note, Terminal } from "../terminal/Terminal.ts"
import * as NearService from "./NearService.ts"
import * as RunningService from "./RunningService.ts"

/** The command `chat`. */
export const command = Setup.command(
  {
    name: "chat",
    does: "Converse in the terminal, through outages. Attaches to the running service, or runs one until it is left. A turn that waits can be left, and come back to. Exit codes: 0 left, 1 failed, 2 usage or configuration, 130 ended by a signal",
    short: "Converse in the terminal, through outages",
    options: {
      conversation: Declaration.conversation("Conversation to go on with"),
      continue: Declaration.toggle("continue", "Go on with the newest conversation"),
      model: RunningService.modelFlag,
      plain: Declaration.toggle("plain", "Write line by line and repaint nothing, for screen readers"),
      url: RunningService.flags.url
    },
    examples: {
      "holdfast chat": "A new conversation",
      "holdfast chat --continue": "The newest one, with its wait if it waits",
      "holdfast chat --plain": "Line by line, for screen readers"
    }
  },
  Effect.fnUntraced(
    function* (given, config, parts) {
      const terminal = yield* Terminal
      const signals = yield* Signals.Signals
      const logged = NearService.logged(parts, terminal, "chat.log")
      const { address, fetch, isOwn } = yield* NearService.follow(parts, given.url, config, logged, true)
      // A mistake is reported before the screen is taken.
      const conversationId = yield* conversationOf(given, yield* RunningService.connect(address))
      const program = yield* Effect.promise(load)
      const leaving = new AbortController()
      yield* Effect.forkScoped(
        Effect.andThen(
          signals.first,
          Effect.sync(() => leaving.abort())
        )
      )
      const left = yield* Effect.promise(() =>
        program.open({
          ...address,
          fetch,
          conversationId,
          model: given.model,
          isPlain: given.plain || !terminal.canRepaint || process.stdin.isTTY !== true,
          hasColors: terminal.colors.stdout,
          reportLines: PeriodText.lines,
          explanationLines: (explanation) =>
            ExplanationText.lines(explanation, {
              timeZone: LocalTime.here(),
              columns: terminal.columns(),
              now: Date.now()
            }),
          signal: leaving.signal
        })
      )
      if (left.conversationId !== undefined) {
        const back = `holdfast chat --conversation ${left.conversationId}`
        const words = left.isBusy
          ? isOwn
            ? `The turn is on disk. It goes on with \`${back}\`, or with \`holdfast serve\`.`
            : `The turn goes on. \`${back}\` comes back to it.`
          : `\`${back}\` goes on with it.`
        note(terminal, "dim", words)
        if (left.isBusy && isOwn)
          note(terminal, "dim", "An answer that has begun may finish; Ctrl-C twice does not wait for it.")
      }
      yield* Ended.by(leaving.signal.aborted ? ExitCode.ABORTED : ExitCode.COMPLETED)
    },
    RunningService.inWords,
    Effect.scoped,
    Effect.provide(Signals.layer)
  )
)

// --- internal

/** The conversation that the flags name. */
const conversationOf = Effect.fnUntraced(function* (
  { conversation, continue: isNewest }: { readonly conversation: string | undefined; readonly continue: boolean },
  client: RunningService.ServiceClient
) {
  if (conversation !== undefined) return (yield* client.conversation(conversation).getState).conversationId
  if (!isNewest) return undefined
  const newest = yield* Stream.runHead(client.listConversations({ limit: 1 }))
  return Option.getOrUndefined(newest)?.conversationId
})

/** React reads `NODE_ENV` as it is loaded: its version for developers is many times slower. Tools that are started later do not get it. */
const load = async () => {
  const before = process.env["NODE_ENV"]
  process.env["NODE_ENV"] = "production"
  try {
    return await import("@holdfast/terminal")
  } finally {
    if (before === undefined) delete process.env["NODE_ENV"]
    else process.env["NODE_ENV"] = before
  }
}
