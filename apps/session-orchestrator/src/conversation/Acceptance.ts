/**
 * Taking turns in: on disk first, then in the queue, then the answer.
 *
 * A1. Accepting and queueing are one act per conversation: turns run in the order in which they were accepted.
 * A2. The same turn again is accepted again, and run once.
 */
import { Ids } from "@holdfast/wire"
import { Clock, Effect, Option } from "effect"
import * as RecordedWait from "../durable/RecordedWait.ts"
import type { Journal } from "../storage/Journal.ts"
import type { Conversation, StorageError, Store, Turn } from "../storage/Store.ts"
import { ShuttingDown, TurnConflict } from "./Conversations.ts"
import type { Session } from "./Session.ts"
import type { Sessions } from "./Sessions.ts"
import type { TurnQueue } from "./TurnQueue.ts"

export interface Dependencies {
  readonly store: Store["Service"]
  readonly journal: Journal["Service"]
  readonly sessions: Sessions
  readonly queue: TurnQueue
  readonly isStopping: Effect.Effect<boolean>
}

type Accepted = Effect.Effect<Ids.TurnId, TurnConflict | ShuttingDown | StorageError>

/** Accepts a prompt. */
export const prompt = (
  dependencies: Dependencies,
  conversation: Conversation,
  prompt: string,
  turnId: Ids.TurnId | undefined
): Accepted => accept(dependencies, conversation, prompt, turnId, Effect.void)

/** Accepts a manual retry, if the last turn ended in an error or an abort (M1). */
export const retry = (
  dependencies: Dependencies,
  conversation: Conversation,
  turnId: Ids.TurnId | undefined
): Accepted => {
  const { conversationId } = conversation
  const allowed = Effect.flatMap(dependencies.store.lastTurn(conversationId), (last) => {
    // The same retry again is no second retry.
    if (Option.isSome(last) && last.value.turnId === turnId) return Effect.void
    const refusal = refusalOf(Option.getOrUndefined(last))
    return refusal === undefined ? Effect.void : Effect.fail(new TurnConflict({ message: refusal }))
  })
  return accept(dependencies, conversation, undefined, turnId, allowed)
}

/**
 * Takes up every turn that is not sealed, oldest first: one whose newest record begins a wait is parked again, without
 * being run; the others are queued.
 */
export const takeUp = Effect.fnUntraced(function* ({
  store,
  journal,
  sessions,
  queue
}: Dependencies): Effect.fn.Return<void, StorageError> {
  const turns = yield* store.unsealedTurns
  const tails = yield* journal.tails
  for (const turn of turns) {
    const { conversationId, turnId } = turn
    const tail = tails.get(turnId)
    const wakeAt = tail && RecordedWait.wakeAtOf(tail)
    // Only the first of a conversation can have begun; those behind it have no records.
    if (wakeAt !== undefined) {
      queue.parking.park(conversationId, turnId, wakeAt)
    } else {
      const conversation = yield* Effect.map(store.conversation(conversationId), Option.getOrThrow)
      yield* Effect.scoped(Effect.flatMap(sessions.hold(conversation), (session) => queue.add(session, turn)))
    }
  }
  if (turns.length > 0) yield* Effect.logInfo(`Took up ${turns.length} unfinished turn(s).`)
})

// --- internal

const refusalOf = (last: Turn | undefined): string | undefined => {
  if (last === undefined) return "There is nothing to retry: the conversation has no turn yet."
  if (last.end === undefined) return `There is nothing to retry: turn ${last.turnId} has not ended.`
  if (last.end.status === "completed") return `There is nothing to retry: turn ${last.turnId} was completed.`
  return undefined
}

const accept = (
  { store, sessions, queue, isStopping }: Dependencies,
  conversation: Conversation,
  prompt: string | undefined,
  wanted: Ids.TurnId | undefined,
  allowed: Effect.Effect<void, TurnConflict | StorageError>
): Accepted => {
  const { conversationId } = conversation
  const inOrder = Effect.fnUntraced(function* (session: Session) {
    yield* allowed
    const turnId = wanted ?? Ids.TurnId.make(globalThis.crypto.randomUUID())
    const turn = { turnId, conversationId, prompt, acceptedAt: yield* Clock.currentTimeMillis }
    const acceptance = yield* store.acceptTurn(turn)
    if (acceptance._tag === "Conflict") {
      return yield* new TurnConflict({ message: `The turn id ${turnId} belongs to another turn. Choose a new one.` })
    }
    if (acceptance._tag === "Accepted") yield* queue.add(session, { ...turn, end: undefined })
    return turnId
  }, Effect.uninterruptible)

  return Effect.gen(function* () {
    if (yield* isStopping) return yield* new ShuttingDown()
    const session = yield* sessions.hold(conversation)
    return yield* session.accepting.withPermits(1)(inOrder(session))
  }).pipe(Effect.scoped)
}
