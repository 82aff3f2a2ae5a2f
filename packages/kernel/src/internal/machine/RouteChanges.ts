/**
 * Changes the route of a turn's attempts, with its events (P8, P9).
 *
 * - A change of the target emits `model-change`; if a fallback takes over, `retry-fallback-applied` comes before it. A change of
 *   the credential alone emits neither. The first step of a turn is compared with the target that the conversation used last.
 * - A fallback that took over and answers is reported once, in the turn in which it answers first.
 * - A person's choice (X4) overrides any route: it becomes the primary. At the same provider the credential in use stays the same.
 * - The first route of a step is decided once and followed, even if the turn has gained or lost its router since; a router that
 *   was added during a step is asked from the step's next failure on.
 */
import { type Message, Target, type TurnEvent } from "@holdfast/wire"
import { type Beginning, switched } from "../../records/Records.ts"
import type { Route } from "../../records/Route.ts"
import type { Question } from "../../ports/Router.ts"
import type { ToolDefinition } from "../../ports/Toolbox.ts"
import type { Ledger } from "./Ledger.ts"
import { calling, contextOf, eventOf, persist, targetNameOf } from "./Batch.ts"

/** Makes the question to the router. */
export const question = (ledger: Ledger, offered: ReadonlyArray<ToolDefinition>): Question => ({
  primary: ledger.routing.primary,
  current: ledger.tally.attempts > 0 ? ledger.routing.route : undefined,
  state: ledger.step.state,
  request: contextOf(ledger, offered)
})

/** Whether the step's route has to be recorded: a router chooses it, or it differs from the target that was used last. */
export const isDue = (ledger: Ledger, hasRouter: boolean): boolean =>
  hasRouter || (lastUsed(ledger) ?? targetNameOf(ledger)) !== targetNameOf(ledger)

/** Begins the step on a route. */
export const begin = (ledger: Ledger, { from, route, state }: Beginning): Ledger => {
  const taken = take(ledger, route, from)
  const isUnproven = from === targetNameOf(taken) && !hasAnswered(ledger.turn.history, from)
  return {
    ...taken,
    routing: isUnproven ? { ...taken.routing, unproven: route.role } : taken.routing, // P8: reported at its first answer
    step: { ...taken.step, state },
    phase: calling(0)
  }
}

/** Changes the route, with the events of a change of target (P8). */
export const take = (ledger: Ledger, route: Route, from: string = targetNameOf(ledger)): Ledger => {
  const { turn, routing } = ledger
  const to = Target.format(route.target)
  if (from === to) return { ...ledger, routing: { ...routing, route } }
  const { role } = route
  return persist({ ...ledger, routing: { ...routing, route, unproven: role } }, [
    ...(role === undefined ? [] : [eventOf(turn, { type: "retry-fallback-applied", from, to, role })]),
    eventOf(turn, { type: "model-change", from, to })
  ])
}

/** Switches to the target that a person chose (X4). */
export const choose = (ledger: Ledger, target: Target.Target): Ledger => {
  const taken = take(ledger, switched(target, ledger.routing.route))
  return { ...taken, routing: { ...taken.routing, primary: target, unproven: undefined } }
}

/** Makes the event of a fallback that has answered for the first time (P8). */
export const proven = (ledger: Ledger): ReadonlyArray<TurnEvent.RetryFallbackSucceeded> => {
  const role = ledger.routing.unproven
  if (role === undefined) return []
  return [eventOf(ledger.turn, { type: "retry-fallback-succeeded", model: targetNameOf(ledger), role })]
}

/** Returns the `provider/model` that the conversation used last; `undefined`: there is none, or this turn has made an attempt. */
export const lastUsed = ({ tally, turn }: Ledger): string | undefined => {
  if (tally.attempts > 0) return undefined
  const last = turn.history.findLast(({ role }) => role === "assistant")
  return last?.role === "assistant" ? Target.format(last.target) : undefined
}

// --- internal

/** Whether a target has answered since the conversation switched to it. */
const hasAnswered = (history: ReadonlyArray<Message.Message>, target: string): boolean => {
  for (const message of history.toReversed()) {
    if (message.role !== "assistant") continue
    if (Target.format(message.target) !== target) return false
    if (message.error === undefined) return true
  }
  return false
}
