/**
 * Shows conversations to clients: their state, their counts, and a parked turn's wait.
 *
 * A parked turn is not woken: its wait is read from its records, which do not include a gate's hold; `Parking` has its expected end.
 *
 * The target is that of the attempts while a turn runs. Otherwise it is where the next turn would begin now: a fallback target while the
 * primary cools down, even if the prompt will not fit it, as its size is unknown.
 *
 * The waits behind the present one are those of the same failure again and again, with attempts that take no time and a provider that names no
 * time. Where a router may choose another target there are none: its waits depend on what that target does.
 */
import type { StorageError } from "@holdfast/journal"
import type { Records } from "@holdfast/kernel"
import { History, RetryEvent, ToolQuestion, Spending } from "@holdfast/kernel/host"
import { type ConversationState, type Ids, type TurnEvent, Target, defined } from "@holdfast/wire"
import { Effect, Option, type Scope, Struct, Clock } from "effect"
import { RetryPolicy, Routes } from "@holdfast/policy"
import type { TurnCounts } from "../conversation/Conversations.ts"
import type { Parked } from "../parking/Parking.ts"
import * as InProgress from "../session/InProgress.ts"
import type { Session } from "../session/Session.ts"
import * as HeldCallIds from "../../storage/HeldCallIds.ts"
import type { Conversation } from "../../storage/Stored.ts"
import * as TurnPlan from "../turn/TurnPlan.ts"
import * as TurnRouter from "../turn/TurnRouter.ts"
import * as TurnSetting from "../turn/TurnSetting.ts"
import type { Parts } from "./Parts.ts"

/** Holds the session of a conversation for a watcher. The wait of a parked turn is in progress there too. */
export const watched = Effect.fnUntraced(function* (
  parts: Parts,
  conversation: Conversation
): Effect.fn.Return<Session, StorageError, Scope.Scope> {
  const { parking, sessions } = parts
  const { conversationId } = conversation
  const session = yield* sessions.hold(conversationId)
  const parked = parking.find(conversationId)
  if (parked === undefined) return session
  const { inProgress } = session.hub
  if (inProgress.retry === undefined) {
    const records = yield* parts.log.load(parked.turnId)
    const event = yield* retryOf(parts, conversation, parked.turnId, records)
    // The turn may have been taken up while its records were read.
    if (event === undefined || parking.find(conversationId) !== parked) return session
    inProgress.live(event)
  }
  if (parked.heldUntil !== undefined) inProgress.hold(parked.heldUntil)
  return session
})

/** The state of a conversation, with the target of its next attempt. */
export const stateOf = Effect.fnUntraced(function* (
  parts: Parts,
  conversation: Conversation
): Effect.fn.Return<ConversationState.ConversationState, StorageError> {
  const { defaults, parking, sessions } = parts
  const { conversationId } = conversation
  const session = sessions.find(conversationId)
  const parked = parking.find(conversationId) ?? (session?.head ? undefined : yield* leftCall(parts, conversationId))
  const records = parked === undefined ? [] : yield* parts.log.load(parked.turnId)
  const recorded = parked === undefined ? undefined : yield* retryOf(parts, conversation, parked.turnId, records)
  const until = parked?.heldUntil
  const wait = recorded && until !== undefined ? InProgress.prolonged(recorded, until) : recorded
  const state = withoutModel(conversation, session, wait)
  const model =
    state.status === "idle"
      ? yield* nextTargetOf(parts, conversation, TurnSetting.policyOf(conversation, defaults))
      : (wait?.target ?? session?.hub.inProgress.target ?? conversation.model)
  if (state.retry === undefined || state.turnId === undefined) return { ...state, model }
  const upcoming = upcomingOf(
    { ...TurnSetting.policyOf(conversation, defaults), enabled: state.autoRetryEnabled },
    TurnSetting.targetOf(model),
    // A turn in memory has its state while the database is away, without the waits behind the present one.
    parked === undefined ? yield* Effect.orElseSucceed(parts.log.load(state.turnId), () => []) : records
  )
  return { ...state, retry: { ...state.retry, ...defined({ upcoming }) }, model }
})

/** The number of turns in each status. */
export const countsOf = ({ parking, sessions }: Parts): TurnCounts => {
  const counts = { running: 0, retrying: parking.size, queued: 0 }
  for (const { hub, turns } of sessions)
    for (const { draft, residence } of turns) {
      if (draft !== undefined) continue
      if (residence === "queued") counts.queued++
      else if (residence !== "parked") counts[hub.inProgress.retry === undefined ? "running" : "retrying"]++
    }
  return counts
}

// --- internal

/** The turn of a held call whose program has left: it is on disk alone, and waits for the program (rule X13). */
const leftCall = (
  { store }: Parts,
  conversationId: Ids.ConversationId
): Effect.Effect<Pick<Parked, "turnId" | "heldUntil"> | undefined, StorageError> =>
  HeldCallIds.isHeld(conversationId)
    ? Effect.map(store.lastTurn(conversationId), (last) => {
        const turn = Option.getOrUndefined(last)
        return turn === undefined || turn.end !== undefined ? undefined : { turnId: turn.turnId, heldUntil: undefined }
      })
    : Effect.undefined

/** The `provider-retry` of a parked turn, made from its records. */
const retryOf = (
  { defaults, store }: Parts,
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
      maxRetries:
        asks?.because === "tools" ? undefined : TurnPlan.mostRetriesOf(TurnSetting.policyOf(conversation, defaults)),
      asks
    })
  })

const withoutModel = (
  conversation: Conversation,
  session: Session | undefined,
  parked: TurnEvent.ProviderRetry | undefined
): Omit<ConversationState.ConversationState, "model"> => {
  const { autoRetryEnabled, conversationId, toolAnswers } = session?.present(conversation) ?? conversation
  const retry = parked ?? session?.hub.inProgress.retry
  const turnId = parked?.turnId ?? session?.head?.turnId
  return {
    conversationId,
    status: turnId === undefined ? "idle" : retry === undefined ? "running" : "retrying",
    autoRetryEnabled,
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

/** `provider/model` that the next turn of a conversation begins on. Nothing is read if there is only one target. */
const nextTargetOf = (
  { defaults: { models }, log, providers: { credentials }, standings }: Parts,
  { conversationId, model, modelSince }: Conversation,
  policy: RetryPolicy.RetryPolicy
): Effect.Effect<string, StorageError> => {
  const { routing } = policy
  const primary = Target.parse(model)
  if (primary === undefined || routing.type === "round-robin" || Object.keys(routing.chains).length === 0) {
    return Effect.succeed(model)
  }
  return Effect.gen(function* () {
    const last =
      routing.revert === "never" ? TurnRouter.lastAnswer(yield* log.history(conversationId), modelSince) : undefined
    const now = yield* Clock.currentTimeMillis
    const standing = yield* standings.load(now)
    const question = {
      primary,
      current: last === undefined ? undefined : { target: last },
      state: undefined,
      request: { system: undefined, messages: [], tools: [] }
    }
    const { route } = Routes.begin(policy, question, { credentials, models, standing, countTokens: () => 0 }, now)
    return Target.format(route.target)
  })
}

/** More waits than a night has. */
const MOST = 32

/** The waits behind the present one; `undefined` where there is none, or where they do not follow from the policy alone. */
const upcomingOf = (
  policy: RetryPolicy.RetryPolicy,
  primary: Target.Target,
  records: ReadonlyArray<Records.Stored>
): ConversationState.Upcoming | undefined => {
  const history = History.of(records)
  const { wait } = history
  if (wait?.failure === undefined || wait.asks !== undefined || hasOtherTargets(policy, primary)) return undefined
  const { hint: _, ...failure } = wait.failure
  const delaysMs: Array<number> = []
  let spending = History.spendingAfterWait(history)
  let at = wait.retryAt
  for (let attempt = wait.retry + 1; ; attempt++) {
    const decision = RetryPolicy.decide(policy, attempt, failure, Spending.spentAt(spending, failure, at, 0))
    if (decision._tag === "Refused") return { delaysMs, ...jitterOf(policy), because: decision.because }
    if (delaysMs.length === MOST) return { delaysMs, ...jitterOf(policy) }
    delaysMs.push(decision.delayMs)
    spending = Spending.retry(spending, failure, decision.delayMs)
    at += decision.delayMs
  }
}

const hasOtherTargets = ({ routing }: RetryPolicy.RetryPolicy, primary: Target.Target): boolean =>
  routing.type === "round-robin"
    ? routing.targets.some((target) => Target.format(target) !== Target.format(primary))
    : Object.values(routing.chains).some((chain) => chain.length > 0)

const jitterOf = ({ jitter }: RetryPolicy.RetryPolicy) =>
  defined({ jitter: jitter.factor > 0 ? jitter.factor : undefined })
