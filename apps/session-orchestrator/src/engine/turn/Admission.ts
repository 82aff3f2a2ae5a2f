/**
 * Connects a turn to its endpoint's gate, for its waits and calls (rule X5).
 *
 * Admission.A1. A retry calls with the ticket that ended its wait, or fails with the shared failure that came with the ticket. A retry that a
 *     person ordered calls in any case (rule X4), also in another life of its turn. A first attempt is never held. It shares a failure that is
 *     beyond doubt, if its turn will wait and try again: no turn fails without its own call.
 * Admission.A2. A ticket is valid for one gate. A turn that goes to another endpoint gives it back, and calls there.
 * Admission.A4. If the provider has limits, a call begins when it has a permit (`Limiter`). The gate may have changed by then, so it is
 *     asked again.
 *
 * The gate gets at most three reports of a call: content arrived, failed, ended. A read in between costs one look at its last event.
 */
import { Provider, Records, RetryStrategy, type Router } from "@holdfast/kernel"
import { CallFailure, ProviderCall } from "@holdfast/kernel/host"
import type { Failure } from "@holdfast/wire"
import { Effect, type Schema } from "effect"
import * as ContextSize from "../../base/tokens/ContextSize.ts"
import { type GateWait, type Call, isByGate, type GateTicket } from "../gate/Gatekeeper.ts"
import type { Gates } from "../gate/Gates.ts"
import type { Permit } from "../gate/Limiter.ts"
import type * as TurnLife from "../session/TurnLife.ts"

/**
 * Sleeps in memory until `end`, in epoch milliseconds, and then until the gate admits the turn: calls `due` then, unless the gate ends the wait
 * early, by a command to the turn's wait. `held` is called with an epoch time in milliseconds when the gate prolongs the wait. Returns a
 * function that ends the sleep.
 */
export const sleep = (
  at: (end: number, act: () => void) => () => void,
  turn: TurnLife.TurnLife,
  end: number,
  awaited: GateWait | undefined,
  { due, held }: { readonly due: () => void; readonly held: (until: number) => void }
): (() => void) => {
  // A turn that was parked has its ticket already.
  if (awaited === undefined || turn.holds.ticket !== undefined) return at(end, due)
  const { gatekeeper } = awaited
  const sleeper = {
    ...awaited,
    held,
    wake: (ticket: GateTicket) => {
      // A person's command has priority: it ends this wait or begins another.
      if (turn.wait.hasNews) ticket.giveBack()
      else turn.letIn(ticket, due)
    }
  }
  gatekeeper.enter(sleeper)
  const stop = at(end, () => gatekeeper.due(sleeper))
  return () => {
    stop()
    gatekeeper.leave(sleeper)
  }
}

/** Returns a wake with the time held at the gate; gives back or replaces the ticket where the sleep ended otherwise. */
export const atGate = <W extends RetryStrategy.Wake>(
  wake: W,
  turn: TurnLife.TurnLife,
  awaited: GateWait | undefined
): W => {
  if (awaited === undefined) return wake
  if (wake.type === "elapsed") {
    const { heldMs = 0 } = turn.holds.ticket ?? {}
    return heldMs === 0 ? wake : { ...wake, heldMs }
  }
  if (isByGate(wake)) return wake
  turn.without("ticket")
  if (wake.type === "now") turn.hold("ticket", awaited.gatekeeper.admit(turn.turnId)) // Admission.A1
  return wake
}

/** Whether the last of a turn's records is the order of a person to make the next attempt now. */
export const isOrdered = (known: ReadonlyArray<Records.Stored>): boolean => {
  const last = known.at(-1)
  const wake = last && Records.valueOf("Wake", last)
  return wake?.type === "now" && !isByGate(wake)
}

/**
 * Returns a provider whose calls go through the gates.
 *
 * @param goesOn whether the turn goes on after this failure of a first attempt
 * @param isFirstOrdered whether a person has ordered the first call (`isOrdered`): the ticket for it has gone with an earlier life
 */
export const throughGates = (
  provider: Provider.Provider["Service"],
  gates: Gates["Service"],
  turn: TurnLife.TurnLife,
  goesOn: GoesOn,
  isFirstOrdered: boolean
): Provider.Provider["Service"] => {
  let isOrdered = isFirstOrdered
  const make = ProviderCall.of(provider)
  return ProviderCall.provider((request, world, listener) => {
    const gatekeeper = gates.of(request)
    const limiter = gates.limiterOf(request.target.provider)
    const held = turn.holds.ticket ?? (isOrdered ? gatekeeper?.admit(turn.turnId) : undefined)
    isOrdered = false
    const ticket = held?.gatekeeper === gatekeeper && held?.spend() === true ? held : undefined
    /** Asks the gate about a first attempt; returns the failure to share, if there is one now. */
    const shareFirst = () =>
      ticket === undefined ? gatekeeper?.shareFirst((failure) => request.attempt === 0 && goesOn(failure)) : undefined
    const shared = ticket === undefined ? shareFirst() : ticket.shared
    turn.gatekeeper = gatekeeper
    turn.without("ticket") // Admission.A2; a spent ticket is worthless
    if (shared !== undefined) return failedWith(listener, shared)
    const reported = (permit: Permit | undefined): ProviderCall.Running =>
      begun(make, request, world, listener, gatekeeper?.begin(request.turnId, ticket), permit)
    if (limiter === undefined) return reported(undefined)
    // Admission.A4
    return ProviderCall.later((go) => {
      const leave = limiter.request(limiter.countsTokens ? sizeOf(request) : 0, (permit) =>
        go(() => {
          const shared = shareFirst()
          if (shared === undefined) return reported(permit)
          permit.release()
          return failedWith(listener, shared)
        })
      )
      return () => {
        leave()
        if (ticket !== undefined) gatekeeper?.unused(ticket)
      }
    })
  })
}

/** Decides as a turn's strategy and router do, and records what the gate of the failed call keeps of the turn (rule X1). */
export const remembering = (turn: TurnLife.TurnLife) => {
  const noted = <D extends { readonly basis?: Schema.Json }>(decision: D): D => {
    const past = turn.gatekeeper?.pastOf(turn.turnId)
    return past === undefined ? decision : { ...decision, basis: { ...Object(decision.basis), past } }
  }
  return {
    strategy: <S extends RetryStrategy.Deciding>(strategy: S): S => ({
      ...strategy,
      decide: (attempt, failure, spent) => {
        const decision = RetryStrategy.decide(strategy, attempt, failure, spent)
        return decision?.delay === undefined ? decision : noted(decision)
      }
    }),
    router: (router: Router.Router["Service"]): Router.Router["Service"] => ({
      ...router,
      // A retry elsewhere waits at another gate.
      direct: (situation, question) =>
        Effect.mapEager(router.direct(situation, question), (directive) =>
          directive._tag === "Retry" && directive.route === undefined ? noted(directive) : directive
        )
    })
  }
}

// --- internal

type GoesOn = (failure: Failure.Failure) => boolean

/** The size of a request that a limit of tokens counts. */
const sizeOf = ({ messages, system, tools }: Provider.ProviderRequest): number =>
  ContextSize.of({ messages, system, tools }, ContextSize.estimate)

const failedWith = (listener: ProviderCall.Listener, failure: Failure.Failure): ProviderCall.Running =>
  ProviderCall.refuse(listener, { type: "error", failure })

/** Makes a call that is reported to its gate, and its tokens to its permit. */
const begun = (
  make: ProviderCall.ProviderCall,
  request: Provider.ProviderRequest,
  world: ProviderCall.World,
  listener: ProviderCall.Listener,
  call: Call | undefined,
  permit: Permit | undefined
): ProviderCall.Running => {
  if (call === undefined && permit === undefined) return make(request, world, listener)
  const reported = new Reported(listener, call, permit)
  return reported.of(make(request, world, reported))
}

class Reported implements ProviderCall.Listener {
  readonly progress: () => void
  private readonly listener: ProviderCall.Listener
  private readonly call: Call | undefined
  private readonly permit: Permit | undefined
  private hasAnswered = false

  constructor(listener: ProviderCall.Listener, call: Call | undefined, permit: Permit | undefined) {
    this.listener = listener
    this.call = call
    this.permit = permit
    this.progress = listener.progress
  }

  of({ cancel, more }: ProviderCall.Running): ProviderCall.Running {
    return {
      more,
      cancel: () => {
        cancel()
        this.call?.ended()
        this.permit?.release()
      }
    }
  }

  readonly events = (events: ProviderCall.Events): boolean => {
    if (this.call !== undefined) this.report(events, this.call)
    for (const event of events) if (event.type === "usage") this.permit?.counted(event.usage)
    return this.listener.events(events)
  }

  readonly end = (end: ProviderCall.End): void => {
    this.call?.failed(ProviderCall.brokenOf(end).failure)
    this.permit?.release()
    this.listener.end(end)
  }

  /** At most three reports of a call. */
  private report(events: ProviderCall.Events, call: Call): void {
    if (!this.hasAnswered && events.some(isAnswer)) {
      this.hasAnswered = true
      call.answered()
    }
    const last = events[events.length - 1]
    if (last?.type === "finish") call.ended()
    else if (last?.type === "error") call.failed(CallFailure.emitted(last.failure))
  }
}

/** A response that only finishes is an answer too. */
const isAnswer = (event: Provider.ProviderEvent): boolean => Provider.isContent(event) || event.type === "finish"
