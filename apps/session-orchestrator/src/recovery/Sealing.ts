/**
 * Seals a turn from its stored data, without running it (rules C10, X14).
 *
 * For turns that cannot end by themselves: running them takes the process down, or a defect stops them each time.
 */
import { Observer, RetryStrategy, Turn as KernelTurn, TurnStopped } from "@holdfast/kernel"
import { Sealing as KernelSealing } from "@holdfast/kernel/host"
import { defined, type Failure, type Ids, Message, Target, type TurnEvent } from "@holdfast/wire"
import { Array as Arr, Clock, Effect, Option } from "effect"
import * as Account from "./Account.ts"
import type { Session } from "../session/Session.ts"
import type { TurnServices } from "../turn/TurnServices.ts"

/** The end to give a turn. */
export interface Outcome {
  readonly status: "failed" | "aborted"
  readonly failure: Failure.Failure
}

/** Seals a turn and returns its end; a turn that is sealed already stays as it is. Fails with `TurnStopped` if another process runs it. */
export const seal = Effect.fnUntraced(function* (
  services: TurnServices,
  session: Session,
  turnId: Ids.TurnId,
  outcome: Outcome
): Effect.fn.Return<TurnEvent.TurnEnd, TurnStopped.TurnStopped> {
  const { journal, observer, store } = services
  const patiently = services.patiently(turnId)
  const turn = Option.getOrThrow(yield* patiently(store.turn(turnId)))
  if (turn.end !== undefined) return turn.end
  const { acceptedAt, conversationId } = turn
  const known = (yield* patiently(store.turnEvents(turnId))).map(({ event }) => event)
  const { model } = Option.getOrThrow(yield* patiently(store.conversation(conversationId)))
  const account = Account.of(yield* patiently(journal.load(turnId)))
  const endedAt = yield* Clock.currentTimeMillis
  const { discarded, tally, unclosed } = standingOf(account, known, endedAt)
  const { end, events } = KernelSealing.sealing(turn, tally, { ...outcome, endedAt, discarded, unclosed })
  const opening =
    known.length > 0
      ? []
      : KernelTurn.firstEvents({
          conversationId,
          turnId,
          startedAt: acceptedAt,
          ...defined({ prompt: yield* patiently(store.prompt(turnId)) })
        })
  const all = Arr.appendAll(opening, events)
  const stored = yield* patiently(store.appendEvents(conversationId, turnId, all, known.length))
  if (stored.at(-1)?.event.type !== "turn-end") {
    return yield* new TurnStopped.TurnStopped({ message: `Turn ${turnId} is being run elsewhere.` })
  }
  session.hub.persisted(stored)
  const target = Target.parse(account.target ?? model) ?? { provider: "", model }
  const place = { conversationId, turnId, step: tally.steps, stepStartedAt: acceptedAt, target }
  Observer.sealed(observer, all, { ...place, startedAt: acceptedAt, end, retryLoopMs: 0 })
  return end
})

// --- internal

interface Standing {
  readonly tally: KernelSealing.Tally
  /** The last attempt of the chain of retries that is open (rule P11). */
  readonly unclosed: number | undefined
  /** The step whose text was shown when its process died (rule X2). */
  readonly discarded: number | undefined
}

const standingOf = (
  { attempts }: Account.Account,
  events: ReadonlyArray<TurnEvent.PersistedEvent>,
  endedAt: number
): Standing => {
  const last = attempts.at(-1)
  const isCutOff = last !== undefined && last.hasContent && last.outcome === undefined
  const retries = attempts.flatMap(({ decision, step }) =>
    decision?._tag === "Retry" ? [{ step, attempt: decision.attempt }] : []
  )
  // Each step has one chain of retries at most. A question about tool calls is a chain of its own (`Approvals.A4`).
  const questionsOf = ({ outcome, wakes }: Account.AttemptAccount) =>
    outcome?._tag === "Completed" ? wakes.filter(({ type }) => type === "asked").length : 0
  const questions = attempts.reduce((sum, attempt) => sum + questionsOf(attempt), 0)
  const chains = new Set(retries.map(({ step }) => step)).size + questions
  const closed = events.filter(({ type }) => type === "retry-end").length
  return {
    tally: {
      steps: last?.step ?? 0,
      attempts: Account.endedCalls(attempts) + (isCutOff ? 1 : 0),
      sleptMs: attempts.reduce((sum, attempt) => sum + sleptOf(attempt, attempts), 0),
      waitedMs: Account.waitedMs(attempts, endedAt),
      usage: attempts.reduce((sum, attempt) => Message.addUsage(sum, usageOf(attempt)), {})
    },
    unclosed: chains <= closed ? undefined : last !== undefined && questionsOf(last) > 0 ? 0 : retries.at(-1)?.attempt,
    discarded: isCutOff ? last.step : undefined
  }
}

const sleptOf = (attempt: Account.AttemptAccount, attempts: ReadonlyArray<Account.AttemptAccount>): number =>
  attempt.wakes.some(RetryStrategy.endsWait) ? Account.scheduledMs(attempt, attempts) : 0

const usageOf = ({ outcome }: Account.AttemptAccount): Message.Usage =>
  outcome !== undefined && "usage" in outcome ? (outcome.usage ?? {}) : {}
