/**
 * Shows conversations to clients: their state, their counts, and a parked turn's wait.
 *
 * ConversationViews.V1. A parked turn is not woken: its wait is read from its records.
 * ConversationViews.V2. The records of a wait do not include a gate's hold; `Parking` has its expected end.
 */
import type { StorageError } from "@holdfast/journal"
import type { Records } from "@holdfast/kernel"
import { History, RetryEvent, ToolQuestion } from "@holdfast/kernel/host"
import { type ConversationState, defined, type Ids, type TurnEvent } from "@holdfast/wire"
import { Effect, Option, type Scope, Struct } from "effect"
import type { TurnCounts } from "../conversation/Conversations.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import type { Journal } from "../storage/EventJournal.ts"
import type { Parking } from "../parking/Parking.ts"
import * as InProgress from "../session/InProgress.ts"
import type { Session } from "../session/Session.ts"
import type { Sessions } from "../session/Sessions.ts"
import type { Conversation, Store } from "../storage/Store.ts"
import * as MostRetries from "../turn/MostRetries.ts"
import * as TurnSetting from "../turn/TurnSetting.ts"
import * as NextTarget from "./NextTarget.ts"
import * as Upcoming from "./Upcoming.ts"

/** The parts that views are made from. */
export interface Dependencies {
  readonly store: Pick<Store["Service"], "turn">
  readonly journal: Pick<Journal["Service"], "load">
  readonly sessions: Sessions
  readonly parking: Parking
  readonly defaults: Defaults["Service"]
  readonly next: NextTarget.Dependencies
}

/** Holds the session of a conversation for a watcher. The wait of a parked turn is in progress there too. */
export const watched: (
  dependencies: Dependencies,
  conversation: Conversation
) => Effect.Effect<Session, StorageError, Scope.Scope> = Effect.fnUntraced(function* (dependencies, conversation) {
  const { parking, sessions } = dependencies
  const { conversationId } = conversation
  const session = yield* sessions.hold(conversationId)
  const parked = parking.find(conversationId)
  if (parked === undefined) return session
  const { inProgress } = session.hub
  if (inProgress.retry === undefined) {
    const event = yield* waitOf(dependencies, conversation, parked.turnId)
    // The turn may have been taken up while its records were read.
    if (event === undefined || parking.find(conversationId) !== parked) return session
    inProgress.live(event)
  }
  if (parked.heldUntil !== undefined) inProgress.hold(parked.heldUntil) // ConversationViews.V2
  return session
})

/** The state of a conversation, with the target of its next attempt. */
export const stateOf = Effect.fnUntraced(function* (
  dependencies: Dependencies,
  conversation: Conversation
): Effect.fn.Return<ConversationState.ConversationState, StorageError> {
  const { defaults, next, parking, sessions } = dependencies
  const { conversationId } = conversation
  const parked = parking.find(conversationId)
  const records = parked === undefined ? [] : yield* dependencies.journal.load(parked.turnId)
  const recorded = parked === undefined ? undefined : yield* retryOf(dependencies, conversation, parked.turnId, records)
  const until = parked?.heldUntil
  const wait = recorded && until !== undefined ? InProgress.prolonged(recorded, until) : recorded
  const session = sessions.find(conversationId)
  const state = withoutModel(conversation, session, wait)
  const model =
    state.status === "idle"
      ? yield* NextTarget.of(next, conversation, TurnSetting.policyOf(conversation, defaults))
      : (wait?.target ?? session?.hub.inProgress.target ?? conversation.model)
  if (state.retry === undefined || state.turnId === undefined) return { ...state, model }
  const upcoming = Upcoming.of(
    { ...TurnSetting.policyOf(conversation, defaults), enabled: state.autoRetryEnabled },
    TurnSetting.targetOf(model),
    // A turn in memory has its state while the database is away, without the waits behind the present one.
    parked === undefined ? yield* Effect.orElseSucceed(dependencies.journal.load(state.turnId), () => []) : records
  )
  return { ...state, retry: { ...state.retry, ...defined({ upcoming }) }, model }
})

/** The number of turns in each status. */
export const countsOf = ({ parking, sessions }: Pick<Dependencies, "parking" | "sessions">): TurnCounts => {
  const counts = { running: 0, retrying: parking.size, queued: 0 }
  for (const { hub, turns } of sessions)
    for (const { residence } of turns) {
      if (residence === "queued") counts.queued++
      else if (residence !== "parked") counts[hub.inProgress.retry === undefined ? "running" : "retrying"]++
    }
  return counts
}

// --- internal

/** The `provider-retry` of a parked turn, made from its records (ConversationViews.V1). */
const waitOf = (
  dependencies: Dependencies,
  conversation: Conversation,
  turnId: Ids.TurnId
): Effect.Effect<TurnEvent.ProviderRetry | undefined, StorageError> =>
  Effect.flatMap(dependencies.journal.load(turnId), (records) => retryOf(dependencies, conversation, turnId, records))

const retryOf = (
  { defaults, store }: Pick<Dependencies, "defaults" | "store">,
  conversation: Conversation,
  turnId: Ids.TurnId,
  records: ReadonlyArray<Records.Stored>
): Effect.Effect<TurnEvent.ProviderRetry | undefined, StorageError> =>
  Effect.gen(function* () {
    const { wait } = History.of(records)
    const failure = wait?.failure ?? (wait?.asks && ToolQuestion.failureOf(wait.asks))
    if (wait === undefined || failure === undefined) return undefined
    // Only a conversation whose model was changed has turns with another one.
    const turn =
      wait.target === undefined && conversation.modelSince !== undefined ? yield* store.turn(turnId) : Option.none()
    const own = Option.getOrUndefined(turn)?.model ?? conversation.model
    const { asks, decision, retry: attempt, retryAt, since, target = own } = wait
    return RetryEvent.of({
      conversationId: conversation.conversationId,
      turnId,
      attempt,
      delayMs: Math.max(0, retryAt - since),
      retryAt,
      failure,
      target,
      credential: decision?.route?.credential,
      maxRetries: asks?.because === "tools" ? undefined : MostRetries.of(TurnSetting.policyOf(conversation, defaults)),
      asks
    })
  })

const withoutModel = (
  conversation: Conversation,
  session: Session | undefined,
  parked: TurnEvent.ProviderRetry | undefined
): Omit<ConversationState.ConversationState, "model"> => {
  const { conversationId, autoRetryEnabled, toolAnswers } = conversation
  const retry = parked ?? session?.hub.inProgress.retry
  const turnId = parked?.turnId ?? session?.head?.turnId
  return {
    conversationId,
    status: turnId === undefined ? "idle" : retry === undefined ? "running" : "retrying",
    autoRetryEnabled: session?.autoRetry ?? autoRetryEnabled,
    isRetrying: retry !== undefined,
    queued: session?.turns.flatMap((turn) => (turn.turnId === turnId ? [] : [turn.turnId])) ?? [],
    ...defined({ toolAnswers, turnId }),
    ...(retry && retryStateOf(retry))
  }
}

const retryStateOf = (event: TurnEvent.ProviderRetry) => {
  const retry = Struct.omit(event, ["type", "conversationId", "turnId", "target", "credential"])
  return { attempt: retry.attempt, retryAt: retry.retryAt, retry }
}
