/**
 * Makes the router of a turn, whose findings about targets are read from and written to the database.
 *
 * - A conversation whose policy is "never" (rule P9) continues on the target of its last answer, unless its model was changed
 *   since.
 * - A turn without any other target has no router, and no cost. A person may send it to any provider (rule X4), so the
 *   credentials of all providers count.
 */
import type { StorageError } from "@holdfast/journal"
import type { Router, TurnStopped } from "@holdfast/kernel"
import { type RetryPolicy, Routers, type Routes } from "@holdfast/policy"
import type { Message, Target } from "@holdfast/wire"
import type { Effect } from "effect"
import type { Standings } from "../../storage/Standings.ts"

/** What the router of a turn needs. */
interface Setting extends Omit<Routes.Known, "standing"> {
  readonly standings: Standings["Service"]
  readonly policy: RetryPolicy.RetryPolicy
  /** The conversation before this turn, oldest first. */
  readonly history: ReadonlyArray<Message.Message>
  /** When the conversation's model was last changed. */
  readonly modelSince?: number | undefined
  /** The present state of the conversation's auto-retry switch (rule P15). */
  readonly isEnabled: () => boolean
  /** Repeats an effect while the disk refuses it; fails if the service stops first. */
  readonly patiently: <A>(effect: Effect.Effect<A, StorageError>) => Effect.Effect<A, TurnStopped.TurnStopped>
}

/** The router of a turn; `undefined` if there is no choice. */
export const make = ({
  history,
  isEnabled,
  modelSince,
  patiently,
  policy,
  standings,
  ...known
}: Setting): Router.Router["Service"] | undefined => {
  if (!hasElsewhere(policy, known.credentials)) return undefined
  const last = lastAnswer(history, modelSince)
  const router = Routers.make(policy, {
    ...known,
    load: (now) => patiently(standings.load(now)),
    note: (changes, now) => patiently(standings.note(changes, now)),
    isEnabled
  })
  return {
    ...router,
    begin: (question, now) => {
      const isFirst = question.current === undefined && last !== undefined
      return router.begin(isFirst ? { ...question, current: { target: last } } : question, now) // rule P9
    }
  }
}

/** The target of the last answer in a conversation, since its model was last changed. */
export const lastAnswer = (history: ReadonlyArray<Message.Message>, since = 0): Target.Target | undefined => {
  const answer = history.findLast(
    (message) => message.role === "assistant" && message.error === undefined && message.createdAt >= since
  )
  return answer?.role === "assistant" ? answer.target : undefined
}

/** Whether a turn may use another target or credential than its first. */
export const hasElsewhere = ({ routing }: RetryPolicy.RetryPolicy, credentials: Routes.Known["credentials"]): boolean =>
  routing.type === "round-robin" ||
  Object.keys(routing.chains).length > 0 ||
  Object.values(credentials).some((names) => names.length > 1)
