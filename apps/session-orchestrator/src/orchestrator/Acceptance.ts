/**
 * Taking turns in: on disk first, then in the queue, then the answer.
 *
 * A1. Accepting and queueing are one act per conversation: turns run in the order in which they were accepted.
 * A2. A turn that can run at once is written with what it says first. One that has others before it says it when they have ended,
 *     or its events would stand between theirs.
 * A3. The same turn again is accepted again, and run once.
 * A6. A new prompt whose turn can run at once is run while it is being accepted (`Early`), so that its provider is asked a sync of the disk
 *     earlier: not where the database is in trouble, and not where its id was given, since it might be known.
 * A5. A database that is away fails all that wait to be accepted together (`FailTogether`).
 * A4. A turn that is on disk, though nobody heard that it was accepted (its database went away right after the commit), is run when it
 *     is handed in again.
 */
import { Interruption, RecordedWait, Spread, type StorageError } from "@holdfast/journal"
import { type Records, Turn as KernelTurn } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Clock, Effect, Exit, Option, type Scope } from "effect"
import * as Progress from "../system/Progress.ts"
import type { Interruptions } from "../storage/Interruptions.ts"
import type { Journal } from "../storage/Journal.ts"
import type { Conversation, Resumption, Store, StoredEvent, Turn, Unsealed } from "../storage/Store.ts"
import type { TenancyService } from "../storage/sqlite/Tenancy.ts"
import { type ConversationNotFound, ShuttingDown, TurnConflict } from "../conversation/Conversations.ts"
import type { Awaited } from "../gate/Gatekeeper.ts"
import * as Gates from "../gate/Gates.ts"
import type { Session } from "../session/Session.ts"
import type { Sessions } from "../session/Sessions.ts"
import type { TurnQueue } from "./TurnQueue.ts"

export interface Dependencies {
  /** Reads a conversation; fails for one that there is not. */
  readonly find: (id: Ids.ConversationId) => Effect.Effect<Conversation, ConversationNotFound | StorageError>
  readonly store: Store["Service"]
  readonly journal: Journal["Service"]
  readonly sessions: Sessions
  readonly queue: TurnQueue
  readonly tenancy: TenancyService
  readonly gates: Gates.Gates["Service"]
  readonly interruptions: Interruptions["Service"]
  /** The name of this process. */
  readonly life: string
  readonly isStopping: Effect.Effect<boolean>
}

type Accepted = Effect.Effect<Ids.TurnId, ConversationNotFound | TurnConflict | ShuttingDown | StorageError>

/** Accepts a prompt. */
export const prompt = (
  dependencies: Dependencies,
  conversationId: Ids.ConversationId,
  prompt: string,
  turnId: Ids.TurnId | undefined
): Accepted => accept(dependencies, { conversationId, prompt, turnId, allowed: Effect.void })

/** Accepts a manual retry, if the last turn ended in an error or an abort (M1). */
export const retry = (
  dependencies: Dependencies,
  conversationId: Ids.ConversationId,
  turnId: Ids.TurnId | undefined
): Accepted => {
  const { store } = dependencies
  const allowed = Effect.gen(function* () {
    // The same retry again is no second retry, whatever has happened since.
    if (turnId !== undefined && Option.isSome(yield* store.turn(turnId))) return
    const refusal = refusalOf(Option.getOrUndefined(yield* store.lastTurn(conversationId)))
    if (refusal !== undefined) return yield* new TurnConflict({ message: refusal })
  })
  return accept(dependencies, { conversationId, prompt: undefined, turnId, allowed })
}

/**
 * Takes up every turn that is not sealed, oldest first: one whose newest record begins a wait is parked again, without
 * being run, and wakes in a spread where its time has passed (X1); the others are queued, those that may take the process down behind
 * all others (X14). What another process runs is left to it. Either all are taken up, or none.
 */
export const takeUp = (dependencies: Dependencies): Effect.Effect<void, StorageError> =>
  Progress.reported("Taking up unfinished turns", (progress) => takeUpAll(dependencies, progress))

/** Takes up the turns of a conversation that are not sealed and that nothing here has in memory; whether there were any. */
export const recover: (
  dependencies: Dependencies,
  conversationId: Ids.ConversationId
) => Effect.Effect<boolean, StorageError> = Effect.fnUntraced(function* (
  { queue, sessions, store, tenancy }: Dependencies,
  conversationId: Ids.ConversationId
): Effect.fn.Return<boolean, StorageError, Scope.Scope> {
  const session = yield* sessions.hold(conversationId)
  const add = Effect.gen(function* () {
    const turns = yield* store.unsealedTurnsOf(conversationId)
    const lost = turns.filter(({ turnId }) => !queue.has({ conversationId, turnId }) && !tenancy.isElsewhere(turnId))
    for (const { turnId } of lost) yield* queue.add(session, turnId)
    return lost.length > 0
  })
  return yield* Effect.uninterruptible(session.accepting.pass(add))
}, Effect.scoped)

// --- internal

const takeUpAll = Effect.fnUntraced(function* (
  dependencies: Dependencies,
  progress: Progress.Progress
): Effect.fn.Return<void, StorageError> {
  const { gates, interruptions, journal, queue, sessions, store, tenancy } = dependencies
  const begun = yield* Clock.currentTimeMillis
  const turns = (yield* store.unsealedTurns).filter(({ turnId }) => !tenancy.isElsewhere(turnId))
  const sleepers: Array<Spread.Sleeper & { readonly awaited: Awaited | undefined }> = []
  const others: Array<Unsealed> = []
  const interrupted = new Map<Ids.TurnId, Interruption.Interruption>()
  const suspects = new Set<Ids.ConversationId>()
  const heads = new Set<Ids.ConversationId>()
  for (const turn of turns) {
    const { conversationId, model, turnId } = turn
    yield* progress.at(() => `${sleepers.length + others.length} of ${turns.length} read`)
    const isHead = !heads.has(conversationId)
    heads.add(conversationId)
    // Only the head of a conversation is parked. One behind it has records if that one had stopped in its last life.
    const wait = isHead ? yield* RecordedWait.begunBy(journal, turn) : undefined
    if (wait !== undefined) {
      const awaited = Gates.remembered(gates, wait, model)
      sleepers.push({ conversationId, turnId, wakeAt: wait.retryAt, awaited })
      continue
    }
    others.push(turn)
    if (!isHead) continue
    const interruption = yield* interruptionOf(dependencies, turn)
    interrupted.set(turnId, interruption)
    if (Interruption.verdictOf(interruption)._tag === "Alone") suspects.add(conversationId)
  }
  yield* Effect.forEach(interrupted, ([turnId, interruption]) => interruptions.takeUp(turnId, interruption), {
    concurrency: "unbounded",
    discard: true
  })
  const now = yield* Clock.currentTimeMillis
  const starts = Spread.startsOf(sleepers, now)
  // Before the others: a turn behind one that sleeps must find it there.
  for (const { awaited, conversationId, turnId, wakeAt } of sleepers) {
    queue.parking.park(conversationId, turnId, starts.get(turnId) ?? wakeAt, awaited)
  }
  const together = others.filter(({ conversationId }) => !suspects.has(conversationId))
  const alone = others.filter(({ conversationId }) => suspects.has(conversationId))
  for (const [n, { conversationId, turnId }] of [...together, ...alone].entries()) {
    yield* progress.at(() => `${sleepers.length + n} of ${turns.length} taken up`)
    const add = (session: Session) => queue.add(session, turnId, { interruption: interrupted.get(turnId) })
    yield* Effect.scoped(Effect.flatMap(sessions.hold(conversationId), add))
  }
  if (turns.length === 0) return
  const predecessor = tenancy.predecessor === undefined ? "the last process" : `${tenancy.predecessor}, which died`
  const tookMs = (yield* Clock.currentTimeMillis) - begun
  yield* Effect.logInfo(
    `Took up ${turns.length} unfinished turn(s) in ${tookMs} ms, from ${predecessor}; ${sleepers.length} of them ${sleepers.length === 1 ? "waits" : "wait"} for their time.`
  )
  if (suspects.size > 0) {
    const ids = alone.filter(({ turnId }) => interrupted.has(turnId)).map(({ turnId }) => turnId)
    yield* Effect.logWarning(
      `${ids.length} turn(s) were in the middle of something at ${Interruption.SUSPECT} deaths of their process in a row. They are ` +
        `taken up after the others, one at a time: ${ids.slice(0, MOST_NAMED).join(", ")}${ids.length > MOST_NAMED ? " …" : ""}`
    )
  }
})

/** Turns that one line of the log names at most. */
const MOST_NAMED = 10

/** What has interrupted a turn that was in the middle of something, its last death included. */
const interruptionOf = (
  { journal, life }: Dependencies,
  { interruption: known, records, turnId }: Unsealed
): Effect.Effect<Interruption.Interruption, StorageError> => {
  const taken = (since: ReadonlyArray<Records.Stored>) => Interruption.takenUp(known, { life, records, since })
  if (known === undefined || known.life === life || known.seen >= records) return Effect.sync(() => taken([]))
  return Effect.map(journal.load(turnId), (all) => taken(all.slice(known.seen)))
}

const refusalOf = (last: Turn | undefined): string | undefined => {
  if (last === undefined) return "There is nothing to retry: the conversation has no turn yet."
  if (last.end === undefined) return `There is nothing to retry: turn ${last.turnId} has not ended.`
  if (last.end.status === "completed") return `There is nothing to retry: turn ${last.turnId} was completed.`
  return undefined
}

const openingOf = ({ acceptedAt, conversationId, prompt, turnId }: Omit<Turn, "end">) =>
  KernelTurn.opening({
    conversationId,
    turnId,
    startedAt: acceptedAt,
    ...(prompt === undefined ? undefined : { prompt })
  })

/** What the first turn of a conversation begins with; `undefined` for another, which has a history. */
const firstOf = (
  conversation: Conversation,
  turn: Omit<Turn, "end">,
  opening: ReadonlyArray<StoredEvent>
): Resumption | undefined =>
  opening[0]?.id === FIRST_EVENT
    ? {
        conversation,
        turn: { ...turn, end: undefined },
        history: [],
        persisted: opening.map(({ event }) => event.type)
      }
    : undefined

/** Of a conversation (X3). */
const FIRST_EVENT = 1

interface Wanted {
  readonly conversationId: Ids.ConversationId
  readonly prompt: string | undefined
  readonly turnId: Ids.TurnId | undefined
  /** Fails where there may be no such turn. */
  readonly allowed: Effect.Effect<void, TurnConflict | StorageError>
}

/** One turn of a conversation after the other (A1). */
const inOrder = Effect.fnUntraced(function* (
  { store, queue, tenancy }: Dependencies,
  { allowed, prompt, turnId: wanted }: Wanted,
  session: Session,
  conversation: Conversation
) {
  const { conversationId } = conversation
  yield* allowed
  const turnId = wanted ?? tenancy.newTurnId()
  const turn = { turnId, conversationId, prompt, acceptedAt: yield* Clock.currentTimeMillis }
  const isFree = session.head === undefined && queue.parking.find(conversationId) === undefined // A2
  const opening = isFree ? openingOf(turn) : undefined
  const isNew = wanted === undefined && prompt !== undefined
  const history = opening !== undefined && isNew ? yield* readable(store.history(conversationId)) : undefined
  const early =
    opening &&
    history &&
    queue.anticipate(session, {
      conversation,
      turn: { ...turn, end: undefined },
      history,
      persisted: opening.map(({ type }) => type)
    })
  const accepting = yield* Effect.exit(store.acceptTurn(turn, opening, early?.begin))
  if (early !== undefined && !(Exit.isSuccess(accepting) && accepting.value._tag === "Accepted")) yield* early.refuse
  const acceptance = yield* accepting
  if (acceptance._tag === "Conflict") {
    return yield* new TurnConflict({ message: `The turn id ${turnId} belongs to another turn. Choose a new one.` })
  }
  if (acceptance._tag === "Accepted") {
    const { opening } = acceptance
    session.hub.recent.accepted(turnId)
    if (opening !== undefined) session.hub.persisted(opening)
    if (early?.accept() !== true)
      yield* queue.add(session, turnId, { arrival: { resumption: opening && firstOf(conversation, turn, opening) } })
  }
  if (acceptance._tag === "Known" && isNobodys(acceptance.turn, queue, tenancy)) {
    session.hub.persisted(yield* store.turnEvents(turnId))
    yield* queue.add(session, turnId)
  }
  return turnId
}, Effect.uninterruptible)

/** `undefined` for a history that is damaged: its turn is accepted all the same, and waits for it to be mended. */
const readable = <A>(history: Effect.Effect<A, StorageError>): Effect.Effect<A | undefined, StorageError> =>
  Effect.catchIf(
    history,
    ({ concerns }) => concerns === "one",
    () => Effect.undefined
  )

/** A4 */
const isNobodys = (turn: Turn, queue: TurnQueue, tenancy: TenancyService): boolean =>
  turn.end === undefined && !queue.has(turn) && !tenancy.isElsewhere(turn.turnId)

const accept: (dependencies: Dependencies, wanted: Wanted) => Accepted = Effect.fnUntraced(function* (
  dependencies,
  wanted
) {
  if (yield* dependencies.isStopping) return yield* new ShuttingDown()
  const session = yield* dependencies.sessions.hold(wanted.conversationId)
  // Read while there is a session, so that a switch that is turned from now on is heard (`Session.autoRetry`).
  const conversation = yield* dependencies.find(wanted.conversationId)
  session.conversation = conversation
  return yield* session.accepting.pass(inOrder(dependencies, wanted, session, conversation))
}, Effect.scoped)
