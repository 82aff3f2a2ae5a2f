/**
 * Applies the limits of spending (`spend`) to turns: before the first call of each step.
 *
 * Spending.P1. A step is checked once, before its first call; its retries are not. Nothing is done per token.
 * Spending.P3. Where runners share a database, the turns that other runners have ended are read before a step, once in `REREAD_MS` at most. A
 *     turn of another runner counts when it has ended. While the database is away, a turn that is not on disk is checked by what is in memory.
 * Spending.P6. A limit that is raised is on disk, and in force here, when `raise` succeeds. A runner reads what others have raised before it refuses.
 *
 * The day is read from the database once, when the service starts. From then on this process counts what its own turns use. Calls of the
 * gateway that were answered at once are on disk without tags, and those of other runners count after a start. A refused step is a failed
 * attempt without a call. No gate, router or standing of an endpoint gets it. A conversation is read before the first step of a turn, if a
 * limit is on conversations and its sum is not in memory. Where runners share a database, a limit on turns needs it too: the turn may have
 * begun at another runner.
 */
import type { StorageError } from "@holdfast/journal"
import { type Provider, RetryStrategy } from "@holdfast/kernel"
import { type History, ProviderCall } from "@holdfast/kernel/host"
import { Count, defined, Failure, type Ids, Target, type TurnEvent } from "@holdfast/wire"
import type { WorkGroup } from "@holdfast/wire/api"
import { Clock, Duration, Effect, PubSub, Schedule, Semaphore, Stream } from "effect"
import { InvalidRequest } from "../conversation/Conversations.ts"
import type { SpendSettings } from "../conversation/Defaults.ts"
import type { AnsweredCalls } from "../../storage/AnsweredCalls.ts"
import { ALWAYS, type SpendRaise, type SpendRaises } from "../../storage/SpendRaises.ts"
import type { TurnLog } from "../../storage/TurnLog.ts"
import type { Lists } from "../../storage/Lists.ts"
import type { TurnFilter, TurnRow } from "../../storage/ListPage.ts"
import * as LocalTime from "../../base/text/LocalTime.ts"
import * as SpendLimits from "../../config/limits/SpendLimits.ts"
import * as SpendSums from "../../config/limits/SpendSums.ts"
import { MIDNIGHT, SpendAccount } from "./SpendAccount.ts"
import * as TurnUse from "./TurnUse.ts"

/** The turns of other runners are read so often, in milliseconds. */
export const REREAD_MS = 60_000

/** The limits of one process. */
export type Spending = Effect.Success<ReturnType<typeof make>>

/** A strategy that decides, and may ask. */
type Asking = RetryStrategy.Deciding & Pick<RetryStrategy.RetryStrategy["Service"], "ask">

/** A limit that is raised. */
interface Raising {
  readonly raise: SpendRaise
  readonly name: TurnEvent.LimitName
}

/** A turn whose steps are checked. */
export interface CheckedTurn {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  /** The tags of a turn that may not be on disk yet; absent: they are read from there. */
  readonly tags?: ReadonlyArray<string> | undefined
  /** It is not on disk, and the only turn of its conversation. */
  readonly isDraft?: boolean | undefined
}

/** Where what was spent is read from. */
export interface Sources {
  readonly lists: Pick<Lists["Service"], "turns" | "labelsOf">
  readonly log: Pick<TurnLog["Service"], "load">
  /** Calls of the gateway that were no turns. */
  readonly answered?: Pick<AnsweredCalls["Service"], "between"> | undefined
  /** Absent: raises are in memory alone. */
  readonly raises?: SpendRaises["Service"] | undefined
}

/** The limits of this process, which the conversations of a runner share. The first call reads the day. */
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

/** Reads the day. */
export const make = Effect.fn("Spending.make")(function* (
  { isShared, limits, prices }: SpendSettings,
  { answered, log, lists, raises }: Sources
) {
  const clock = yield* Clock.Clock
  const logged = new Set<string>()
  const account = new SpendAccount({ limits, prices, timeZone: LocalTime.here(), isShared })
  const hasTags = limits.some(({ per }) => per === "tag")
  const readsConversations = limits.some(({ per }) => per === "conversation" || (isShared && per === "turn"))
  let readAt = clock.currentTimeMillisUnsafe()
  const since = LocalTime.lastDaily(MIDNIGHT, readAt)
  const news = yield* PubSub.unbounded<TurnEvent.LimitName>()
  const asked = new Map<Ids.TurnId, History.History>()
  yield* read({ log, lists }, { status: "open" }, (row, uses, history) => {
    account.enter(row.turn.turnId, row.labels.tags)
    for (const use of uses) account.add(row.turn.turnId, use)
    if (TurnUse.wasAsked(history)) asked.set(row.turn.turnId, history)
  })
  const ended = (from: number) =>
    Effect.forEach(
      ENDED,
      (status) => read({ log, lists }, { status, since: from }, (row, uses) => account.enterEnded(row, uses)),
      { discard: true }
    )
  yield* ended(since)
  const calls = answered === undefined ? [] : yield* answered.between(since, readAt)
  for (const { hour, target, tokens, unreported } of calls) {
    account.addCall({ target, tokens, at: Math.max(hour, since), isUnreported: unreported > 0 })
  }

  const readRaises = Effect.suspend(() =>
    raises === undefined
      ? Effect.void
      : Effect.map(raises.load(clock.currentTimeMillisUnsafe()), (known) => account.enterRaises(known))
  )
  yield* readRaises
  for (const [turnId, history] of asked) {
    if (TurnUse.isAsking(history)) account.question(turnId, readAt)
    account.letPass(turnId)
  }
  const raisedBy = ({ name, raise }: Raising) =>
    Effect.sync(() => {
      account.enterRaises([raise])
      PubSub.publishUnsafe(news, name)
    })
  // Its row comes first: other runners read it before their turns go on. A client that leaves meanwhile does not part the two.
  const put = (raising: Raising) =>
    Effect.andThen(
      Effect.suspend(() => raises?.add(raising.raise, clock.currentTimeMillisUnsafe()) ?? Effect.void),
      raisedBy(raising)
    ).pipe(Effect.uninterruptible)
  const line = yield* Semaphore.make(1)
  const reread = Effect.suspend(() => {
    const now = clock.currentTimeMillisUnsafe()
    if (now - readAt < REREAD_MS) return Effect.void
    const from = readAt - OVERLAP_MS
    readAt = now
    return ended(from)
  })
  const readConversation = Effect.fnUntraced(function* ({ conversationId, turnId }: CheckedTurn) {
    const own: Array<SpendSums.TokenUse> = []
    const others: Array<SpendSums.TokenUse> = []
    yield* read({ log, lists }, { conversationId }, ({ turn }, uses) => {
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
      turn.isDraft === true ? Effect.ignore : Effect.retry(Schedule.spaced("5 seconds")), // Spending.P3
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
      const warning = SpendLimits.uncheckable(limits, prices, SpendSums.nameOf(target))
      return warning === undefined ? Effect.void : Effect.logWarning(warning)
    })

  return {
    listeners: account.listeners,
    /** A turn that is not on disk has left: what it has spent counts for the day, and it is forgotten. */
    left: (turnId: Ids.TurnId) => account.left(turnId),
    /** Returns the provider of a turn, whose calls are checked (Spending.P1). */
    checked: (provider: Provider.Provider["Service"], turn: CheckedTurn) => {
      account.resume(turn.turnId)
      const make = ProviderCall.of(provider)
      return ProviderCall.provider((request, world, listener) => {
        const { isDraft, tags, turnId } = turn
        if (tags !== undefined) account.enter(turnId, tags)
        if (isDraft === true) account.enterConversation(turnId, [])
        const decided = (hasRead = !isShared): ProviderCall.Running => {
          const failure = account.refusal(turnId, world.now())
          if (failure === undefined) return make(request, world, listener)
          if (hasRead) return ProviderCall.refuse(listener, { type: "error", failure })
          return ProviderCall.behind(Effect.ignore(readRaises), world, listener, () => decided(true))
        }
        const goesOn = (): ProviderCall.Running => {
          const answer = account.goesOn(turnId, world.now())
          if (answer === undefined) return make(request, world, listener)
          if (answer === "again") return decided(true)
          const kept = Effect.catch(put(answer), ({ message }) =>
            Effect.andThen(
              raisedBy(answer),
              Effect.logWarning(`A limit of spending is raised until a restart: ${message}`)
            )
          )
          return ProviderCall.behind(kept, world, listener, () => make(request, world, listener))
        }
        if (request.attempt > 0)
          return isShared && account.isAsking(turnId)
            ? ProviderCall.behind(Effect.ignore(readRaises), world, listener, goesOn)
            : goesOn()
        const target = Target.format(request.target)
        if (isPrepared(turn) && logged.has(target)) return decided()
        return ProviderCall.behind(Effect.andThen(warned(target), prepared(turn)), world, listener, () => decided())
      })
    },
    /** Returns the strategy of a turn, which asks at a limit with `"then": "ask"`. */
    asking: <S extends Asking>(strategy: S, turnId: Ids.TurnId): S => ({
      ...strategy,
      ask: (outlook, awaited) =>
        awaited !== undefined && Failure.isOfSpendLimit(awaited.failure)
          ? account.question(turnId, clock.currentTimeMillisUnsafe())
          : strategy.ask?.(outlook, awaited)
    }),
    /** Receives each limit that is raised here, by a command or by an answer, for the turns that ask about it. */
    raised: Stream.fromPubSub(news),
    /** Raises a limit, by default so that it allows as much again from now on (Spending.P6). */
    raise: Effect.fn("Spending.raise")(function* (
      wanted: WorkGroup.RaiseLimit
    ): Effect.fn.Return<WorkGroup.RaisedLimit, InvalidRequest | StorageError> {
      const refuse = (message: string) => new InvalidRequest({ message })
      const limit = limits[wanted.limit]
      const { conversationId, money, tag, tokens } = wanted
      if (limit === undefined)
        return yield* refuse(
          `limit: found ${wanted.limit}; the configuration has ${Count.of(limits.length, "limit")} (spend).`
        )
      const problem = problemOf(limit, wanted)
      if (problem !== undefined) return yield* refuse(problem)
      const name = { limit: wanted.limit, ...defined({ tag, conversationId }) }
      const spent = new SpendSums.SpendSum()
      if (conversationId !== undefined)
        yield* read({ log, lists }, { conversationId }, (_row, uses) => uses.forEach((use) => spent.add(use)))
      if (isShared) yield* Effect.andThen(reread, readRaises)
      // One behind the other: a smaller raise does not take the place of a larger one.
      const raise = yield* line.withPermit(
        Effect.suspend(() => {
          const raise = account.raised(limit, name, { money, tokens }, clock.currentTimeMillisUnsafe(), spent)
          return raise === undefined ? Effect.undefined : Effect.as(put({ raise, name }), raise)
        })
      )
      if (raise === undefined) return yield* refuse(`spend[${wanted.limit}] allows nothing: name money or tokens.`)
      return {
        ...name,
        ...defined({
          money: raise.money ?? undefined,
          tokens: raise.tokens ?? undefined,
          until: raise.until === ALWAYS ? undefined : raise.until
        })
      }
    })
  }
})

/** Why a limit cannot be raised so. */
const problemOf = (
  limit: SpendLimits.SpendLimit,
  { conversationId, limit: place, tag, ...more }: WorkGroup.RaiseLimit
): string | undefined => {
  const expects = {
    tag: limit.per === "tag" && limit.tag === undefined,
    conversationId: limit.per === "conversation"
  }
  const of = { tag, conversationId }
  for (const key of ["tag", "conversationId"] as const) {
    if (expects[key] && of[key] === undefined) return `${key}: spend[${place}] has a sum for each; name one.`
    if (!expects[key] && of[key] !== undefined) return `${key}: spend[${place}] has one sum; leave it out.`
  }
  for (const key of ["money", "tokens"] as const)
    if (more[key] !== undefined && limit[key] === undefined) return `${key}: spend[${place}] has no limit of ${key}.`
  return undefined
}

/** Decides about a step that was refused with `"then": "ask"`: the question follows a wait, however short. */
export const deciding = <S extends RetryStrategy.Deciding>(strategy: S): S => ({
  ...strategy,
  decide: (attempt, failure, spent) =>
    Failure.isOfSpendLimit(failure)
      ? { delay: Duration.millis(BEFORE_QUESTION_MS) }
      : RetryStrategy.decide(strategy, attempt, failure, spent)
})

// --- internal

const made = new WeakMap<SpendSettings, Effect.Effect<Spending, StorageError>>()

/** A question follows a wait, so there is a shortest one. */
const BEFORE_QUESTION_MS = 1

/** Clocks of runners may differ by so much. A turn that was read before is not counted again. */
const OVERLAP_MS = 30_000

const ENDED = ["completed", "failed", "aborted"] as const

/** Reads turns with what they have used. */
const read = (
  sources: TurnUse.Sources,
  filter: TurnFilter,
  take: (row: TurnRow, uses: ReadonlyArray<SpendSums.TokenUse>, history: History.History) => void
): Effect.Effect<void, StorageError> =>
  TurnUse.read(sources, filter, (row, history) =>
    take(row, TurnUse.of(TurnUse.firstOf(row, history), row.turn.end, history), history)
  )
