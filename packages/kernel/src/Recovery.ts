/**
 * What follows a failure of a step: the decision, and what was decided, done.
 *
 * V1. The order is: decision, `provider-retry`, sleep, route. The decision is recorded before anybody is told of it, and told
 *     before anybody sleeps (D5). A retry that goes elsewhere at once is told of all the same, because it opens a chain that
 *     has to be closed (P11); it is no sleep.
 * V2. What no route can mend is the kernel's to decide; all else is the router's where there is one (A1).
 * V3. Counters live here and end with the step: they are back at 0 for the next one, however this one ended (P10).
 */
import type { Failure, TurnEvent } from "@holdfast/wire"
import { Clock, Effect, type Schema } from "effect"
import * as Directive from "./Directive.ts"
import type { ProviderRequest } from "./Provider.ts"
import * as Routing from "./Routing.ts"
import type { TurnState } from "./TurnState.ts"
import type { TurnStopped } from "./TurnStopped.ts"
import * as Waiting from "./Waiting.ts"

/** A failure as it was recorded. */
export interface Setback {
  readonly failure: Failure.Failure
  readonly contentSeen: boolean
  /** Drawn for the decision (`Spent.spread`). */
  readonly spread: number
  /** Epoch milliseconds. */
  readonly endedAt: number
}

/** There is no further attempt. */
export interface GaveUp {
  /** What the turn fails with. */
  readonly failure: Failure.Failure
  /** What `retry-end` says, where a chain is open. */
  readonly finalError: string
}

/** What `retry-end` says when somebody cancelled (P11). */
export const CANCELLED = "Retry cancelled"

/** A step's failures so far. */
export class Recovery {
  readonly turn: TurnState
  firstFailureAt: number | undefined = undefined
  retries = 0
  sleptMs = 0
  extendedMs = 0
  defects = 0
  /** What the router wants to be handed back. */
  state: Schema.Json | undefined = undefined

  constructor(turn: TurnState) {
    this.turn = turn
  }
}

/**
 * Gives up, or comes back when the next attempt is due, on its route.
 *
 * **Details**
 *
 * `n` is the number of what failed within its step. `mending` is what a retry begins with on record, before anybody waits.
 */
export const after = Effect.fnUntraced(function* (
  recovery: Recovery,
  n: number,
  setback: Setback,
  messages: ProviderRequest["messages"],
  mending?: () => ReadonlyArray<TurnEvent.PersistedEvent>
): Effect.fn.Return<GaveUp | undefined, TurnStopped> {
  const { turn } = recovery
  const { strategy } = turn.ports
  const { failure } = setback
  const directive = yield* decide(recovery, n, setback, messages)
  if (directive._tag === "GiveUp" || strategy === undefined) return { failure, finalError: failure.message }

  if (mending !== undefined) yield* turn.persist(mending)
  turn.chain = recovery.retries++
  if (Directive.isImmediate(directive)) {
    if (!hasGoneOn(turn, n)) Waiting.tell(turn, strategy, failure, directive)
  } else {
    const ended = yield* Waiting.wait(turn, strategy, `step/${turn.step}/sleep/${n}`, failure, directive)
    if (ended._tag === "Cancelled") return { failure, finalError: CANCELLED }
    if (ended._tag === "Sleepless") {
      const { message } = ended.error
      return { failure: { reason: "unknown", message, retryable: false }, finalError: message }
    }
    recovery.extendedMs += ended.extendedMs
    recovery.sleptMs += directive.delayMs
    turn.sleptMs += directive.delayMs
    if (ended._tag === "Switched") {
      recovery.state = undefined
      return yield* Effect.as(Routing.choose(turn, ended.target), undefined)
    }
  }
  recovery.state = directive.state
  if (directive.route !== undefined) yield* Routing.take(turn, directive.route)
  return undefined
})

// --- internal

/** What no sleep was recorded of is told of again in every life until there is something of what follows it. */
const hasGoneOn = ({ ports, step }: TurnState, n: number): boolean => {
  const next = `step/${step}/attempt/${n + 1}`
  return [next, `${next}/content`, `step/${step}/compaction/${n + 1}`].some((name) => ports.checkpoint.isRecorded(name))
}

const decide = (
  recovery: Recovery,
  n: number,
  { contentSeen, endedAt, failure, spread }: Setback,
  messages: ProviderRequest["messages"]
): Effect.Effect<Directive.Directive, TurnStopped> => {
  const { retries, sleptMs, extendedMs, state, turn } = recovery
  const { checkpoint, router, strategy } = turn.ports
  const firstFailureAt = (recovery.firstFailureAt ??= endedAt)
  if (failure.defect === true) recovery.defects++
  const { defects } = recovery
  const spent = { sleptMs, elapsedMs: Math.max(0, endedAt - firstFailureAt), extendedMs, spread }
  return checkpoint.run(
    `step/${turn.step}/decision/${n}`,
    Directive.Directive,
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const situation = { failure, contentSeen, retries, defects, spent, now }
      return router === undefined || strategy === undefined || !Directive.isRoutable(situation)
        ? Effect.succeed(Directive.decide(situation, strategy))
        : router.direct(situation, Routing.question(turn, state, messages))
    })
  )
}
