/**
 * Runs `holdfast run "prompt"`: one turn of the service near it (`NearService`), shown in the terminal.
 *
 * Standard output has the answer and nothing else, or, with `--json`, the events and nothing else. Ctrl-C aborts the turn and waits for
 * its seal; a second Ctrl-C does not wait. The exit code reports the turn's status.
 */
import type { Connection } from "@holdfast/client"
import type { TurnEvent } from "@holdfast/wire"
import { Clock, Deferred, Effect, Stream } from "effect"
import * as Remedies from "../insight/inspection/period/Remedies.ts"
import * as NewId from "../storage/NewId.ts"
import * as Declaration from "./Declaration.ts"
import { Ended, ExitCode } from "./Ended.ts"
import * as RunInput from "./RunInput.ts"
import * as TurnScreen from "./terminal/TurnScreen.ts"
import * as Signals from "./Signals.ts"
import { note, Terminal, writeJson } from "./terminal/Terminal.ts"
import * as NearService from "./client/NearService.ts"
import * as WantedConversation from "./WantedConversation.ts"
import * as TurnView from "./terminal/TurnView.ts"

/** The command `run`. */
export const command = NearService.command(
  {
    name: "run",
    does: "Ask one thing and stream the answer, however long the provider is down. Exit codes: 0 answered, 1 failed, 2 usage or configuration, 130 aborted",
    short: "Ask one thing and stream the answer",
    options: {
      prompt: RunInput.prompt,
      json: Declaration.events,
      attach: RunInput.attach,
      conversation: Declaration.conversation("Conversation of the database to continue"),
      turnId: Declaration.parsed("turn-id", "ID", "The turn's id: the same id again is the same turn", Declaration.TURN)
    },
    examples: {
      'holdfast run "Why is the sky blue?"': "Ask, and watch",
      "git diff | holdfast run - > review.md": "Prompt from a pipe, answer into a file",
      'holdfast run "What does it show?" --attach chart.png': "With an image",
      'holdfast run --json "Hello" | jq .type': "The turn's events",
      'holdfast run --conversation ID "And at night?"': "Continue a conversation"
    }
  },
  Effect.fnUntraced(function* (given, near) {
    const terminal = yield* Terminal
    const { first: interrupted } = yield* Signals.Signals
    const text = yield* RunInput.readPrompt(given.prompt)
    const prompt = yield* RunInput.addFiles(text, given.attach, near.config.server)
    // Before the turn is sent there is nothing to abort.
    const { conversation, known } = yield* Effect.raceFirst(
      WantedConversation.open(near, given),
      Effect.andThen(interrupted, Effect.fail(new Ended({ exitCode: ExitCode.ABORTED })))
    )
    const turnId = given.turnId ?? NewId.turn()
    const { abort, getState } = conversation.turn(turnId)
    const goes = known?.endedAt === undefined ? "goes on where it is" : "has ended"
    const taken = Deferred.makeUnsafe<void>()
    const end = yield* (given.json ? printEvents : show)({
      events: ({ onConnection }) =>
        conversation.run(prompt, {
          turnId,
          onConnection: (connection) => {
            if (connection.state === "open") Deferred.doneUnsafe(taken, Effect.void)
            onConnection(connection)
          }
        }),
      terminal,
      interrupted,
      // An abort that came before its turn would find none, and the turn would run on.
      abort: Effect.andThen(Deferred.await(taken), abort),
      head: `Turn ${turnId} of conversation ${conversation.id}${known ? `: it was sent before, and ${goes}` : ""}.`
    })
    if (!given.json && end?.error !== undefined) {
      const { model: target } = yield* getState
      const help = Remedies.sentenceOf({ ...end.error, target }, Remedies.keyVariablesOf(near.config.providers))
      note(terminal, "dim", `${help === undefined ? "" : `${help} `}Why: holdfast explain ${turnId}`)
    }
    yield* Ended.by(exitCodeOf(end))
  })
)

/** A turn to show: its frames, the terminal, and how to end it. */
interface Showing {
  /** Each change of the connection is reported. */
  readonly events: (options: {
    readonly onConnection: (connection: Connection) => void
  }) => Stream.Stream<TurnEvent.TurnEvent, Declaration.CommandFailure>
  readonly terminal: Terminal["Service"]
  /** Ends when the person wants the turn to end; absent: a person leaves, and the turn goes on. */
  readonly interrupted?: Effect.Effect<unknown>
  /** Asks for that end. */
  readonly abort?: Effect.Effect<unknown, Declaration.CommandFailure>
  readonly timeOfDay?: (epochMs: number) => string
  /** The first line, once the service has the turn: it names it, for `holdfast explain`. */
  readonly head?: string
  /** What Ctrl-C does, below a countdown; by default it aborts. */
  readonly advice?: string
}

/** Shows a turn until it ends, and returns its end. */
export const show = Effect.fnUntraced(function* (showing: Showing) {
  const { abort = Effect.void, advice, head, interrupted = Effect.never, terminal, timeOfDay = hereAt } = showing
  const screen = TurnScreen.make(terminal)
  const plain = makePlainWaits(terminal, timeOfDay)
  let state = TurnView.initial
  const apply = ([next, outputs]: ReturnType<typeof TurnView.update>): void => {
    state = next
    // Without repainting, a wait had its line when it began.
    screen.write(
      terminal.canRepaint ? outputs : outputs.filter((output) => output._tag === "Answer" || output.tone !== "wait")
    )
  }
  const repaint = (now: number): void => {
    if (terminal.canRepaint) screen.show(TurnView.view(state, now, { columns: terminal.columns(), timeOfDay, advice }))
    else plain(state.wait, now)
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

  const aborting = Effect.gen(function* () {
    yield* interrupted
    apply(TurnView.aborting(state))
    yield* abort
    return yield* Effect.never
  })

  const watch = Stream.runForEach(showing.events({ onConnection: named }), (event) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      apply(TurnView.update(state, event))
      repaint(now)
    })
  )

  yield* Effect.ensuring(Effect.raceFirst(watch, Effect.raceFirst(ticks, aborting)), Effect.sync(screen.close))
  return state.end
})

/** The exit code of a turn that was shown. */
export const exitCodeOf = (end: TurnEvent.TurnEnd | undefined): ExitCode => {
  if (end?.status === "completed") return ExitCode.COMPLETED
  return end?.status === "aborted" ? ExitCode.ABORTED : ExitCode.FAILED
}

/** Prints a turn's events as they are, for programs. */
export const printEvents = Effect.fnUntraced(function* (showing: Showing) {
  const { abort = Effect.void, events, interrupted = Effect.never, terminal } = showing
  let end: TurnEvent.TurnEnd | undefined
  const watch = Stream.runForEach(events({ onConnection: () => {} }), (event) =>
    Effect.sync(() => {
      writeJson(terminal, event)
      if (event.type === "turn-end") end = event
    })
  )
  yield* Effect.raceFirst(watch, Effect.andThen(interrupted, Effect.andThen(abort, Effect.never)))
  return end
})

// --- internal

/** A time of day as people here write it. */
const hereAt = (epochMs: number): string => new Date(epochMs).toTimeString().slice(0, 8)

/** Prints a line when a wait begins, and reminders, on standard error. */
const makePlainWaits = ({ stderr }: Terminal["Service"], timeOfDay: (epochMs: number) => string) => {
  let shown: { readonly wait: TurnEvent.ProviderRetry; readonly left: number } | undefined
  return (wait: TurnEvent.ProviderRetry | undefined, now: number): void => {
    if (wait === undefined) return
    const line = TurnView.plainLine(wait, now, shown?.wait === wait ? shown.left : undefined, timeOfDay)
    if (line === undefined) return
    shown = { wait, left: TurnView.timeLeft(wait, now) }
    stderr(`${line}\n`)
  }
}
