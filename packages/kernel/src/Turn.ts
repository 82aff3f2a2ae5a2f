/**
 * Runs a turn over its ports: one prompt in, as many steps as the model wants tools, one seal.
 *
 * What a turn does is decided by a pure machine: `Machine.evolve` folds its records into what it has come to, `Machine.next` names what
 * follows. Here that is performed.
 *
 * Turn.T1. A turn seals exactly once, as completed, failed or aborted; nothing of it is emitted after its seal.
 * Turn.T2. An abort ends it at any point: in a response, in a sleep, in a tool. What was said until then is kept, and kept from
 *     the model (P12).
 * Turn.T3. A turn that is taken up again first comes to where it was: an abort that is there already is heeded then.
 * Turn.T4. Interrupting the effect is no abort: the turn stops unsealed, to be taken up again from its records. So does
 *     `TurnStopped`, and `TurnParked`, with which a turn leaves memory for the time of a wait.
 * Turn.T5. A bug in here, or in what the turn runs on, seals it as failed: a turn that hangs is worse than one that says why.
 */
import type { Failure, TurnEvent } from "@holdfast/wire"
import { Context, Effect } from "effect"
import type { Begun } from "./BeforeContent.ts"
import { Checkpoint } from "./Checkpoint.ts"
import { Compactor } from "./Compactor.ts"
import { EventSink } from "./EventSink.ts"
import { FinalReport } from "./FinalReport.ts"
import { AbortGate } from "./internal/interpreter/AbortGate.ts"
import * as Loop from "./internal/interpreter/Loop.ts"
import { Run } from "./internal/interpreter/Run.ts"
import { CANCELLED } from "./internal/machine/Decisions.ts"
import { ending, type Tally } from "./internal/machine/Ending.ts"
import { opening, start } from "./internal/machine/Evolve.ts"
import type { TurnFacts } from "./internal/machine/Ledger.ts"
import { discarded } from "./internal/machine/Responses.ts"
import { Observer } from "./Observer.ts"
import { Provider } from "./Provider.ts"
import { RetryStrategy } from "./RetryStrategy.ts"
import { Router } from "./Router.ts"
import { Toolbox } from "./Toolbox.ts"
import type { TurnParked } from "./TurnParked.ts"
import * as TurnStopped from "./TurnStopped.ts"

export { opening, type Tally }

/** What a turn is asked to do. */
export interface TurnInput extends Omit<TurnFacts, "report" | "maxRetries"> {
  /**
   * The name of this life of the turn, which no other life of it has: a tool call that another one has begun is told apart by it (X8).
   * Absent: drawn by chance.
   */
  readonly life?: string | undefined
  /** What this life of the turn has done before it was handed to the interpreter. */
  readonly begun?: Begun | undefined
  /** Succeeds when the user wants the turn to end. */
  readonly abort?: Effect.Effect<void>
}

/**
 * Runs a turn to its seal, and returns the seal.
 *
 * **Details**
 *
 * Without a `RetryStrategy` in the context there are no retries (D9); without a `Router` every attempt goes to the turn's target.
 * An `Observer` in it is told what the turn has done.
 */
export const runTurn = Effect.fnUntraced(function* (
  input: TurnInput
): Effect.fn.Return<
  TurnEvent.TurnEnd,
  TurnParked | TurnStopped.TurnStopped,
  Provider | Toolbox | EventSink | Checkpoint
> {
  const services = yield* Effect.context<Provider | Toolbox | EventSink | Checkpoint>()
  const { abort, begun, life, ...facts } = input
  const checkpoint = Context.get(services, Checkpoint)
  const gate = abort === undefined ? undefined : new AbortGate(checkpoint)
  const strategy = Context.getOrUndefined(services, RetryStrategy)
  const run = new Run(
    {
      provider: Context.get(services, Provider),
      toolbox: Context.get(services, Toolbox),
      sink: Context.get(services, EventSink),
      checkpoint: gate?.checkpoint ?? checkpoint,
      strategy,
      router: Context.getOrUndefined(services, Router),
      compactor: Context.getOrUndefined(services, Compactor),
      observer: Context.getOrUndefined(services, Observer)
    },
    checkpoint,
    start({
      ...facts,
      report: Context.getOrUndefined(services, FinalReport),
      maxRetries: strategy?.budget.maxRetries
    }),
    life,
    begun
  )
  const resumed = checkpoint.known === undefined ? Loop.toSeal(run) : Effect.andThen(Loop.resume(run), Loop.toSeal(run))
  const turn = Effect.catchDefect(resumed, (defect) => Loop.seal(run, { status: "failed", failure: bug(defect) }))
  if (abort === undefined || gate === undefined) return yield* turn
  const ended = Effect.as(Effect.andThen(gate.reached, abort), undefined)
  return yield* Effect.flatMap(Effect.raceFirst(ended, turn), (end) =>
    end === undefined ? Loop.seal(run, { status: "aborted", failure: aborted }) : Effect.succeed(end)
  )
})

/**
 * The last events of a turn that its host seals without running it: a defect of the host, or the deaths of its processes, kept it
 * from its own end (C10, X14).
 *
 * **Details**
 *
 * They stand behind every event that is on record of the turn. `unclosed` is the chain of retries that no `retry-end` has closed
 * (P11), by its last attempt; `discarded` the step whose text was shown and is void (X2).
 */
export const sealing = (
  identity: Pick<TurnFacts, "conversationId" | "turnId">,
  tally: Tally,
  outcome: {
    readonly status: "failed" | "aborted"
    readonly failure: Failure.Failure
    readonly endedAt: number
    readonly unclosed: number | undefined
    readonly discarded: number | undefined
  }
): {
  readonly events: readonly [TurnEvent.PersistedEvent, ...ReadonlyArray<TurnEvent.PersistedEvent>]
  readonly end: TurnEvent.TurnEnd
} => {
  const { endedAt, status, unclosed } = outcome
  const { conversationId, turnId } = identity
  const failure = status === "failed" ? outcome.failure : undefined
  const [end, ...errors] = ending(identity, tally, { status, failure, report: undefined, endedAt })
  const finalError = failure?.message ?? CANCELLED
  const before: ReadonlyArray<TurnEvent.PersistedEvent> = [
    ...(outcome.discarded === undefined ? [] : [discarded({ conversationId, turnId }, outcome.discarded)]),
    ...(unclosed === undefined
      ? []
      : [
          { conversationId, turnId, type: "retry-end" as const, attempt: unclosed, success: false as const, finalError }
        ])
  ]
  const [first = end, ...rest] = [...before, ...errors, end]
  return { events: [first, ...rest], end }
}

/** What a turn fails with that its user ended. */
export const aborted: Failure.Failure = { reason: "aborted", message: "Aborted by the user.", retryable: false }

// --- internal

const bug = (defect: unknown): Failure.Failure => ({
  reason: "unknown",
  message: TurnStopped.ofDefect(defect).message,
  retryable: false,
  defect: true
})
