/**
 * `holdfast chat`: a conversation in the terminal, of the running service, or of a service in this process.
 *
 * Its own service (`NearService`) runs until the terminal is left. Its log goes to a file beside the database, because the screen is taken. The terminal's program is loaded by this
 * command alone: no other command starts slower for it.
 */
import { Ids } from "@holdfast/wire"
import { Effect, Option, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import type { Values } from "../../config/Config.ts"
import * as ExplanationText from "../../inspection/ExplanationText.ts"
import * as PeriodText from "../../inspection/period/PeriodText.ts"
import * as LocalTime from "../../text/LocalTime.ts"
import { Ended, Refused } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import * as Setup from "../Setup.ts"
import * as Signals from "../Signals.ts"
import { paint, Terminal } from "../terminal/Terminal.ts"
import * as NearService from "./NearService.ts"
import * as Service from "./Service.ts"

/** The command `chat`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "chat",
    {
      conversation: Flag.String("conversation").pipe(
        Flag.withMetavar("ID"),
        Flag.withDescription("Conversation to go on with"),
        Flag.optional
      ),
      continue: Flag.Boolean("continue").pipe(
        Flag.withDescription("Go on with the newest conversation"),
        Flag.withDefault(false)
      ),
      model: Service.modelFlag,
      plain: Flag.Boolean("plain").pipe(
        Flag.withDescription("Write line by line and repaint nothing, for screen readers"),
        Flag.withDefault(false)
      ),
      ...Service.flags
    },
    (flags) =>
      Setup.withConfig(parts, { file: Option.getOrUndefined(flags.config) }, (config) =>
        converse(parts, flags, config).pipe(Service.inWords, Effect.scoped, Effect.provide(Signals.layer))
      )
  ).pipe(
    Command.withDescription(
      "Converse in the terminal, through outages. Attaches to the running service, or runs one until it is left. A turn that waits can be left, and come back to. Exit codes: 0 left, 1 failed, 2 usage or configuration, 130 ended by a signal"
    ),
    Command.withShortDescription("Converse in the terminal, through outages"),
    Command.withExamples([
      { command: "holdfast chat", description: "A new conversation" },
      { command: "holdfast chat --continue", description: "The newest one, with its wait if it waits" },
      { command: "holdfast chat --plain", description: "Line by line, for screen readers" }
    ])
  )

// --- internal

interface Flags {
  readonly conversation: Option.Option<string>
  readonly continue: boolean
  readonly model: Option.Option<string>
  readonly plain: boolean
  readonly url: Option.Option<string>
  readonly config: Option.Option<string>
}

const converse = Effect.fnUntraced(function* <E extends StartFailure>(parts: Parts<E>, flags: Flags, config: Values) {
  const terminal = yield* Terminal
  const signals = yield* Signals.Signals
  const { address, isOwn } = yield* NearService.find(
    parts,
    flags.url,
    config,
    NearService.logged(parts, terminal, "chat.log"),
    true
  )
  const conversationId = yield* conversationOf(flags, yield* Service.connect(address))
  const program = yield* Effect.promise(load)
  const leaving = new AbortController()
  const opened = Effect.tryPromise({
    try: () =>
      program.open({
        ...address,
        conversationId,
        model: Option.getOrUndefined(flags.model),
        isPlain: flags.plain || !terminal.canRepaint || process.stdin.isTTY !== true,
        hasColors: terminal.colors.stdout,
        reportLines: PeriodText.lines,
        explanationLines: (explanation) =>
          ExplanationText.lines(explanation, { timeZone: LocalTime.here(), columns: terminal.columns() }),
        signal: leaving.signal
      }),
    catch: (error) => error
  }).pipe(Effect.orDie)
  const signalled = Effect.andThen(
    signals.first,
    Effect.sync(() => leaving.abort())
  )
  const ended = yield* Effect.raceFirst(
    Effect.map(opened, (left) => ({ left, isSignalled: leaving.signal.aborted })),
    Effect.andThen(signalled, Effect.never)
  )
  const { isSignalled, left } = ended
  if (left.conversationId !== undefined) {
    const back = `holdfast chat --conversation ${left.conversationId}`
    const words = left.isBusy
      ? isOwn
        ? `The turn is on disk. It goes on with \`${back}\`, or with \`holdfast serve\`.`
        : `The turn goes on. \`${back}\` comes back to it.`
      : `\`${back}\` goes on with it.`
    terminal.stderr(`${paint(terminal.colors.stderr, "dim", words)}\n`)
    if (left.isBusy && isOwn) {
      const stopping = "An answer that has begun may finish; Ctrl-C twice does not wait for it."
      terminal.stderr(`${paint(terminal.colors.stderr, "dim", stopping)}\n`)
    }
  }
  if (isSignalled) return yield* new Ended({ exitCode: ExitCode.ABORTED })
})

/** The conversation that the flags name. A mistake is reported before the screen is taken. */
const conversationOf = Effect.fnUntraced(function* (flags: Flags, client: Service.Client) {
  const given = Option.getOrUndefined(flags.conversation)
  if (given !== undefined) {
    if (!Ids.ID_PATTERN.test(given)) {
      return yield* new Refused({
        message: `--conversation: expected 1 to 64 letters, digits, "_" or "-".`,
        exitCode: ExitCode.USAGE
      })
    }
    yield* client.conversation(given).getState
    return given
  }
  if (!flags.continue) return undefined
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
