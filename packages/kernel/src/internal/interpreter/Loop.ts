/**
 * Runs the loop of a turn: emits events, performs commands and folds in their records.
 *
 * Loop.L1. A turn that resumes first restores its state, from its records alone.
 * Loop.L2. Interrupting the effect is no abort: the turn stops unsealed, and can resume. The same holds for `TurnStopped` and `TurnParked`.
 * Loop.L3. No effect of the checkpoint is part of another.
 * Loop.L4. The events that are in the outbox when a turn ends are persisted with the seal, in one write: either the response of the last
 *     step and `turn-end` are both on disk, or neither.
 * Loop.L5. What needs no fiber is done in one loop, without one: records that are at hand, and their events. The next effect of a port
 *     is where the turn can be interrupted.
 */
import type { Failure, TurnEvent } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import type { TurnRecord } from "../../records/Records.ts"
import * as Records from "../../records/Records.ts"
import type { SleepFailure } from "../../ports/RetryStrategy.ts"
import type { TurnParked } from "../../ports/TurnParked.ts"
import { TurnStopped } from "../../ports/TurnStopped.ts"
import { Content } from "../calls/Content.ts"
import type { Ledger } from "../machine/Ledger.ts"
import { type Command, commandsOf } from "../machine/OpenCommands.ts"
import * as ModelCalls from "./ModelCalls.ts"
import * as Observing from "./Observing.ts"
import { hasSucceeded, type Run } from "./Run.ts"
import * as ToolRuns from "./ToolRuns.ts"
import * as Retrying from "./Retrying.ts"

/** Restores the state of the turn (Loop.L1). */
export const resume = Effect.fnUntraced(function* (
  run: Run,
  known: ReadonlyArray<Records.Stored>
): Effect.fn.Return<void, TurnStopped> {
  for (const stored of known) {
    const record = Records.parse(stored)
    if (record === undefined) {
      if (Records.positionOf(stored.name) === undefined) continue
      return yield* unreadable(`the record ${stored.name} cannot be read`)
    }
    if (run.ledger.outbox.length > 0) yield* run.flushRecorded()
    const contradiction = follow(run, record)
    if (contradiction !== undefined) return yield* unreadable(contradiction)
  }
  // A wait that this life has begun is announced, however short it is (D5).
  if (run.priorWork?.isTakenUp === false) run.isTakenUp = false
})

/** Runs the turn from its present state to its seal. */
export const toSeal = (run: Run): Effect.Effect<TurnEvent.TurnEnd, TurnParked | TurnStopped> => {
  const loop: Effect.Effect<TurnEvent.TurnEnd, TurnParked | TurnStopped> = Effect.suspend(() => {
    for (;;) {
      const done = run.ledger.outbox.length > 0 && !isAtItsEnd(run.ledger) ? run.flush() : performNext(run) // Loop.L4
      if (!hasSucceeded(done)) return Effect.flatMap(done, goOn) // Loop.L5
      if (done.value) return Effect.succeed(done.value)
    }
  })
  const goOn = (end: TurnEvent.TurnEnd | void) => (end ? Effect.succeed(end) : loop)
  return loop
}

/** The reason that cuts a turn off. */
export interface Cut {
  readonly status: "failed" | "aborted"
  readonly failure: Failure.Failure
}

/** Seals the turn; on a sealed turn it only returns the seal. Without a cut the turn has ended by itself. */
export const seal = (run: Run, cut?: Cut): Effect.Effect<TurnEvent.TurnEnd, TurnStopped> =>
  Effect.suspend(() => {
    if (run.ledger.phase._tag === "Sealed") return sealed(run)
    const name = Records.nameOf("Seal", 0)
    const at = run.now()
    const record: Records.Seal = cut === undefined ? { at } : { at, cut: { ...cut, ...run.underWay } }
    return Effect.flatMap(run.checkpoint.run(name, Records.Seal, Effect.succeed(record)), (value) => {
      run.take({ kind: "Seal", step: 0, number: 0, value })
      return sealed(run)
    })
  }).pipe(Effect.uninterruptible)

// --- internal

/** Whether only the seal can follow. */
const isAtItsEnd = ({ phase }: Ledger): boolean =>
  phase._tag === "Ending" || phase._tag === "Sealed" || (phase._tag === "Entering" && phase.stuck !== undefined)

const sealed = (run: Run): Effect.Effect<TurnEvent.TurnEnd, TurnStopped> =>
  Effect.mapEager(run.flush(), () => {
    const { phase } = run.ledger
    if (phase._tag !== "Sealed") throw new Error("the turn is not sealed")
    Observing.seal(run, phase.end)
    return phase.end
  })

/** A journal that contradicts itself is a defect of the host, which counts it (C10). */
const unreadable = (message: string): TurnStopped =>
  new TurnStopped({ message: `The journal cannot be followed: ${message}.`, defect: true })

/** Folds in a record of an earlier life; returns the error if it contradicts the ledger. */
const follow = (run: Run, record: TurnRecord): string | undefined => {
  try {
    run.take(record, true)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

type Single = Exclude<Command, { readonly _tag: "RunTool" | "Seal" }>

/** Performs the open commands, or seals the turn: then the result is the seal. */
const performNext = (run: Run): Effect.Effect<TurnEvent.TurnEnd | void, TurnParked | TurnStopped> => {
  const commands = commandsOf(run.ledger, run.offers)
  const [command] = commands
  if (command === undefined) return seal(run)
  if (command._tag === "Seal") return seal(run, command.cut && { status: "failed", failure: command.cut })
  return command._tag === "RunTool" ? runTools(run, commands) : perform(run, command)
}

/** Performs the only open command. */
const perform = (run: Run, command: Single): Effect.Effect<void, TurnParked | TurnStopped> => {
  const { strategy } = run.ports
  switch (command._tag) {
    case "Call":
      run.call = { content: new Content(command.request.maxResponseCharacters), isMade: false }
      return recorded(run, Records.kinds.Attempt, command, ModelCalls.attempt(run, command))
    case "Compact":
      return recorded(run, Records.kinds.Compaction, command, ModelCalls.compaction(run, command))
    case "Decide":
      return recorded(run, Records.kinds.Decision, command, Retrying.decide(run, command))
    case "Ask":
    case "Wait": {
      if (strategy === undefined) throw new Error("without a strategy there is no wait")
      const sleep =
        command._tag === "Wait" ? Retrying.sleep(run, command, strategy) : Retrying.ask(run, command, strategy)
      const slept = recorded(run, Records.kinds.Wake, command, sleep, command.part)
      return Effect.catchTag(slept, "SleepFailure", (error) => sleepless(run, error))
    }
    case "Route":
      return recorded(run, Records.kinds.Route, command, route(run, command))
    case "Final": {
      const { cause } = command
      return recorded(run, Records.kinds.Final, command, Effect.succeed({ cause, at: run.now() }))
    }
    default:
      return command satisfies never
  }
}

/** Performs a command, and folds in its record. */
const recorded = <K extends Records.Kind, E>(
  run: Run,
  {
    kind,
    of,
    schema
  }: Omit<Records.KindOf<K>, "of"> & {
    readonly of: (place: Records.RecordPosition, value: Records.ValueOf<K>) => TurnRecord
  },
  command: Records.RecordPosition,
  effect: Effect.Effect<Records.ValueOf<K>, E>,
  part?: number
): Effect.Effect<void, E | TurnStopped> => {
  const { checkpoint } = run.ports
  const name = Records.nameOf(kind, command.step, command.number, part)
  // An engine that looks ahead has no record left by now (Loop.L1).
  let isNew = checkpoint.known !== undefined
  const noted = isNew
    ? effect
    : Effect.suspend(() => {
        isNew = true
        return effect
      })
  return Effect.mapEager(checkpoint.run(name, schema, noted), (value) => run.take(of(command, value), !isNew))
}

/** Chooses the route of a step's first attempt: by the router, or the turn's present route. */
const route = (
  run: Run,
  { from, question }: Extract<Command, { readonly _tag: "Route" }>
): Effect.Effect<Records.Beginning, TurnStopped> => {
  const { router } = run.ports
  const chosen =
    router === undefined || question === undefined
      ? Effect.succeed<Records.Beginning>({ route: run.ledger.routing.route })
      : router.begin(question)
  return from === undefined ? chosen : Effect.map(chosen, (beginning) => ({ ...beginning, from }))
}

/** D14: there is no retry without its sleep. */
const sleepless = (run: Run, { message }: SleepFailure): Effect.Effect<void, TurnStopped> =>
  Effect.asVoid(seal(run, { status: "failed", failure: { reason: "unknown", message, retryable: false } }))

/** Runs the open calls at the same time; the result of each is emitted as soon as those before it are. */
const runTools = (run: Run, commands: ReadonlyArray<Command>): Effect.Effect<void, TurnStopped> => {
  const calls = commands.filter((command) => command._tag === "RunTool")
  const running = new Set(calls.map(({ number }) => number))
  const [only] = calls
  if (only !== undefined && calls.length === 1) return ToolRuns.call(run, only, running)
  const flush = oneAtATime(Effect.suspend(() => run.flush()))
  return Effect.forEach(
    calls,
    (call) =>
      Effect.andThen(
        Effect.suspend(() => ToolRuns.call(run, call, running)),
        flush
      ),
    {
      concurrency: calls.length,
      discard: true
    }
  )
}

/** Runs an effect at most once at a time. Calls during a run return at once, and one more run follows for all of them. */
const oneAtATime = <E>(effect: Effect.Effect<void, E>): Effect.Effect<void, E> => {
  let isRunning = false
  let isDue = false
  const run: Effect.Effect<void, E> = Effect.suspend(() => {
    isDue = isRunning
    if (isRunning) return Effect.void
    isRunning = true
    return Effect.flatMap(effect, () => {
      isRunning = false
      return isDue ? run : Effect.void
    })
  })
  return run
}
