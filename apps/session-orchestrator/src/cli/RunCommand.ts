/**
 * Runs `holdfast run "prompt"`: one turn of the service near it (`NearService`), shown in the terminal.
 *
 * Standard output has the answer and nothing else, or, with `--json`, the events and nothing else. Ctrl-C aborts the turn and waits for
 * its seal; a second Ctrl-C does not wait. The exit code reports the turn's status.
 */
import type { Connection } from "@holdfast/client"
import type { Conversation } from "@holdfast/client/effect"
import type { Ids, Prompt, TurnEvent } from "@holdfast/wire"
import { Clock, Deferred, Effect, Option, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as TurnIds from "../storage/TurnIds.ts"
import * as Prose from "../text/Prose.ts"
import { Ended } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import * as Keyboard from "./terminal/Keyboard.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as Attachments from "./Attachments.ts"
import * as RunInput from "./RunInput.ts"
import * as Screen from "./terminal/Screen.ts"
import * as Setup from "./Setup.ts"
import * as Signals from "./Signals.ts"
import { Terminal } from "./terminal/Terminal.ts"
import * as NearService from "./client/NearService.ts"
import * as Service from "./client/Service.ts"
import * as WantedConversation from "./WantedConversation.ts"
import * as TurnView from "./terminal/TurnView.ts"

/** The command `run`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "run",
    {
      prompt: Argument.String("prompt").pipe(
        Argument.withDescription("What to ask; - or nothing reads it from standard input"),
        Argument.optional
      ),
      json: Flag.Boolean("json").pipe(
        Flag.withDescription("Print the turn's events, one JSON object a line, instead of the answer"),
        Flag.withDefault(false)
      ),
      attach: Attachments.flag,
      ...RunInput.flags,
      ...Service.flags
    },
    (flags) => {
      const model = Option.getOrUndefined(flags.model)
      const profile = Option.getOrUndefined(flags.profile)
      const isNamed = NearService.isNamed(flags.url, parts.environment)
      return Setup.withConfig(
        parts,
        { file: Option.getOrUndefined(flags.config), flags: isNamed ? {} : { model, profile } },
        (config) =>
          Effect.gen(function* () {
            const place = yield* RunInput.readOptions(flags, config.database.url !== undefined && !isNamed)
            const text = yield* RunInput.readPrompt(Option.getOrUndefined(flags.prompt))
            const prompt = yield* Attachments.add(text, flags.attach, config.server)
            const client = yield* NearService.connect(parts, flags.url, config)
            const wanted = { ...place, isNamed, model, profile }
            const conversation = yield* WantedConversation.open(parts, client, wanted, place.turnId)
            const turnId = place.turnId ?? TurnIds.make()
            yield* watch(conversation, { isJson: flags.json, prompt, turnId })
          }).pipe(Service.inWords, Effect.scoped, Effect.provide(Signals.layer))
      )
    }
  ).pipe(
    Command.withDescription(
      "Ask one thing and stream the answer, however long the provider is down. Exit codes: 0 answered, 1 failed, 2 usage or configuration, 130 aborted"
    ),
    Command.withShortDescription("Ask one thing and stream the answer"),
    Command.withExamples([
      { command: 'holdfast run "Why is the sky blue?"', description: "Ask, and watch" },
      { command: "git diff | holdfast run - > review.md", description: "Prompt from a pipe, answer into a file" },
      { command: 'holdfast run "What does it show?" --attach chart.png', description: "With an image" },
      { command: 'holdfast run --json "Hello" | jq .type', description: "The turn's events" },
      { command: 'holdfast run --conversation ID "And at night?"', description: "Continue a conversation" }
    ])
  )

/** The events of a turn; each change of the connection is reported. */
export type Events = (options: {
  readonly onConnection: (connection: Connection) => void
}) => Stream.Stream<TurnEvent.TurnEvent, StartFailure>

/** A turn to show: its frames, the terminal, and how to end it. */
interface Showing {
  readonly events: Events
  readonly terminal: Terminal["Service"]
  /** Ends when the person wants the turn to end. */
  readonly interrupted: Effect.Effect<unknown>
  /** Asks for that end. */
  readonly abort: Effect.Effect<unknown, StartFailure>
  readonly timeOfDay: (epochMs: number) => string
  /** Held while the turn waits; otherwise typed keys would appear in the output. */
  readonly keyboard?: Keyboard.Keyboard
  /** The first line, once the service has the turn: it names it, for `holdfast explain`. */
  readonly head?: string
  /** What Ctrl-C does, below a countdown; by default it aborts. */
  readonly advice?: string
}

/** Shows a turn until it ends, and returns its end. */
export const show = Effect.fnUntraced(function* (showing: Showing) {
  const { head, keyboard = Keyboard.none, terminal } = showing
  const screen = Screen.make(terminal)
  const plain = makePlainWaits(showing)
  let state = TurnView.initial
  const apply = ([next, outputs]: ReturnType<typeof TurnView.update>): void => {
    state = next
    // Without repainting, a wait had its line when it began.
    screen.write(
      terminal.canRepaint ? outputs : outputs.filter((output) => output._tag === "Answer" || output.tone !== "wait")
    )
  }
  const repaint = (now: number): void => {
    if (terminal.canRepaint) {
      // Typed keys would break the repainted lines.
      if (state.wait === undefined) keyboard.release()
      else keyboard.hold()
      screen.show(
        TurnView.view(state, now, { columns: terminal.columns(), timeOfDay: showing.timeOfDay, advice: showing.advice })
      )
    } else plain(state.wait, now)
  }

  let isNamed = head === undefined
  const named = ({ state }: Connection) => {
    if (state === "open" && !isNamed) screen.write([{ _tag: "Line", tone: "aside", text: head ?? "" }])
    isNamed ||= state === "open"
  }

  const ticks = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    repaint(now)
    yield* Effect.sleep(TurnView.untilChange(state, now))
  }).pipe(Effect.forever)

  const abort = Effect.gen(function* () {
    yield* showing.interrupted
    apply(TurnView.aborting(state))
    yield* showing.abort
    return yield* Effect.never
  })

  const watch = Stream.runForEach(showing.events({ onConnection: named }), (event) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      apply(TurnView.update(state, event))
      repaint(now)
    })
  )

  yield* Effect.ensuring(
    Effect.raceFirst(watch, Effect.raceFirst(ticks, abort)),
    Effect.sync(() => {
      keyboard.release()
      screen.close()
    })
  )
  return state.end
})

/** The exit code of a turn that was shown. */
export const exitCodeOf = (end: TurnEvent.TurnEnd | undefined): ExitCode.ExitCode => {
  if (end?.status === "completed") return ExitCode.COMPLETED
  return end?.status === "aborted" ? ExitCode.ABORTED : ExitCode.FAILED
}

/** Events as they are, for programs. */
export const printEvents = Effect.fnUntraced(function* (
  events: Events,
  terminal: Terminal["Service"],
  interrupted: Effect.Effect<unknown>,
  abort: Effect.Effect<unknown, StartFailure>
) {
  const end = yield* Deferred.make<TurnEvent.TurnEnd>()
  const watch = Stream.runForEach(events({ onConnection: () => {} }), (event) => {
    terminal.stdout(`${Prose.inJson(JSON.stringify(event))}\n`)
    return event.type === "turn-end" ? Deferred.succeed(end, event) : Effect.void
  })
  yield* Effect.raceFirst(watch, Effect.andThen(interrupted, Effect.andThen(abort, Effect.never)))
  return Option.getOrUndefined(yield* Effect.option(Effect.flatten(Effect.fromOption(yield* Deferred.poll(end)))))
})

/** As people here write it. */
export const timeOfDay = (epochMs: number): string => new Date(epochMs).toTimeString().slice(0, 8)

// --- internal

/** Runs a turn in its conversation and shows it to its end; Ctrl-C aborts it. */
const watch = Effect.fnUntraced(function* (
  { id, run, turn }: Conversation,
  { isJson, prompt, turnId }: { readonly isJson: boolean; readonly prompt: Prompt.Prompt; readonly turnId: Ids.TurnId }
) {
  const terminal = yield* Terminal
  const signals = yield* Signals.Signals
  const events: Events = (options) => run(prompt, { ...options, turnId })
  const { abort } = turn(turnId)
  const end = isJson
    ? yield* printEvents(events, terminal, signals.first, abort)
    : yield* show({
        events,
        terminal,
        interrupted: signals.first,
        abort,
        timeOfDay,
        keyboard: Keyboard.ofProcess(),
        head: `Turn ${turnId} of conversation ${id}.`
      })
  const exitCode = exitCodeOf(end)
  if (exitCode !== ExitCode.COMPLETED) return yield* new Ended({ exitCode })
})

/** Prints a line when a wait begins, and reminders, on standard error. */
const makePlainWaits = ({ terminal, timeOfDay }: Showing) => {
  let shown: { readonly wait: TurnEvent.ProviderRetry; readonly left: number } | undefined
  return (wait: TurnEvent.ProviderRetry | undefined, now: number): void => {
    if (wait === undefined) return
    const line = TurnView.plainLine(wait, now, shown?.wait === wait ? shown.left : undefined, timeOfDay)
    if (line === undefined) return
    shown = { wait, left: TurnView.timeLeft(wait, now) }
    terminal.stderr(`${line}\n`)
  }
}
