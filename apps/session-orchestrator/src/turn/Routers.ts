/**
 * The router of a turn of the service: what is known comes from the database, what is found out goes there.
 *
 * R1. A conversation whose policy says "never" (P9) goes on where its last answer came from.
 * R2. A turn that has nowhere else to go has no router, and pays for none. A person may send it to any provider (X4), so keys of
 *     all of them count.
 */
import type { StorageError } from "@holdfast/journal"
import type { Router, TurnStopped } from "@holdfast/kernel"
import { type RetryPolicy, Routers, type Routes } from "@holdfast/policy"
import type { Message, Target } from "@holdfast/wire"
import type { Effect } from "effect"
import type { Standings } from "../storage/Standings.ts"

/** What routers of all turns have in common. */
export interface Dependencies extends Omit<Routes.Known, "standing"> {
  readonly standings: Standings["Service"]
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

/** The router of a turn; `undefined` where there is nothing to choose from (R2). */
export const make = (
  { standings, ...known }: Dependencies,
  { history, isEnabled, patiently, policy }: Setting
): Router.Router["Service"] | undefined => {
  if (!hasElsewhere(policy, known.credentials)) return undefined
  const last = lastAnswer(history)
  const router = Routers.make(policy, {
    ...known,
    load: (now) => patiently(standings.load(now)),
    note: (changes, now) => patiently(standings.note(changes, now)),
    isEnabled
  })
  return {
    ...router,
    begin: (question) =>
      router.begin(
        question.current === undefined && last !== undefined ? { ...question, current: { target: last } } : question // R1
      )
  }
}

/** Where the last answer of a conversation came from. */
export const lastAnswer = (history: ReadonlyArray<Message.Message>): Target.Target | undefined => {
  const answer = history.findLast((message) => message.role === "assistant" && message.error === undefined)
  return answer?.role === "assistant" ? answer.target : undefined
}

/** Whether a turn may go anywhere but where it begins. */
export const hasElsewhere = ({ routing }: RetryPolicy.RetryPolicy, credentials: Dependencies["credentials"]): boolean =>
  routing.type === "round-robin" ||
  Object.keys(routing.chains).length > 0 ||
  Object.values(credentials).some((names) => names.length > 1)
