/**
 * Accepts turns: writes them to disk, queues them, then answers the client. Takes up the turns that another process has left on disk (`takeUp`).
 *
 * Acceptance.A1. Accepting and queueing are one step per conversation: turns run in the order in which they were accepted.
 * Acceptance.A2. A turn that can run at once is written together with its opening events. A turn behind others writes them when the others
 *     have ended, because its events would otherwise stand between theirs.
 * Acceptance.A4. A turn can be on disk without its client having received an answer (the database went away right after the commit). It is
 *     run when the client sends it again, or sends another one, which stands behind it: its first events are on disk.
 *
 * The same turn again is accepted again, and run once. A database that is away fails all acceptances that wait in line together (`Session`). No
 * turn but a held call's is accepted before the start is done. A start adds turns past the line of its conversation: a prompt could stand before
 * them.
 */
import { Interruption, RecordedWait, Spread, type StorageError } from "@holdfast/journal"
import type { Records } from "@holdfast/kernel"
import { Count, type Ids, Target, defined } from "@holdfast/wire"
import { Clock, Effect, Option } from "effect"
import * as TaskProgress from "../../base/system/TaskProgress.ts"
import * as TurnLog from "../../storage/TurnLog.ts"
import {
  type Conversation,
  type Resumption,
  type StoredEvent,
  type Turn,
  type Unsealed,
  storedPrompt
} from "../../storage/Stored.ts"
import {
  type ConversationNotFound,
  type PromptOptions,
  ShuttingDown,
  TurnConflict
} from "../conversation/Conversations.ts"
import * as HeldCallIds from "../../storage/HeldCallIds.ts"
import * as NewId from "../../storage/NewId.ts"
import type { GateWait } from "../gate/Gatekeeper.ts"
import * as Gates from "../gate/Gates.ts"
import type { Session } from "../session/Session.ts"
import type { Drafted, TurnQueue } from "./TurnQueue.ts"
import type { Parts } from "./Parts.ts"

type Accepted = Effect.Effect<Ids.TurnId, ConversationNotFound | TurnConflict | ShuttingDown | StorageError>

/** Accepts a prompt. The turn is on disk and queued when this succeeds. */
export const prompt = (parts: Parts, conversationId: Ids.ConversationId, options: PromptOptions): Accepted => {
  // A held call is the only turn of its conversation, and its request is its client's.
  const isForeign = HeldCallIds.isHeld(conversationId) && options.turnId !== HeldCallIds.turnOf(conversationId)
  const allowed = isForeign ? Effect.fail(new TurnConflict({ message: ONLY_ITS_CLIENT })) : Effect.void
  return accept(parts, { conversationId, ...options, allowed })
}

/** Accepts a manual retry, if the last turn ended in an error or an abort (rule M1). */
export const retry = (
  parts: Parts,
  conversationId: Ids.ConversationId,
  { isSubmitted, turnId }: Pick<PromptOptions, "isSubmitted" | "turnId">
): Accepted => {
  const { store } = parts
  const allowed = Effect.gen(function* () {
    if (HeldCallIds.isHeld(conversationId)) return yield* new TurnConflict({ message: ONLY_ITS_CLIENT })
    // The same retry sent again is not a second retry, whatever has happened since.
    if (turnId !== undefined && Option.isSome(yield* store.turn(turnId))) return
    const refusal = refusalOf(Option.getOrUndefined(yield* store.lastTurn(conversationId)))
    if (refusal !== undefined) return yield* new TurnConflict({ message: refusal })
  })
  return accept(parts, { conversationId, turnId, isSubmitted, allowed })
}

/**
 * Accepts a held call that was a draft until its first failure, with its conversation. It goes on from its records when this succeeds. It does not
 * wait for the start: its conversation is new, so a start has no turn to put before it.
 */
export const acceptDraft = (
  { isStopping, log, queue, receivers, sessions, store }: Parts,
  conversation: Conversation,
  { records, report, turn: drafted }: Extract<Drafted, { readonly _tag: "Failed" }>
): Effect.Effect<void, StorageError | ShuttingDown> => {
  const { conversationId } = conversation
  const turn = { ...drafted, conversationId, notify: receivers }
  return Effect.suspend((): Effect.Effect<void, StorageError | ShuttingDown> => {
    if (isStopping()) return Effect.fail(new ShuttingDown())
    return sessions.using(conversationId, (session) =>
      Effect.gen(function* () {
        yield* store.createConversation(conversation)
        const accepted = yield* log.accept(turn, { isOpened: true, isNew: true })
        const opening = accepted._tag === "Accepted" ? (accepted.opening ?? []) : []
        const stored = yield* Effect.forEach(records, TurnLog.storedOf)
        const append = { conversationId, turnId: turn.turnId, seq: 0, records, events: [], position: opening.length }
        yield* Effect.catchTag(TurnLog.one(log, append), "JournalConflict", Effect.die)
        session.conversation = conversation
        session.hub.persisted(opening)
        report(conversationId)
        const resumption = firstOf(conversation, turn, opening)
        yield* queue.add(session, turn.turnId, { arrival: { resumption, records: stored } })
      }).pipe(Effect.uninterruptible)
    )
  })
}

/** What was taken up. */
export interface TakenUp {
  readonly turns: number
  readonly conversations: number
  /** The turns that wait for their time. */
  readonly waiting: number
}

/**
 * Takes up the unsealed turns of all conversations or of some, oldest first. Either all turns are taken up, or none.
 *
 * **Details**
 *
 * - A turn whose newest record begins a wait is parked again without being run. If its time has passed, it wakes in a spread (rule X1).
 * - The other turns go on a few at a time (Waking.U1); those that may take the process down come last (rule X14).
 */
export const takeUp = (
  parts: Parts,
  isMeant?: (id: Ids.ConversationId) => boolean
): Effect.Effect<TakenUp, StorageError> =>
  TaskProgress.reported("Taking up unfinished turns", (progress) => takeUpAll(parts, isMeant, progress))

/**
 * Takes up the unsealed turns of a conversation that are not in memory here; returns whether there were any. Nothing is read where the turn that is
 * `meant`, or without it any, has come into memory since: it could end while the log is read.
 */
export const recover = (
  parts: Parts,
  conversationId: Ids.ConversationId,
  meant?: Ids.TurnId
): Effect.Effect<boolean, StorageError> =>
  parts.sessions.using(conversationId, (session) => {
    const isHere = () => session.turns.some(({ turnId }) => turnId === (meant ?? turnId))
    const missing = Effect.suspend(() => (isHere() ? Effect.succeed(false) : recovered(parts, session)))
    return Effect.uninterruptible(session.inOrder(missing))
  })

/** Why the conversation of this last turn has nothing to retry; `undefined`: it can be retried (rule M1). */
export const refusalOf = (last: Turn | undefined): string | undefined => {
  if (last === undefined) return "There is nothing to retry: the conversation has no turn yet."
  if (last.end === undefined) return `There is nothing to retry: turn ${last.turnId} has not ended.`
  if (last.end.status === "completed") return `There is nothing to retry: turn ${last.turnId} was completed.`
  return undefined
}

// --- internal

const ONLY_ITS_CLIENT =
  "This is a call of another program through the gateway. Only that program has its request, and can ask again."

const takeUpAll = Effect.fnUntraced(function* (
  parts: Parts,
  isMeant: ((id: Ids.ConversationId) => boolean) | undefined,
  progress: TaskProgress.TaskProgress
): Effect.fn.Return<TakenUp, StorageError> {
  const { gates, interruptions, log, providers, queue, sessions, store, tenancy } = parts
  const begun = yield* Clock.currentTimeMillis
  if (tenancy.predecessor !== undefined) yield* store.noteDeath(begun)
  // The turn of a held call waits for its client.
  const turns = (yield* log.tail(isMeant)).filter(({ conversationId }) => !HeldCallIds.isHeld(conversationId))
  const sleepers: Array<Spread.Sleeper & { readonly awaited: GateWait | undefined }> = []
  const others: Array<Unsealed> = []
  const interrupted = new Map<Ids.TurnId, Interruption.Interruption>()
  const suspects = new Set<Ids.ConversationId>()
  const heads = new Set<Ids.ConversationId>()
  /** The number of turns that wait for each provider that is not there any more. */
  const orphans = new Map<string, number>()
  for (const turn of turns) {
    const { conversationId, model, turnId } = turn
    yield* progress.at(() => `${sleepers.length + others.length} of ${turns.length} read`)
    const isHead = !heads.has(conversationId)
    heads.add(conversationId)
    // Only the head of a conversation is parked. A turn behind it has records if the head had stopped in its last life.
    const wait = isHead ? yield* RecordedWait.currentBy(log, turn) : undefined
    if (wait !== undefined) {
      const awaited = Gates.waitOfRecord(gates, turnId, wait, model)
      sleepers.push({ conversationId, turnId, wakeAt: RecordedWait.wakeAt(wait, begun), awaited })
      const provider = Target.parse(wait.target ?? model)?.provider
      if (provider !== undefined && !providers.names.includes(provider))
        orphans.set(provider, (orphans.get(provider) ?? 0) + 1)
      continue
    }
    others.push(turn)
    if (!isHead) continue
    const interruption = yield* interruptionOf(parts, turn)
    interrupted.set(turnId, interruption)
    if (Interruption.runPlanOf(interruption)._tag === "Alone") suspects.add(conversationId)
  }
  yield* Effect.forEach(interrupted, ([turnId, interruption]) => interruptions.takeUp(turnId, interruption), {
    concurrency: "unbounded",
    discard: true
  })
  const now = yield* Clock.currentTimeMillis
  const starts = Spread.startsOf(sleepers, now)
  // Parked turns come first: a turn behind a parked one must find it there.
  for (const { awaited, conversationId, turnId, wakeAt } of sleepers) {
    queue.parking.park(conversationId, turnId, starts.get(turnId) ?? wakeAt, awaited)
  }
  const together = others.filter(({ conversationId }) => !suspects.has(conversationId))
  const alone = others.filter(({ conversationId }) => suspects.has(conversationId))
  for (const [n, { conversationId, turnId }] of [...together, ...alone].entries()) {
    yield* progress.at(() => `${sleepers.length + n} of ${turns.length} taken up`)
    const add = (session: Session) => queue.add(session, turnId, { interruption: interrupted.get(turnId) })
    yield* sessions.using(conversationId, add)
  }
  if (suspects.size > 0) {
    const ids = alone.filter(({ turnId }) => interrupted.has(turnId)).map(({ turnId }) => turnId)
    yield* Effect.logWarning(
      `${ids.length} turn(s) were in progress at ${Interruption.SUSPECT} deaths of their process in a row. They are ` +
        `taken up after the others, one at a time: ${ids.slice(0, MOST_NAMED).join(", ")}${ids.length > MOST_NAMED ? " …" : ""}`
    )
  }
  for (const [provider, count] of orphans)
    yield* Effect.logWarning(
      `${Count.of(count, "turn")} ${count === 1 ? "waits" : "wait"} for provider "${provider}", which the configuration does not have: ` +
        `calls to it fail. Configure it again and restart, or: holdfast switch --model ${provider} --to PROVIDER/MODEL`
    )
  return { turns: turns.length, conversations: heads.size, waiting: sleepers.length }
})

/** Most turn ids in one log line. */
const MOST_NAMED = 10

/** The interruption of a turn that was in progress, with its last death counted. */
const interruptionOf = (
  { life, log }: Parts,
  { interruption: known, records, turnId }: Unsealed
): Effect.Effect<Interruption.Interruption, StorageError> => {
  const taken = (since: ReadonlyArray<Records.Stored>) => Interruption.takenUp(known, { life, records, since })
  if (known === undefined || known.seen >= records) return Effect.sync(() => taken([]))
  return Effect.map(log.load(turnId), (all) => taken(all.slice(known.seen)))
}

/** The start of a conversation's first turn; `undefined` for a later turn, which has a history. */
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

/** Id of a conversation's first event (rule X3). */
const FIRST_EVENT = 1

interface Wanted extends Partial<PromptOptions> {
  readonly conversationId: Ids.ConversationId
  /** Fails when such a turn is not allowed. */
  readonly allowed: Effect.Effect<void, TurnConflict | StorageError>
}

/** Queues the unsealed turns of a conversation that are on disk alone, in their order; returns whether there were any. */
const recovered = Effect.fnUntraced(function* (
  { doubtful, log, queue, store }: Parts,
  session: Session
): Effect.fn.Return<boolean, StorageError> {
  const { conversationId } = session
  const turns = yield* log.tail(conversationId)
  const lost = turns.filter(({ turnId }) => !queue.has({ conversationId, turnId }))
  for (const { turnId } of lost) {
    // Watchers of a wait have the events before it, and the wait goes on.
    if (session.hub.inProgress.retry?.turnId !== turnId) session.hub.persisted(yield* store.turnEvents(turnId))
    // The caller goes on at the next owner.
    if (!(yield* queue.add(session, turnId))) return yield* Effect.interrupt
  }
  doubtful.delete(conversationId)
  return lost.length > 0
})

/** Accepts the turns of a conversation one after the other (Acceptance.A1). */
const inOrder = Effect.fnUntraced(function* (
  parts: Parts,
  { allowed, isSubmitted, labels, prompt, turnId: wanted, webhook }: Wanted,
  session: Session,
  read: Conversation
) {
  const { doubtful, log, queue, receivers } = parts
  const conversation = session.present(read)
  const { conversationId } = conversation
  if (doubtful.has(conversationId)) yield* recovered(parts, session)
  yield* allowed
  const turnId = wanted ?? NewId.turn()
  const acceptedAt = yield* Clock.currentTimeMillis
  const turn = {
    turnId,
    conversationId,
    ...storedPrompt(prompt),
    acceptedAt,
    notify: webhook === undefined ? receivers : [...receivers, webhook],
    ...defined({ labels, isSubmitted: isSubmitted === true ? (true as const) : undefined })
  }
  const isOpened = isFree(queue, session)
  const acceptance = yield* Effect.tapError(log.accept(turn, { isOpened, isNew: wanted === undefined }), () =>
    Effect.sync(() => doubtful.add(conversationId))
  )
  if (acceptance._tag === "Conflict") {
    return yield* new TurnConflict({ message: `The turn id ${turnId} belongs to another turn. Choose a new one.` })
  }
  if (acceptance._tag === "Accepted") {
    const { opening } = acceptance
    if (isOpened && opening === undefined) {
      // A turn of another process stands before it, which had lost the conversation: both are taken up, in their order.
      yield* recovered(parts, session)
      return turnId
    }
    if (opening !== undefined) session.hub.persisted(opening)
    const resumption = opening && firstOf(conversation, turn, opening)
    yield* queue.add(session, turnId, { arrival: { resumption } })
  }
  if (acceptance._tag === "Known" && isUnowned(acceptance.turn, queue)) yield* recovered(parts, session)
  return turnId
}, Effect.uninterruptible)

/** Whether a turn can run at once (Acceptance.A2). */
const isFree = ({ parking }: Pick<TurnQueue, "parking">, { conversationId, head }: Session): boolean =>
  head === undefined && parking.find(conversationId) === undefined

/** Acceptance.A4 */
const isUnowned = (turn: Turn, queue: Pick<TurnQueue, "has">): boolean => turn.end === undefined && !queue.has(turn)

const accept = (parts: Parts, wanted: Wanted): Accepted =>
  Effect.suspend((): Accepted => {
    if (parts.isStopping()) return Effect.fail(new ShuttingDown())
    return parts.sessions.using(wanted.conversationId, (session) =>
      session.inOrder(
        // Read while a session exists: a change of the auto-retry switch then reaches it.
        Effect.flatMap(Effect.andThen(parts.started, parts.find(wanted.conversationId)), (found) => {
          session.conversation = found
          return inOrder(parts, wanted, session, found)
        })
      )
    )
  })
