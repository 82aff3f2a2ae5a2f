/** Reads how turns end: those of this process from memory, others from disk. */
import type { StorageError } from "@holdfast/journal"
import { TurnStopped } from "@holdfast/kernel"
import type { Ids, TurnEvent } from "@holdfast/wire"
import { Effect, Option } from "effect"
import type { TurnResult } from "../conversation/Conversations.ts"
import * as ModelAnswer from "../conversation/ModelAnswer.ts"
import type { StoredEvent, Turn } from "../../storage/Stored.ts"
import type { Parts } from "./Parts.ts"

type ResultError = StorageError | TurnStopped.TurnStopped

/** A turn's row. Callers have the id from an acceptance, so the turn exists. */
export const turnOf = ({ store }: Pick<Parts, "store">, turnId: Ids.TurnId): Effect.Effect<Turn, StorageError> =>
  Effect.map(
    store.turn(turnId),
    Option.getOrThrowWith(() => new Error(`turn ${turnId} was never accepted`))
  )

/**
 * Waits for a turn's end, and reads its answer. With `within`, the turn's conversation, a turn in memory is not looked up on disk. Fails with
 * `TurnStopped` for an unsealed turn that this process does not run.
 */
export const resultOf = Effect.fnUntraced(function* (
  parts: Parts,
  turnId: Ids.TurnId,
  within: Ids.ConversationId | undefined
): Effect.fn.Return<TurnResult, ResultError> {
  const end = yield* sealOf(parts, turnId, within)
  const events = yield* parts.store.turnEvents(end.turnId)
  return { turnId: end.turnId, end, text: ModelAnswer.textOf(events.map(({ event }) => event)) }
})

/** A turn's events until now. An unsealed turn must run in this process: otherwise its end would never be reported here. */
export const eventsOf = (
  { queue, store }: Parts,
  turn: Pick<Turn, "conversationId" | "turnId">
): Effect.Effect<ReadonlyArray<StoredEvent>, ResultError> =>
  Effect.suspend(() => {
    const isHere = queue.has(turn)
    return Effect.filterOrFail(
      store.turnEvents(turn.turnId),
      (events) => isHere || events.at(-1)?.event.type === "turn-end",
      () => notHere(turn.turnId)
    )
  })

// --- internal

/** A turn that is here needs no database. */
const sealOf = (
  parts: Parts,
  turnId: Ids.TurnId,
  within: Ids.ConversationId | undefined
): Effect.Effect<TurnEvent.TurnEnd, ResultError> => {
  if (within === undefined) return anySealOf(parts, turnId)
  const { queue } = parts
  const here = queue.seals.awaitHere(turnId, () => queue.has({ conversationId: within, turnId }))
  return Effect.flatMap(here, (end) => (end === undefined ? anySealOf(parts, turnId) : Effect.succeed(end)))
}

/** Subscribes first and reads second, so that a seal between the two is not missed. */
const anySealOf = (parts: Parts, turnId: Ids.TurnId): Effect.Effect<TurnEvent.TurnEnd, ResultError> => {
  const { queue } = parts
  const stored = Effect.flatMap(
    turnOf(parts, turnId),
    (turn): Effect.Effect<TurnEvent.TurnEnd, TurnStopped.TurnStopped> => {
      if (turn.end !== undefined) return Effect.succeed(turn.end)
      return queue.has(turn) ? Effect.never : Effect.fail(notHere(turnId))
    }
  )
  return Effect.raceFirst(queue.seals.await(turnId), stored)
}

const notHere = (turnId: Ids.TurnId): TurnStopped.TurnStopped =>
  new TurnStopped.TurnStopped({ message: `Turn ${turnId} has stopped, and is not run by this process.` })
