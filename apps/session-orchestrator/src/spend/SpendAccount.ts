/**
 * Keeps what the day, conversations and turns have cost, and refuses steps that begin at a limit (`spend`). In memory, and synchronous.
 *
 * SpendAccount.A1. Each call counts when it ends: answers, void attempts and compactions. At its end a turn counts what is still missing,
 *     so the sum of a turn is that of its `turn-end`.
 * SpendAccount.A2. An answer to a question lets the turn pass that limit until its end.
 * SpendAccount.A3. Turns that have ended are remembered for `REMEMBERED_MS`: a turn that is read from the database again counts once.
 * SpendAccount.A4. A conversation runs one turn at a time. Before its first step a turn gets what the earlier turns of its conversation have spent; its own
 *     calls are added to that.
 */
import type { Observer } from "@holdfast/kernel"
import { Prices, Durations, SpendGuard } from "@holdfast/policy"
import { Failure, type Ids, Target } from "@holdfast/wire"
import * as DailyTime from "../text/DailyTime.ts"
import type { TurnRow } from "../storage/Lists.ts"
import * as SpendLimits from "./limits/SpendLimits.ts"
import * as SpendSums from "./limits/SpendSums.ts"

/** Limits, and the prices that money is computed by. */
export interface Limited {
  readonly limits: ReadonlyArray<SpendLimits.SpendLimit>
  readonly prices: Prices.Prices
  readonly timeZone: string
  /** Several runners share the database. */
  readonly isShared?: boolean
}

/** The spending of a day and of the turns that have not ended. */
export class SpendAccount {
  private readonly limited: Limited
  private readonly sums = new SpendSums.SpendSums((at) => DailyTime.last(MIDNIGHT, at))
  private readonly turns = new Map<Ids.TurnId, OpenTurn>()
  private readonly ended = new Map<Ids.TurnId, number>()
  /** Sums of conversations without a running turn, the last used at the end. */
  private readonly conversations = new Map<Ids.ConversationId, SpendSums.SpendSum>()

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
    const kept = this.conversations.get(conversationId)
    // It has made no call: what it would add is in no sum.
    if (kept !== undefined && turn.counted === Prices.NO_TOKENS)
      Object.assign(turn, { conversation: kept, hasOthers: true, isWhole: true })
    return turn.isWhole
  }

  /** Adds what the other turns of a turn's conversation have spent, once (SpendAccount.A4). */
  enterConversation(turnId: Ids.TurnId, others: ReadonlyArray<SpendSums.Use>): void {
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
  enterMoved(turnId: Ids.TurnId, uses: ReadonlyArray<SpendSums.Use>): void {
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
  add(turnId: Ids.TurnId, use: SpendSums.Use): void {
    const turn = this.turn(turnId)
    turn.counted = Prices.add(turn.counted, use.tokens)
    turn.conversation.add(use)
    turn.own.add(use)
    this.sums.add(use, turn.tags ?? [])
  }

  /** Adds the tokens of a turn that has ended, once (SpendAccount.A3). */
  enterEnded(
    { labels: { tags = [] }, model, turn: { end, turnId } }: TurnRow,
    uses: ReadonlyArray<SpendSums.Use>
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
    if (reached === undefined) return undefined
    const { index, limit, message } = reached
    const isAsking = limit.then === "ask"
    if (isAsking) this.turn(turnId).asks = index
    return {
      reason: "quota-exhausted",
      message: isAsking ? message : `${message} ${ADVICE[limit.per]}`,
      retryable: isAsking,
      code: Failure.SPEND_LIMIT,
      shared: true
    }
  }

  /** The question of a turn that was refused; `undefined`: no limit is reached any more. */
  question(turnId: Ids.TurnId, at: number) {
    const reached = this.reached(turnId, at)
    if (reached === undefined) return undefined
    const { index, limit, message, spent } = reached
    this.turn(turnId).asks = index
    return {
      asks: { because: "spend" as const, tokens: spent.tokens, limit: limit.tokens ?? 0, waitedMs: 0, message },
      answerWithinMs: Durations.millisOr(limit.answerWithin, SpendGuard.ANSWER_WITHIN_MS)
    }
  }

  /** The turn goes on after a refusal: a person has answered (SpendAccount.A2), or the limit was no longer reached. */
  goesOn(turnId: Ids.TurnId): void {
    const turn = this.turns.get(turnId)
    if (turn?.asks === undefined) return
    turn.allowed.add(turn.asks)
    turn.asks = undefined
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
    if (isWhole) this.keep(conversationId, conversation)
    this.turns.delete(turnId)
    this.noteEnd(turnId, end.endedAt)
  }

  // --- internal

  /** Keeps the sum of a conversation for its next turn, which another runner may run where the database is shared. */
  private keep(conversationId: Ids.ConversationId, sum: SpendSums.SpendSum): void {
    if (this.limited.isShared === true) return
    this.conversations.delete(conversationId)
    this.conversations.set(conversationId, sum)
    const [first] = this.conversations.keys()
    if (this.conversations.size > MOST_CONVERSATIONS && first !== undefined) this.conversations.delete(first)
  }

  /** SpendAccount.A3 */
  private noteEnd(turnId: Ids.TurnId, endedAt: number): void {
    this.ended.set(turnId, endedAt)
    for (const [id, at] of this.ended) {
      if (at > endedAt - REMEMBERED_MS) break
      this.ended.delete(id)
    }
  }

  private reached(turnId: Ids.TurnId, at: number): SpendLimits.Reached | undefined {
    const { limits, prices, timeZone } = this.limited
    const { allowed, conversation, own, tags = [] } = this.turn(turnId)
    return SpendLimits.reached(limits, {
      allowed,
      prices,
      tags,
      timeZone,
      day: (tag) => this.sums.spent(tag, prices, at),
      conversation: () => conversation.spent(prices),
      turn: () => own.spent(prices)
    })
  }

  private turn(turnId: Ids.TurnId): OpenTurn {
    let turn = this.turns.get(turnId)
    if (turn === undefined) {
      turn = {
        tags: undefined,
        counted: Prices.NO_TOKENS,
        conversation: new SpendSums.SpendSum(),
        own: new SpendSums.SpendSum(),
        hasOthers: false,
        isWhole: false,
        asks: undefined,
        allowed: new Set()
      }
      this.turns.set(turnId, turn)
    }
    return turn
  }
}

/** The first moment of a day. */
export const MIDNIGHT: DailyTime.TimeOfDay = { hours: 0, minutes: 0 }

/** Conversations whose sums are kept between their turns. */
const MOST_CONVERSATIONS = 1_000

/** Longer than the time between two reads of the same turn, in milliseconds. */
const REMEMBERED_MS = 600_000

// --- internal

interface OpenTurn {
  /** `undefined`: not read yet. */
  tags: ReadonlyArray<string> | undefined
  /** The tokens that were added to the sums. */
  counted: Prices.Tokens
  /** The calls of its conversation: its own, and those of the other turns once they were read (`hasOthers`). */
  conversation: SpendSums.SpendSum
  hasOthers: boolean
  /** Nothing is missing: neither calls of the other turns, nor its own at another runner. */
  isWhole: boolean
  /** Its own calls. */
  readonly own: SpendSums.SpendSum
  /** The place of the limit that the turn asks about. */
  asks: number | undefined
  readonly allowed: Set<number>
}

const ON_ANOTHER_DAY = "No call was made. Raise or remove the limit, or retry the turn on another day."

/** What a person can do about a limit that fails turns, by what it adds up. */
const ADVICE: Readonly<Record<SpendLimits.SpendLimit["per"], string>> = {
  day: ON_ANOTHER_DAY,
  tag: ON_ANOTHER_DAY,
  conversation: "No call was made. Raise or remove the limit, or open another conversation.",
  turn: "No call was made. Raise or remove the limit, or retry: a retry is a turn of its own."
}
