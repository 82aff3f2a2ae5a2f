/**
 * The kernel's `Router` on the service's ports: what is known comes from the store, what is found out goes there, and the policy
 * decides (`Routes`).
 *
 * R1. What a decision has found out is stored before the decision is recorded (U1 of the port).
 * R2. A conversation whose policy says "never" (P9) goes on where its last answer came from.
 * R3. A turn that has nowhere else to go has no router, and pays for none. A person may send it to any provider (X4), so keys of
 *     all of them count.
 */
import type { Router, TurnStopped } from "@holdfast/kernel"
import { type Models, type RetryPolicy, Routes, Standing } from "@holdfast/policy"
import type { Message, Target } from "@holdfast/wire"
import { Clock, Effect } from "effect"
import type { Standings } from "../storage/Standings.ts"
import type { StorageError } from "../storage/Store.ts"

/** What routers of all turns have in common. */
export interface Dependencies {
  readonly standings: Standings["Service"]
  /** The names of each provider's credentials, in order. */
  readonly credentials: Routes.Known["credentials"]
  readonly models: Models.Models
  readonly countTokens: Models.CountTokens
}

/** One turn, as its router has to know it. */
export interface Setting {
  readonly policy: RetryPolicy.RetryPolicy
  /** The conversation before this turn, oldest first. */
  readonly history: ReadonlyArray<Message.Message>
  /** The conversation's switch (P15), as it stands. */
  readonly isEnabled: () => boolean
  readonly patiently: <A>(effect: Effect.Effect<A, StorageError>) => Effect.Effect<A, TurnStopped.TurnStopped>
}

/** The router of a turn; `undefined` where there is nothing to choose from (R3). */
export const make = (
  { credentials, countTokens, models, standings }: Dependencies,
  { history, isEnabled, patiently, policy }: Setting
): Router.Router["Service"] | undefined => {
  if (!hasElsewhere(policy, credentials)) return undefined
  const last = lastAnswer(history)
  const withCurrent = (question: Router.Question): Router.Question =>
    question.current === undefined && last !== undefined ? { ...question, current: { target: last } } : question // R2
  const knownAt = (now: number) =>
    Effect.map(patiently(standings.load(now)), (standing) => ({ standing, credentials, models, countTokens }))
  return {
    begin: (question) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        return Routes.begin(policy, withCurrent(question), yield* knownAt(now), now)
      }),
    direct: (situation, question) =>
      Effect.gen(function* () {
        if (!isEnabled()) return Routes.switchedOff(policy, situation)
        const known = yield* knownAt(situation.now)
        const { changes, directive } = Routes.direct(policy, situation, question, known)
        if (!Standing.isEmpty(changes)) yield* patiently(standings.note(changes, situation.now)) // R1
        return directive
      })
  }
}

// --- internal

const hasElsewhere = ({ routing }: RetryPolicy.RetryPolicy, credentials: Dependencies["credentials"]): boolean =>
  routing.type === "round-robin" ||
  Object.keys(routing.chains).length > 0 ||
  Object.values(credentials).some((names) => names.length > 1)

const lastAnswer = (history: ReadonlyArray<Message.Message>): Target.Target | undefined => {
  const answer = history.findLast((message) => message.role === "assistant" && message.error === undefined)
  return answer?.role === "assistant" ? answer.target : undefined
}
