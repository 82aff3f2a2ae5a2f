/**
 * Seals a turn from its stored data, without running it (rules C10, X14).
 *
 * For turns that cannot end by themselves: running them takes the process down, or a defect stops them each time.
 */
import { Observer, Turn as KernelTurn, TurnStopped } from "@holdfast/kernel"
import { History, Sealing as KernelSealing } from "@holdfast/kernel/host"
import { defined, type Failure, type Ids, Target, type TurnEvent } from "@holdfast/wire"
import { Array as Arr, Clock, Effect, Option } from "effect"
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
  const history = History.of(yield* patiently(journal.load(turnId)))
  const endedAt = yield* Clock.currentTimeMillis
  const tally = History.tallyAt(history, endedAt)
  const { retryLoopMs, sleptMs, usage, waitedMs } = tally
  const { number: steps } = history.step
  const { end, events } = KernelSealing.sealing(
    turn,
    { steps, attempts: History.callsOf({ tally }), sleptMs, waitedMs, usage },
    {
      ...outcome,
      endedAt,
      discarded: History.isCutOff(history) ? steps : undefined,
      unclosed: history.chains[known.filter(({ type }) => type === "retry-end").length]
    }
  )
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
  const target = Target.parse(history.target ?? model) ?? { provider: "", model }
  const place = { conversationId, turnId, step: steps, stepStartedAt: acceptedAt, target }
  Observer.sealed(observer, all, { ...place, startedAt: acceptedAt, end, retryLoopMs })
  return end
})
