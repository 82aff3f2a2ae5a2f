/**
 * A turn before the gate of where it goes: its waits end there, and its calls are told there (X5).
 *
 * A1. A retry calls with the pass that its wait ended with, or takes the shared failure that came with it; one that a person
 *     wants now calls (X4). A first attempt is never held. It shares a failure that is beyond doubt, if its turn will wait and
 *     try again: no turn fails without a call of its own.
 * A2. A pass is for one gate. Who goes elsewhere gives it back, and is there as a first attempt is.
 * A3. The gate hears of each call three times at most: it has shown content, it has failed, it has ended. A read in between costs one
 *     look at its last event.
 * A4. Where a provider has limits, a call begins when it has a permit (`Limiter`). It may meet news of the endpoint by then.
 */
import { CallFailure, Opening, type Provider, Push, type RetryStrategy } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import { type Cause, Effect, Pull, Result, Scope, Stream } from "effect"
import * as ContextSize from "../tokens/ContextSize.ts"
import { type Awaited, type Call, type Gatekeeper, isGates, type Pass } from "../gate/Gatekeeper.ts"
import type { Gates } from "../gate/Gates.ts"
import type { Permit } from "../gate/Limiter.ts"
import * as TurnLife from "../session/TurnLife.ts"

/** `elapsed`, and then until the gate lets the turn in; or until it wakes the turn early, by a command to its wait. */
export const awaits = (
  turn: TurnLife.TurnLife,
  elapsed: Effect.Effect<void>,
  awaited: Awaited | undefined,
  held: (until: number) => void
): Effect.Effect<void> => {
  // One that was parked has been let in already.
  if (awaited === undefined || turn.state.pass !== undefined) return elapsed
  const { gatekeeper } = awaited
  return Effect.suspend(() => {
    let letIn: (() => void) | undefined
    const sleeper = {
      ...awaited,
      held,
      wake: (pass: Pass) => {
        // What a person wants comes first: it is what ends this wait, or begins another.
        if (turn.wait.hasNews) pass.giveBack()
        else turn.letIn(pass, () => letIn?.())
      }
    }
    gatekeeper.enter(sleeper)
    const due = Effect.callback<void>((resume) => {
      letIn = () => resume(Effect.void)
      gatekeeper.due(sleeper)
    })
    return Effect.ensuring(
      Effect.andThen(elapsed, due),
      Effect.sync(() => gatekeeper.leave(sleeper))
    )
  })
}

/** What is done with the pass at the end of a sleep, and what is put on record of it. */
export const heard = (
  sleep: Effect.Effect<RetryStrategy.Wake>,
  turn: TurnLife.TurnLife,
  awaited: Awaited | undefined
): Effect.Effect<RetryStrategy.Wake> =>
  awaited === undefined
    ? sleep
    : Effect.map(sleep, (wake) => {
        if (wake.type === "elapsed") {
          const { heldMs = 0 } = turn.state.pass ?? {}
          return heldMs === 0 ? wake : { ...wake, heldMs }
        }
        if (isGates(wake)) return wake
        turn.move(TurnLife.without("pass"))
        if (wake.type === "now") turn.move(TurnLife.letIn(awaited.gatekeeper.admit())) // A1
        return wake
      })

/** The same provider, whose calls go through the gates. */
export const gated = (
  provider: Provider.Provider["Service"],
  gates: Gates["Service"],
  turn: TurnLife.TurnLife,
  /** Whether a first attempt that fails is followed by another. */
  isRetried: () => boolean
): Provider.Provider["Service"] => {
  const admit = (gatekeeper: Gatekeeper | undefined): Admitted => {
    const { pass } = turn.state
    const isLetIn = pass?.gatekeeper === gatekeeper && pass?.spend() === true
    turn.move(TurnLife.without("pass")) // A2; one that is spent is nothing any more
    const shareFirst = () => (isLetIn || !isRetried() ? undefined : gatekeeper?.shareFirst())
    return { isLetIn, shareFirst, shared: isLetIn ? pass.shared : shareFirst() }
  }
  return {
    stream: (request) =>
      Opening.through(
        () => provider.stream(request),
        (inner) =>
          Stream.suspend(() => {
            const gatekeeper = gates.of(request)
            const limiter = gates.limiterOf(request.target.provider)
            const { isLetIn, shareFirst, shared } = admit(gatekeeper)
            if (shared !== undefined) return failedWith(shared)
            const call = (permit?: Permit) => begun(inner(), gatekeeper?.begin(isLetIn), permit)
            if (limiter === undefined) return call()
            const size = limiter.countsTokens ? sizeOf(request) : 0
            return limiter.permit(size).pipe(
              // A4
              Effect.onInterrupt(() => Effect.sync(() => isLetIn && gatekeeper?.unused())),
              Effect.map((permit) => {
                const shared = shareFirst()
                return shared === undefined ? call(limiter.countsTokens ? permit : undefined) : failedWith(shared)
              }),
              Push.unwrap
            )
          }),
        (opening) => {
          if (gates.limiterOf(request.target.provider) !== undefined) return undefined // it may have to wait for its permit
          return (world, listener) => {
            const gatekeeper = gates.of(request)
            const { isLetIn, shared } = admit(gatekeeper)
            if (shared === undefined) return opened(opening, gatekeeper?.begin(isLetIn))(world, listener)
            listener.refused({ type: "error", failure: shared })
            return () => {}
          }
        }
      )
  }
}

// --- internal

/** What a call is let in with. */
interface Admitted {
  readonly isLetIn: boolean
  /** A failure that it takes for its own instead of calling. */
  readonly shared: Failure.Failure | undefined
  /** The same for a first attempt, as it stands now. */
  readonly shareFirst: () => Failure.Failure | undefined
}

/** A call that begins without a fiber: told to its gate. */
const opened = (opening: Opening.Opening, call: Call | undefined): Opening.Opening =>
  call === undefined
    ? opening
    : (world, listener) => {
        const cancel = begunBy(opening, call)(world, {
          refused: (refusal) => {
            call.failed(Opening.failureOf(refusal).failure)
            listener.refused(refusal)
          },
          answered: (answer) =>
            listener.answered({
              rest: begun(answer.rest, call, undefined),
              cancel: () => {
                answer.cancel()
                call.ended()
              }
            })
        })
        return () => {
          cancel()
          call.ended()
        }
      }

/** A provider that throws has failed (C10). */
const begunBy =
  (opening: Opening.Opening, call: Call): Opening.Opening =>
  (world, listener) => {
    try {
      return opening(world, listener)
    } catch (defect) {
      call.failed(CallFailure.ofDefect(defect))
      throw defect
    }
  }

type Events = readonly [Provider.ProviderEvent, ...ReadonlyArray<Provider.ProviderEvent>]
type EventPull = Pull.Pull<Events, Failure.ProviderFailure>
type EventStream = ReturnType<Provider.Provider["Service"]["stream"]>

const sizeOf = ({ messages, system, tools }: Provider.ProviderRequest): number =>
  ContextSize.of({ messages, system, tools }, ContextSize.estimate)

const failedWith = (failure: Failure.Failure): EventStream => Stream.succeed({ type: "error", failure })

/** A call that is under way: told to its gate, and its tokens to its permit. */
const begun = (stream: EventStream, call: Call | undefined, permit: Permit | undefined): EventStream => {
  const measured =
    permit === undefined ? stream : Stream.transformPull(stream, (pull) => Effect.succeed(counted(pull, permit)))
  return call === undefined
    ? measured
    : Stream.transformPull(measured, (pull, scope) =>
        Effect.as(Scope.addFinalizer(scope, Effect.sync(call.ended)), told(pull, call))
      )
}

const counted = (pull: EventPull, permit: Permit): EventPull => {
  const count = (events: Events): Events => {
    for (const event of events) if (event.type === "usage") permit.counted(event.usage)
    return events
  }
  return Push.through(Effect.map(pull, count), pull, count)
}

const told = (pull: EventPull, call: Call): EventPull => {
  let hasAnswered = false
  const hear = (events: Events): Events => {
    if (!hasAnswered && events.some(isContent)) {
      hasAnswered = true
      call.answered()
    }
    const last = events[events.length - 1]
    if (last?.type === "finish") call.ended()
    else if (last?.type === "error") call.failed({ ...last.failure, retryable: last.failure.retryable ?? false })
    return events
  }
  const lose = (cause: Cause.Cause<Failure.ProviderFailure | Cause.Done<void>>): Effect.Effect<void> =>
    Effect.sync(() => {
      const why = Pull.filterNoDone(cause)
      const failure = Result.isSuccess(why) ? CallFailure.failureOf(why.success) : CallFailure.incomplete
      if (!("_tag" in failure)) call.failed(failure)
    })
  return Push.through(Effect.tapCause(Effect.map(pull, hear), lose), pull, hear)
}

/** C8 */
const isContent = (event: Provider.ProviderEvent): boolean => {
  switch (event.type) {
    case "text-delta":
    case "reasoning-delta":
      return event.delta !== ""
    case "tool-calls-cut":
    case "error":
      return false
    default:
      return true
  }
}
