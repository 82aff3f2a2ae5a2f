/**
 * Runs a turn over its ports: one prompt in, one seal out.
 *
 * There are as many steps as the model asks for tools. The engine decides (`Engine.step`), and `Life` performs its effects over the ports.
 *
 * - A turn seals exactly once, as completed, failed or aborted; nothing of it is emitted after its seal.
 * - An abort ends it at any point: in a response, in a sleep, in a tool. The content until then stays in the history, and is not
 *   sent to the model (P12).
 * - A turn that resumes first restores its state: an abort that came before takes effect then.
 * - Interrupting the effect is no abort: the turn stops unsealed, and can resume from its records. The same holds for `TurnStopped`,
 *   and for `TurnParked`, with which a turn leaves memory for the time of a wait.
 * - A bug in the kernel or in a port seals the turn as failed: a turn that hangs is worse than a failed turn with a reason.
 */
import type { Failure, TurnEvent } from "@holdfast/wire"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { Checkpoint } from "../ports/Checkpoint.ts"
import { Compactor } from "../ports/Compactor.ts"
import { EventSink } from "../ports/EventSink.ts"
import { FinalReport } from "../ports/FinalReport.ts"
import type * as Engine from "../engine/Engine.ts"
import * as Life from "../engine/Life.ts"
import { firstEvents } from "../internal/machine/Evolve.ts"
import type { TurnFacts } from "../internal/machine/Ledger.ts"
import { Observer } from "../ports/Observer.ts"
import { Provider } from "../ports/Provider.ts"
import { RetryStrategy } from "../ports/RetryStrategy.ts"
import { Router } from "../ports/Router.ts"
import { Toolbox } from "../ports/Toolbox.ts"
import type { TurnParked } from "../ports/TurnParked.ts"
import type { TurnStopped } from "../ports/TurnStopped.ts"

export { firstEvents }

/** The ports that a turn cannot do without. */
type Services = Provider | Toolbox | EventSink | Checkpoint

/** The input of a turn. */
export interface TurnInput extends Omit<TurnFacts, "report" | "maxRetries"> {
  /**
   * The name of this life of the turn, unique among its lives: it distinguishes tool calls that another life has begun (X8). Absent: drawn
   * at random.
   */
  readonly life?: string | undefined
  /** Succeeds when the user aborts the turn. */
  readonly abort?: Effect.Effect<void>
}

/**
 * Runs a turn to its seal, and returns the seal.
 *
 * **Details**
 *
 * Without a `RetryStrategy` in the context there are no retries (D9); without a `Router` every attempt goes to the turn's target. An
 * `Observer` in the context receives what the turn has done. Fails with `TurnParked` or `TurnStopped` if the turn ends unsealed.
 */
export const runTurn = (input: TurnInput): Effect.Effect<TurnEvent.TurnEnd, TurnParked | TurnStopped, Services> =>
  Effect.contextWith((services: Context.Context<Services>) => {
    const { abort, life: name, ...facts } = input
    const random = Context.get(services, Random.Random)
    const clock = Context.get(services, Clock.Clock)
    const ports: Life.Ports = {
      provider: Context.get(services, Provider),
      toolbox: Context.get(services, Toolbox),
      sink: Context.get(services, EventSink),
      checkpoint: Context.get(services, Checkpoint),
      strategy: Context.getOrUndefined(services, RetryStrategy),
      router: Context.getOrUndefined(services, Router),
      compactor: Context.getOrUndefined(services, Compactor),
      now: () => clock.currentTimeMillisUnsafe(),
      draw: () => random.nextDoubleUnsafe()
    }
    const { compactor, router, sink, strategy, toolbox } = ports
    const report = Context.getOrUndefined(services, FinalReport)
    const observer = Context.getOrUndefined(services, Observer)
    const setup: Engine.Setup = {
      facts: { ...facts, report, maxRetries: strategy?.budget.maxRetries },
      life: "",
      strategy,
      toolbox,
      hasRouter: router !== undefined,
      hasCompactor: compactor !== undefined,
      observer,
      memo: { isPersisted: sink.isPersisted }
    }
    const life = new Life.Life(ports, setup, name)
    const turn = abort === undefined ? life.toSeal() : abortable(life, abort)
    return observer === undefined ? turn : Effect.onInterrupt(turn, () => Effect.sync(() => life.release()))
  })

/** The failure of a turn that its user ended. */
export const aborted: Failure.Failure = { reason: "aborted", message: "Aborted by the user.", retryable: false }

// --- internal

/** In a function of its own, so that no function of it keeps the input and the services. */
const abortable = (
  life: Life.Life,
  abort: Effect.Effect<void>
): Effect.Effect<TurnEvent.TurnEnd, TurnParked | TurnStopped> =>
  Effect.raceAllFirst([Effect.andThen(Effect.map(abort, life.abort), Effect.never), life.abortable()]).pipe(
    Effect.exit,
    Effect.flatMap((exit) => (life.isAborted ? life.cut({ status: "aborted", failure: aborted }) : exit))
  )
