/**
 * Keeps what the day, conversations and turns have cost, and refuses steps that begin at a limit (`spend`). In memory, and synchronous.
 *
 * SpendAccount.A1. Each call counts when it ends: answers, void attempts and compactions. At its end a turn counts what is still missing,
 *     so the sum of a turn is that of its `turn-end`.
 * SpendAccount.A2. An answer to a question lets the turn pass that limit until its end, and raises it for the others. They go on below it, and ask
 *     again where it is reached again: what makes them go on is no answer.
 * SpendAccount.A4. A conversation runs one turn at a time. Before its first step a turn gets what the earlier turns of its conversation have spent; its own
 *     calls are added to that.
 *
 * Turns that have ended are remembered for `REMEMBERED_MS`: a turn that is read from the database again counts once.
 */
import type { Observer } from "@holdfast/kernel"
import { Prices, Durations, SpendGuard } from "@holdfast/policy"
import { Failure, type Ids, Target, type TurnEvent } from "@holdfast/wire"
import { BoundedMap } from "../../base/system/BoundedMap.ts"
import * as LocalTime from "../../base/text/LocalTime.ts"
import type { TurnRow } from "../../storage/ListPage.ts"
import { ALWAYS, type SpendRaise } from "../../storage/SpendRaises.ts"
import * as SpendLimits from "../../config/limits/SpendLimits.ts"
import * as SpendSums from "../../config/limits/SpendSums.ts"

/** Limits, and the prices that money is computed by. */
interface Limited {
  readonly limits: ReadonlyArray<SpendLimits.SpendLimit>
  readonly prices: Prices.Prices
  readonly timeZone: string
  /** Several runners share the database. */
  readonly isShared?: boolean
}

/** The spending of a day and of the turns that have not ended. */
export class SpendAccount {
  private readonly limited: Limited
  private readonly sums = new SpendSums.SpendSums((at) => LocalTime.lastDaily(MIDNIGHT, at))
  private readonly turns = new Map<Ids.TurnId, OpenTurn>()
  private readonly raises = new Map<string, SpendRaise>()
  private readonly ended = new Map<Ids.TurnId, number>()
  /** Sums of conversations without a running turn, the last used at the end. */
  private readonly conversations = new BoundedMap<SpendSums.SpendSum>(MOST_CONVERSATIONS)

  constructor(limited: Limited) {
    this.limited = limited
  }

  /** Whether the tags of a turn are known. */
  knows(turnId: Ids.TurnId): boolean {
    return this.turns.get(turnId)?.tags !== undefined
  }

  /** Whether the spending of a turn's conversation is known (SpendAccount.A4). */
  knowsConversation(turnId: Ids.TurnId, conversationId: Ids.ConversationId): boolean {
    const turn = this.turn(turnId)
    turn.conversationId = conversationId
    const kept = this.conversations.get(conversationId)
    // It has made no call: what it would add is in no sum.
    if (kept !== undefined && turn.counted === Prices.NO_TOKENS)
      Object.assign(turn, { conversation: kept, hasOthers: true, isWhole: true })
    return turn.isWhole
  }

  /** Adds what the other turns of a turn's conversation have spent, once (SpendAccount.A4). */
  enterConversation(turnId: Ids.TurnId, others: ReadonlyArray<SpendSums.TokenUse>): void {
    const turn = this.turn(turnId)
    turn.isWhole = true
    if (turn.hasOthers) return
    turn.hasOthers = true
    for (const use of others) turn.conversation.add(use)
  }

  /** A turn is taken up here. Where runners share the database it may have been at another one since its last step here. */
  resume(turnId: Ids.TurnId): void {
    const turn = this.turns.get(turnId)
    if (this.limited.isShared === true && turn !== undefined) turn.isWhole = false
  }

  /** Adds what a turn has used at another runner, as far as it was not counted here. */
  enterMoved(turnId: Ids.TurnId, uses: ReadonlyArray<SpendSums.TokenUse>): void {
    const { counted } = this.turn(turnId)
    const last = uses.at(-1)
    if (last === undefined) return
    if (counted === Prices.NO_TOKENS) return uses.forEach((use) => this.add(turnId, use))
    const total = uses.reduce((sum, { tokens }) => Prices.add(sum, tokens), Prices.NO_TOKENS)
    this.add(turnId, { target: last.target, tokens: SpendSums.missing(total, counted), at: last.at })
  }

  /** Sets the tags of a turn; absent: it has none. */
  enter(turnId: Ids.TurnId, tags: ReadonlyArray<string> = []): void {
    this.turn(turnId).tags = tags
  }

  /** Adds tokens of a turn that has not ended. */
  add(turnId: Ids.TurnId, use: SpendSums.TokenUse): void {
    const turn = this.turn(turnId)
    turn.counted = Prices.add(turn.counted, use.tokens)
    turn.conversation.add(use)
    turn.own.add(use)
    this.sums.add(use, turn.tags ?? [])
  }

  /** Adds the tokens of a turn that has ended, once. */
  enterEnded(
    { labels: { tags = [] }, model, turn: { end, turnId } }: TurnRow,
    uses: ReadonlyArray<SpendSums.TokenUse>
  ): void {
    if (end === undefined || this.ended.has(turnId)) return
    const open = this.turns.get(turnId)
    const missing = open === undefined ? uses : SpendSums.restOf(end, open.counted, uses.at(-1)?.target ?? model)
    for (const use of missing) this.sums.add(use, tags)
    this.turns.delete(turnId)
    this.noteEnd(turnId, end.endedAt)
  }

  /** The failure of a step that would begin at a limit; `undefined`: it may begin. */
  refusal(turnId: Ids.TurnId, at: number): Failure.Failure | undefined {
    const reached = this.reached(turnId, at)
    if (reached?.limit.then === "ask") this.turn(turnId).asks = reached
    return reached && failureOf(reached)
  }

  /** Adds the tokens of a call that is no turn on disk. */
  addCall(use: SpendSums.TokenUse): void {
    this.sums.add(use, [])
  }

  /** The question of a turn that was refused; `undefined`: no limit is reached any more. */
  question(turnId: Ids.TurnId, at: number) {
    const reached = this.reached(turnId, at)
    if (reached === undefined) return undefined
    const { limit, name, spent } = reached
    this.turn(turnId).asks = reached
    const asks = { because: "spend" as const, tokens: spent.tokens, limit: limit.tokens ?? 0, waitedMs: 0 }
    return {
      asks: { ...asks, message: messageOf(reached), raises: name },
      answerWithinMs: Durations.millisOr(limit.answerWithin, SpendGuard.ANSWER_WITHIN_MS)
    }
  }

  /** Whether a turn was refused with a question. */
  isAsking(turnId: Ids.TurnId): boolean {
    return this.turns.get(turnId)?.asks !== undefined
  }

  /**
   * The turn goes on after a refusal: the limit is no longer reached, or a person has answered (SpendAccount.A2). Then the raise that follows is
   * returned; none of a limit of turns, whose sum is the turn's own. `again`: the limit was raised since it asked, and is reached again.
   */
  goesOn(
    turnId: Ids.TurnId,
    at: number
  ): { readonly raise: SpendRaise; readonly name: TurnEvent.LimitName } | "again" | undefined {
    const turn = this.turns.get(turnId)
    const asked = turn?.asks
    if (turn === undefined || asked === undefined) return undefined
    turn.asks = undefined
    // A turn that asked before a restart may pass it by now.
    turn.allowed.delete(asked.index)
    const reached = this.reached(turnId, at)
    if (reached === undefined) return undefined
    if (reached.index === asked.index && !isSame(reached, asked)) return "again"
    turn.allowed.add(asked.index)
    if (reached.index !== asked.index || asked.limit.per === "turn") return undefined
    const raised = SpendLimits.raise(reached.limit, this.raisedOf(reached.limit, reached.name, at), reached.spent)
    return raised && { raise: raiseOf(reached, raised, at), name: reached.name }
  }

  /** Limits are raised, here or elsewhere. */
  enterRaises(raises: ReadonlyArray<SpendRaise>): void {
    for (const raise of raises) this.raises.set(keyOf(raise), raise)
  }

  /** What a sum of a limit would be allowed. `conversation`: what was spent in that one. */
  raised(
    limit: SpendLimits.SpendLimit,
    name: TurnEvent.LimitName,
    more: SpendLimits.Raised,
    at: number,
    conversation: SpendSums.SpendSum
  ): SpendRaise | undefined {
    const { prices } = this.limited
    const spent = {
      day: () => this.sums.spent(undefined, prices, at),
      tag: () => this.sums.spent(name.tag ?? limit.tag, prices, at),
      conversation: () => conversation.spent(prices),
      turn: () => new SpendSums.SpendSum().spent(prices)
    }[limit.per]()
    const raised = SpendLimits.raise(limit, this.raisedOf(limit, name, at), spent, more)
    return raised && raiseOf({ limit, name }, raised, at)
  }

  /** A person has answered a question of the turn in an earlier life of this process. */
  letPass(turnId: Ids.TurnId): void {
    const { allowed } = this.turn(turnId)
    for (const [index, limit] of this.limited.limits.entries()) if (limit.then === "ask") allowed.add(index)
  }

  /** Counts what turns use (SpendAccount.A1). */
  readonly listeners: Observer.Listeners = {
    attempt: ({ outcome, request, target, turnId }) => this.counted(turnId, request?.target ?? target, outcome),
    compaction: ({ outcome, target, turnId }) => this.counted(turnId, target, outcome),
    seal: (sealed) => this.sealed(sealed)
  }

  /** Counts what a call has used (SpendAccount.A1). */
  counted(
    turnId: Ids.TurnId,
    target: Target.Target,
    outcome: (Observer.AttemptEnded | Observer.CompactionEnded)["outcome"]
  ): void {
    if (!("usage" in outcome) || outcome.usage === undefined) return
    const { endedAt = 0, usage } = outcome
    this.add(turnId, { target: Target.format(target), tokens: SpendSums.tokensOf(usage), at: endedAt })
  }

  /** Counts what is still missing of a turn that has ended (SpendAccount.A1). */
  sealed({
    conversationId,
    end,
    target,
    turnId
  }: Pick<Observer.Sealed, "conversationId" | "end" | "target" | "turnId">): void {
    const { conversation, counted, isWhole, tags } = this.turn(turnId)
    for (const use of SpendSums.restOf(end, counted, Target.format(target))) {
      this.sums.add(use, tags ?? [])
      conversation.add(use)
    }
    // Where the database is shared, another runner may run the next turn.
    if (isWhole && this.limited.isShared !== true) this.conversations.set(conversationId, conversation)
    this.turns.delete(turnId)
    this.noteEnd(turnId, end.endedAt)
  }

  /** Forgets a turn that has left without an end: what it has used stays in the sums of the day. */
  left(turnId: Ids.TurnId): void {
    this.turns.delete(turnId)
  }

  // --- internal

  /** A turn that is read from the database again counts once. */
  private noteEnd(turnId: Ids.TurnId, endedAt: number): void {
    this.ended.set(turnId, endedAt)
    for (const [id, at] of this.ended) {
      if (at > endedAt - REMEMBERED_MS) break
      this.ended.delete(id)
    }
  }

  private reached(turnId: Ids.TurnId, at: number): SpendLimits.Reached | undefined {
    const { allowed, conversation, conversationId, own, tags = [] } = this.turn(turnId)
    const { limits, prices, timeZone } = this.limited
    return SpendLimits.reached(limits, {
      allowed,
      raised: (limit, name) => this.raisedOf(limit, name, at),
      conversationId,
      prices,
      tags,
      timeZone,
      day: (tag) => this.sums.spent(tag, prices, at),
      conversation: () => conversation.spent(prices),
      turn: () => own.spent(prices)
    })
  }

  private raisedOf(
    limit: SpendLimits.SpendLimit,
    name: TurnEvent.LimitName,
    at: number
  ): SpendLimits.Raised | undefined {
    const known = this.raises.get(keyOf({ of: SpendLimits.identity(limit), scope: scopeOf(name) }))
    return known === undefined || known.until <= at
      ? undefined
      : { money: known.money ?? undefined, tokens: known.tokens ?? undefined }
  }

  private turn(turnId: Ids.TurnId): OpenTurn {
    const turn = this.turns.get(turnId) ?? new OpenTurn()
    this.turns.set(turnId, turn)
    return turn
  }
}

/** The first moment of a day. */
export const MIDNIGHT = "00:00"

/** Conversations whose sums are kept between their turns. */
const MOST_CONVERSATIONS = 1_000

/** Longer than the time between two reads of the same turn, in milliseconds. */
const REMEMBERED_MS = 600_000

// --- internal

class OpenTurn {
  /** `undefined`: not read yet. */
  tags: ReadonlyArray<string> | undefined = undefined
  /** The tokens that were added to the sums. */
  counted = Prices.NO_TOKENS
  conversationId: Ids.ConversationId | undefined = undefined
  /** The calls of its conversation: its own, and those of the other turns once they were read (`hasOthers`). */
  conversation = new SpendSums.SpendSum()
  hasOthers = false
  /** Nothing is missing: neither calls of the other turns, nor its own at another runner. */
  isWhole = false
  /** Its own calls. */
  readonly own = new SpendSums.SpendSum()
  /** The limit that the turn asks about. */
  asks: SpendLimits.Reached | undefined = undefined
  readonly allowed = new Set<number>()
}

const failureOf = (reached: SpendLimits.Reached): Failure.Failure => ({
  reason: "quota-exhausted",
  message: messageOf(reached),
  retryable: reached.limit.then === "ask",
  code: Failure.SPEND_LIMIT,
  shared: true
})

const messageOf = (reached: SpendLimits.Reached): string => {
  const { limit, message } = reached
  const command = SpendLimits.advice(reached)
  return limit.then === "ask"
    ? `${message} ${ANSWER[limit.per]}${command}.`
    : `${message} No call was made. ${command}${OTHERWISE[limit.per]}.`
}

/** What an answer does, before the command that does it, too. */
const ANSWER: Readonly<Record<SpendLimits.SpendLimit["per"], string>> = {
  day: "An answer, or ",
  tag: "An answer, or ",
  conversation: "An answer, or ",
  turn: "An answer lets the turn pass it; "
}

/** What a person can do otherwise about a limit that fails turns, by what it adds up. */
const OTHERWISE: Readonly<Record<SpendLimits.SpendLimit["per"], string>> = {
  day: "; or retry the turn on another day",
  tag: "; or retry the turn on another day",
  conversation: "; or open another one",
  turn: "; and a retry is a turn of its own"
}

const raiseOf = (
  { limit, name }: Pick<SpendLimits.Reached, "limit" | "name">,
  { money, tokens }: SpendLimits.Raised,
  at: number
): SpendRaise => ({
  of: SpendLimits.identity(limit),
  scope: scopeOf(name),
  until: limit.per === "conversation" ? ALWAYS : LocalTime.nextDaily(MIDNIGHT, at),
  money: money ?? null,
  tokens: tokens ?? null
})

/** Whether a turn is refused at the sum that it has asked about, which was not raised since. */
const isSame = (reached: SpendLimits.Reached, asked: SpendLimits.Reached): boolean =>
  scopeOf(reached.name) === scopeOf(asked.name) &&
  reached.raised?.money === asked.raised?.money &&
  reached.raised?.tokens === asked.raised?.tokens

const scopeOf = ({ conversationId, tag }: TurnEvent.LimitName): string => tag ?? conversationId ?? ""

const keyOf = ({ of, scope }: Pick<SpendRaise, "of" | "scope">): string => `${of} ${scope}`
