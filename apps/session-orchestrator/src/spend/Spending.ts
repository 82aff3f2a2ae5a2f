/**
 * Applies the limits of spending (`spend`) to turns: before the first call of each step.
 *
 * Spending.P1. A step is checked once, before its first call; its retries are not. Nothing is done per token.
 * Spending.P2. The day is read from the database once, when the service starts. From then on this process counts what its own turns use.
 * Spending.P3. Where runners share a database, the turns that other runners have ended are read before a step, once in `REREAD_MS` at most. A
 *     turn of another runner counts when it has ended.
 * Spending.P4. A refused step is a failed attempt without a call. No gate, router or standing of an endpoint gets it.
 * Spending.P5. A conversation is read before the first step of a turn, if a limit is on conversations and its sum is not in memory. Where
 *     runners share a database, a limit on turns needs it too: the turn may have begun at another runner.
 */
import type { StorageError } from "@holdfast/journal"
import { Directive, type Observer, type Provider, RetryStrategy, type Router } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
import { Failure, type Ids, Target } from "@holdfast/wire"
import { Clock, Duration, Effect, Schedule } from "effect"
import type { SpendReading, SpendSettings, TurnUse } from "../conversation/Defaults.ts"
import * as DailyTime from "../text/DailyTime.ts"
import type { Journal } from "../storage/EventJournal.ts"
import type { Lists, TurnFilter, TurnRow } from "../storage/Lists.ts"
import * as LocalTime from "../text/LocalTime.ts"
import * as SpendLimits from "./limits/SpendLimits.ts"
import type * as SpendSums from "./limits/SpendSums.ts"
import { MIDNIGHT, SpendAccount } from "./SpendAccount.ts"

/** The turns of other runners are read so often, in milliseconds. */
export const REREAD_MS = 60_000

/** The limits of one process. */
export interface Spending {
  readonly listeners: Observer.Listeners
  /** Returns the provider of a turn, whose calls are checked (Spending.P1). */
  readonly checked: (provider: Provider.Provider["Service"], turn: CheckedTurn) => Provider.Provider["Service"]
  /** Returns the strategy of a turn, which asks at a limit with `"then": "ask"`. */
  readonly asking: <S extends Asking>(strategy: S, turnId: Ids.TurnId) => S
}

/** A strategy that decides, and may ask. */
type Asking = RetryStrategy.Deciding & Pick<RetryStrategy.RetryStrategy["Service"], "ask">

/** A turn whose steps are checked. */
export interface CheckedTurn {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  /** The tags of a turn that may not be on disk yet; absent: they are read from there. */
  readonly tags?: ReadonlyArray<string> | undefined
}

/** Where what was spent is read from. */
export interface Sources {
  readonly lists: Pick<Lists["Service"], "turns" | "labelsOf">
  readonly journal: Pick<Journal["Service"], "load">
}

/** The limits of this process, which the conversations of a runner share. The first call reads the day (Spending.P2). */
export const shared = (settings: SpendSettings, sources: Sources): Effect.Effect<Spending, StorageError> =>
  Effect.suspend(() => {
    const known = made.get(settings)
    if (known !== undefined) return known
    const making = Effect.runSync(
      Effect.cached(
        Effect.uninterruptible(make(settings, sources)).pipe(
          Effect.tapError(() => Effect.sync(() => made.delete(settings)))
        )
      )
    )
    made.set(settings, making)
    return making
  })

/** Reads the day (Spending.P2). */
export const make = Effect.fn("Spending.make")(function* (
  { isShared, limits, prices, reading }: SpendSettings,
  { journal, lists }: Sources
): Effect.fn.Return<Spending, StorageError> {
  const clock = yield* Clock.Clock
  const logged = new Set<string>()
  const account = new SpendAccount({ limits, prices, timeZone: LocalTime.here(), isShared })
  const hasTags = limits.some(({ per }) => per === "tag")
  const readsConversations = limits.some(({ per }) => per === "conversation" || (isShared && per === "turn"))
  let readAt = clock.currentTimeMillisUnsafe()
  const since = DailyTime.last(MIDNIGHT, readAt)
  yield* read({ journal, lists }, { status: "open" }, reading, (row, { uses, wasAsked }) => {
    account.enter(row.turn.turnId, row.labels.tags)
    for (const use of uses) account.add(row.turn.turnId, use)
    if (wasAsked) account.letPass(row.turn.turnId)
  })
  const ended = (from: number) =>
    Effect.forEach(
      ENDED,
      (status) =>
        read({ journal, lists }, { status, since: from }, reading, (row, { uses }) => account.enterEnded(row, uses)),
      { discard: true }
    )
  yield* ended(since)

  const reread = Effect.suspend(() => {
    const now = clock.currentTimeMillisUnsafe()
    if (now - readAt < REREAD_MS) return Effect.void
    const from = readAt - OVERLAP_MS
    readAt = now
    return ended(from)
  })
  const readConversation = Effect.fnUntraced(function* ({ conversationId, turnId }: CheckedTurn) {
    const own: Array<SpendSums.Use> = []
    const others: Array<SpendSums.Use> = []
    yield* read({ journal, lists }, { conversationId }, reading, ({ turn }, { uses }) => {
      const sum = turn.turnId === turnId ? own : others
      sum.push(...uses)
    })
    account.enterConversation(turnId, others)
    if (isShared) account.enterMoved(turnId, own)
  })
  /** Reads what the check of a step needs. */
  const prepared = (turn: CheckedTurn) =>
    Effect.gen(function* () {
      const { conversationId, turnId } = turn
      // The tags come first: what the turn has used at another runner counts for them too.
      if (hasTags && !account.knows(turnId)) account.enter(turnId, (yield* lists.labelsOf(turnId)).tags)
      if (readsConversations && !account.knowsConversation(turnId, conversationId)) yield* readConversation(turn)
      if (isShared) yield* reread
    }).pipe(
      Effect.tapError(({ message }) => Effect.logWarning(`The limits of spending cannot be checked: ${message}`)),
      Effect.retry(Schedule.spaced("5 seconds")),
      Effect.orDie
    )
  const isPrepared = ({ conversationId, turnId }: CheckedTurn) =>
    !isShared &&
    (!hasTags || account.knows(turnId)) &&
    (!readsConversations || account.knowsConversation(turnId, conversationId))
  const warned = (target: string) =>
    Effect.suspend(() => {
      if (logged.has(target)) return Effect.void
      logged.add(target)
      const warning = SpendLimits.uncheckable(limits, prices, target)
      return warning === undefined ? Effect.void : Effect.logWarning(warning)
    })

  return {
    listeners: account.listeners,
    checked: (provider, turn) => {
      account.resume(turn.turnId)
      const make = ProviderCall.of(provider)
      return ProviderCall.provider((request, world, listener) => {
        const { tags, turnId } = turn
        if (tags !== undefined) account.enter(turnId, tags)
        if (request.attempt > 0) {
          account.goesOn(turnId)
          return make(request, world, listener)
        }
        const checked = (): ProviderCall.Running => {
          const failure = account.refusal(turnId, world.now())
          if (failure === undefined) return make(request, world, listener)
          return ProviderCall.refuse(listener, { type: "error", failure })
        }
        const target = Target.format(request.target)
        if (isPrepared(turn) && logged.has(target)) return checked()
        return ProviderCall.behind(Effect.andThen(warned(target), prepared(turn)), world, listener, checked)
      })
    },
    asking: (strategy, turnId) => ({
      ...deciding(strategy),
      ask: (outlook, awaited) =>
        awaited !== undefined && Failure.isOfSpendLimit(awaited.failure)
          ? account.question(turnId, clock.currentTimeMillisUnsafe())
          : strategy.ask?.(outlook, awaited)
    })
  }
})

/** Decides about a step that was refused with `"then": "ask"`: the question follows a wait, however short. */
export const deciding = <S extends RetryStrategy.Deciding>(strategy: S): S => ({
  ...strategy,
  decide: (attempt, failure, spent) =>
    Failure.isOfSpendLimit(failure)
      ? { delay: Duration.millis(BEFORE_QUESTION_MS) }
      : RetryStrategy.decide(strategy, attempt, failure, spent)
})

/** Returns a router that gets no failure of a limit of spending (Spending.P4). */
export const routed = (
  router: Router.Router["Service"],
  strategy: RetryStrategy.Deciding
): Router.Router["Service"] => ({
  ...router,
  direct: (situation, question) =>
    Failure.isOfSpendLimit(situation.failure)
      ? Effect.succeed(Directive.decide(situation, strategy))
      : router.direct(situation, question)
})

// --- internal

const made = new WeakMap<SpendSettings, Effect.Effect<Spending, StorageError>>()

/** A question follows a wait, so there is a shortest one. */
const BEFORE_QUESTION_MS = 1

/** Clocks of runners may differ by so much. A turn that was read before is not counted again. */
const OVERLAP_MS = 30_000

const ENDED = ["completed", "failed", "aborted"] as const

const PAGE = 100

/** Reads turns page by page, with their records where those matter. */
const read = Effect.fnUntraced(function* (
  { journal, lists }: Sources,
  filter: TurnFilter,
  reading: SpendReading,
  take: (row: TurnRow, use: TurnUse) => void
): Effect.fn.Return<void, StorageError> {
  let position: TurnRow["position"] | undefined
  do {
    const page: { readonly rows: ReadonlyArray<TurnRow>; readonly next: TurnRow["position"] | undefined } =
      yield* lists.turns(filter, position, PAGE)
    for (const row of page.rows) {
      take(row, reading.of(row, reading.needsRecords(row) ? yield* journal.load(row.turn.turnId) : []))
    }
    position = page.next
  } while (position !== undefined)
})
