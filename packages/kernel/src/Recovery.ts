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
import { Clock, Duration, Effect, type Schema } from "effect"
import * as Directive from "./Directive.ts"
import * as ModelContext from "./ModelContext.ts"
import * as Observer from "./Observer.ts"
import type { ProviderRequest } from "./Provider.ts"
import type { RetryStrategy } from "./RetryStrategy.ts"
import type { Route } from "./Route.ts"
import * as Routing from "./Routing.ts"
import { Spending } from "./Spending.ts"
import type { TurnState } from "./TurnState.ts"
import type { TurnParked } from "./TurnParked.ts"
import type { TurnStopped } from "./TurnStopped.ts"
import * as Waiting from "./Waiting.ts"

/** A failure as it was recorded. */
export interface Setback {
  readonly failure: Failure.Failure
  readonly contentSeen: boolean
  /** The response was complete, and would not do (A9). */
  readonly whole?: true
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
  /** There was no attempt left. */
  readonly isExhausted?: boolean
}

/** What `retry-end` says when somebody cancelled (P11). */
export const CANCELLED = "Retry cancelled"

/** A step's failures so far. */
export class Recovery {
  readonly turn: TurnState
  readonly spending = new Spending()
  defects = 0
  /** Real waiting since a person last had a say, in milliseconds (X11). */
  waitedMs = 0
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
): Effect.fn.Return<GaveUp | undefined, TurnParked | TurnStopped> {
  const { spending, turn } = recovery
  const { strategy } = turn.ports
  const { failure } = setback
  const directive = yield* decide(recovery, n, setback, messages)
  if (directive._tag === "GiveUp" || strategy === undefined) {
    const isExhausted = directive._tag === "GiveUp" && directive.because === "exhausted"
    return { failure, finalError: failure.message, isExhausted }
  }

  if (mending !== undefined) yield* turn.persist(mending)
  turn.chain = spending.retry(failure)
  if (Directive.isImmediate(directive)) {
    if (!hasGoneOn(turn, n)) Waiting.tell(turn, strategy, failure, directive)
  } else {
    const ask = askOf(recovery, strategy, directive.route ?? turn.route)
    const ended = yield* Waiting.wait(turn, strategy, `step/${turn.step}/sleep/${n}`, failure, directive, ask)
    if (ended._tag === "Cancelled") return { failure, finalError: CANCELLED }
    if (ended._tag === "Sleepless") {
      const { message } = ended.error
      return { failure: { reason: "unknown", message, retryable: false }, finalError: message }
    }
    if (ended._tag === "Unanswered") {
      const gaveUp = unanswered(ended, failure)
      return { failure: gaveUp, finalError: gaveUp.message }
    }
    spending.extend(ended.extendedMs)
    spending.sleep(failure, directive.delayMs)
    turn.sleptMs += directive.delayMs
    recovery.waitedMs = ended._tag === "Switched" || ended.isAnswered ? 0 : recovery.waitedMs + ended.waitedMs
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

/** What the wait before an attempt on `route` may end with instead of it (X11). */
const askOf = (
  { turn, waitedMs }: Recovery,
  strategy: RetryStrategy["Service"],
  { target }: Route
): Waiting.Ask | undefined => {
  const { ask } = strategy
  return (
    ask &&
    ((thisMs) => {
      const request = { system: turn.input.system, messages: ModelContext.of(turn.messages), tools: turn.tools, target }
      return ask({ waitedMs: waitedMs + thisMs, usage: turn.usage, request })
    })
  )
}

/** What a turn fails with whose question nobody has answered: why it did not go on, and what it had been waiting for. */
const unanswered = (
  { afterMs, asks }: Extract<Waiting.Ended, { readonly _tag: "Unanswered" }>,
  { message, reason }: Failure.Failure
): Failure.Failure => ({
  reason,
  message: `${asks.message} Nobody answered within ${Duration.format(Duration.millis(afterMs))}. The last error was: ${message}`,
  retryable: false
})

const decide = (
  recovery: Recovery,
  n: number,
  { contentSeen, endedAt, failure, spread, whole }: Setback,
  messages: ProviderRequest["messages"]
): Effect.Effect<Directive.Directive, TurnStopped> => {
  const { spending, state, turn } = recovery
  const { checkpoint, router, strategy } = turn.ports
  turn.openRetryLoop(endedAt)
  if (failure.defect === true) recovery.defects++
  const { defects } = recovery
  const { retries } = spending
  const spent = spending.fail(failure, endedAt, spread)
  return checkpoint.run(
    `step/${turn.step}/decision/${n}`,
    Directive.Directive,
    Observer.decision(
      turn,
      n,
      { endedAt, failure },
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const known = { failure, contentSeen, retries, defects, spent, now }
        const situation: Directive.Situation = whole === undefined ? known : { ...known, whole }
        return router === undefined || strategy === undefined || !Directive.isRoutable(situation)
          ? Effect.succeed(Directive.decide(situation, strategy))
          : router.direct(situation, Routing.question(turn, state, messages))
      })
    )
  )
}
