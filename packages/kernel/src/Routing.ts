/**
 * Where a turn's attempts go, and what is told when that changes (P8, P9).
 *
 * G1. Another target is a `model-change`; where a fallback takes over, a `retry-fallback-applied` before it. Another credential
 *     of the same target is neither. The first step of a turn is compared with the target that the conversation used last.
 * G2. A fallback that took over and answers is told of once, in whichever turn it answers first.
 * G3. A person's choice (X4) stands above any route: it is the primary from there on. At the same provider the credential that is
 *     in use stays so.
 * G4. Where a step begins is decided once, and what was decided is followed, with a router or without one by then; a step that
 *     has begun without a router is asked about from its next failure on. Otherwise a turn that is taken up under another
 *     configuration would tell of another way than the one that it went.
 */
import { type Message, Target, type TurnEvent } from "@holdfast/wire"
import { Effect, type Schema } from "effect"
import type { ProviderRequest } from "./Provider.ts"
import type { Route } from "./Route.ts"
import { Beginning, type Question, type Router } from "./Router.ts"
import type { TurnState } from "./TurnState.ts"
import type { TurnStopped } from "./TurnStopped.ts"

/** What the router is asked. */
export const question = (
  turn: TurnState,
  state: Schema.Json | undefined,
  messages: ProviderRequest["messages"]
): Question => ({
  primary: turn.primary,
  current: turn.attempts > 0 ? turn.route : undefined,
  state,
  request: { system: turn.input.system, messages, tools: turn.tools }
})

/** Takes the route that the step begins on, and returns the router's state; nothing, and no effect, where there is none (G4). */
export const begin = (
  turn: TurnState,
  messages: ProviderRequest["messages"]
): Effect.Effect<Schema.Json | undefined, TurnStopped> | undefined => {
  const { checkpoint, router } = turn.ports
  const name = `step/${turn.step}/route`
  const isRouted = router !== undefined || (lastUsed(turn) ?? turn.targetName) !== turn.targetName
  const isDue = checkpoint.isRecorded(name) || (isRouted && !turn.hasBegun)
  return isDue ? follow(turn, router, name, messages) : undefined
}

/** Goes on elsewhere. */
export const take = (turn: TurnState, route: Route, from: string = turn.targetName): Effect.Effect<void, TurnStopped> =>
  turn.persist(() => {
    turn.route = route
    const to = turn.targetName
    if (from === to) return []
    const { role } = route
    turn.unproven = role
    return [
      ...(role === undefined ? [] : [turn.event({ type: "retry-fallback-applied", from, to, role })]),
      turn.event({ type: "model-change", from, to })
    ]
  })

/** G3 */
export const choose = (turn: TurnState, target: Target.Target): Effect.Effect<void, TurnStopped> =>
  turn.persist(() => {
    const from = turn.targetName
    const { credential, target: left } = turn.route
    const isKept = credential !== undefined && left.provider === target.provider
    turn.primary = target
    turn.route = { target, ...(isKept ? { credential } : undefined) }
    turn.unproven = undefined
    const to = turn.targetName
    return from === to ? [] : [turn.event({ type: "model-change", from, to })]
  })

/** The route has answered (G2). */
export const proven = (turn: TurnState): ReadonlyArray<TurnEvent.RetryFallbackSucceeded> => {
  const role = turn.unproven
  turn.unproven = undefined
  return role === undefined ? [] : [turn.event({ type: "retry-fallback-succeeded", model: turn.targetName, role })]
}

// --- internal

const follow = Effect.fnUntraced(function* (
  turn: TurnState,
  router: Router["Service"] | undefined,
  name: string,
  messages: ProviderRequest["messages"]
): Effect.fn.Return<Schema.Json | undefined, TurnStopped> {
  const last = lastUsed(turn)
  const { from, route, state } = yield* turn.ports.checkpoint.run(
    name,
    Beginning,
    Effect.suspend(() => {
      const beginning = router?.begin(question(turn, undefined, messages))
      const begun = beginning ?? Effect.succeed<Beginning>({ route: turn.route })
      return last === undefined ? begun : Effect.map(begun, (begun): Beginning => ({ ...begun, from: last }))
    })
  )
  yield* take(turn, route, from)
  if (from === turn.targetName && !hasAnswered(turn.input.history, from)) turn.unproven = route.role // G2
  return state
})

/** `provider/model` that the conversation used last, where this turn has used none yet. */
const lastUsed = (turn: TurnState): string | undefined => {
  if (turn.attempts > 0) return undefined
  const last = turn.input.history.findLast(({ role }) => role === "assistant")
  return last?.role === "assistant" ? Target.format(last.target) : undefined
}

/** Whether a target has answered since the conversation came to it. */
const hasAnswered = (history: ReadonlyArray<Message.Message>, target: string): boolean => {
  for (const message of history.toReversed()) {
    if (message.role !== "assistant") continue
    if (Target.format(message.target) !== target) return false
    if (message.error === undefined) return true
  }
  return false
}
