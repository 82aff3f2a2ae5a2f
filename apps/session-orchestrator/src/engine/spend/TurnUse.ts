/**
 * Finds the tokens that a turn has used, with the time of each call, and what they cost, from its row and its records.
 *
 * The tokens of a turn that has ended add up to those of its end; its last call has what its records lack.
 */
import type { StorageError } from "@holdfast/journal"
import { History } from "@holdfast/kernel/host"
import { Prices } from "@holdfast/policy"
import { Failure, type PeriodReport, type TurnEvent } from "@holdfast/wire"
import { Effect, Stream } from "effect"
import { type Lists, rowsOf } from "../../storage/Lists.ts"
import type { TurnFilter, TurnRow } from "../../storage/ListPage.ts"
import type { TurnLog } from "../../storage/TurnLog.ts"
import * as SpendSums from "../../config/limits/SpendSums.ts"

/** Whether more happened in a turn than its row has: it was not answered by its first call, without a wait. */
export const needsRecords = ({ turn: { end } }: TurnRow): boolean =>
  end === undefined || end.status !== "completed" || end.attempts !== 1 || end.sleptMs > 0 || (end.waitedMs ?? 0) > 0

/** Turns of one page. */
export const PAGE = 100

/** Where turns are read from. */
export interface Sources {
  readonly lists: Pick<Lists["Service"], "turns">
  readonly log: Pick<TurnLog["Service"], "load">
}

/** Reads turns page by page, each with its records where those matter. A page is in memory, and never all turns. */
export const read = Effect.fnUntraced(function* (
  { lists, log }: Sources,
  filter: TurnFilter,
  take: (row: TurnRow, history: History.History) => void,
  isWanted: (row: TurnRow) => boolean = () => true
): Effect.fn.Return<void, StorageError> {
  const historyOf = (row: TurnRow) =>
    Effect.map(needsRecords(row) ? log.load(row.turn.turnId) : Effect.succeed([]), History.of)
  const rows = rowsOf((after) => lists.turns(filter, after, PAGE))
  yield* Stream.runForEachArray(rows, (page) => {
    const wanted = page.filter(isWanted)
    // SQLite reads those that come together in one statement, during which no turn goes on.
    return Effect.map(Effect.forEach(wanted, historyOf, { concurrency: 8 }), (histories) => {
      for (const [i, history] of histories.entries()) {
        const row = wanted[i]
        if (row !== undefined) take(row, history)
      }
    })
  })
})

/** The tokens that a turn used at a target. */
export interface TargetUse extends Pick<SpendSums.TokenUse, "target" | "tokens"> {
  /** The provider reported none. */
  readonly isUnreported: boolean
}

/** The model of attempts which no command or router has sent elsewhere: the one before, if the turn changed it, as far as there are records of it. */
export const firstOf = ({ changedFrom, model }: TurnRow, { attempts }: Pick<History.History, "attempts">): string =>
  attempts.length === 0 ? model : (changedFrom ?? model)

/** The tokens of a turn until now. `model` is that of attempts which no command or router has sent elsewhere. */
export const of = (
  model: string,
  end: TurnEvent.TurnEnd | undefined,
  history: Pick<History.History, "attempts" | "target" | "wait">
): ReadonlyArray<SpendSums.TokenUse> => {
  const uses = history.attempts.flatMap(({ outcome, target = model }): ReadonlyArray<SpendSums.TokenUse> => {
    if (outcome === undefined || !("usage" in outcome) || outcome.usage === undefined) return []
    return [{ target, tokens: SpendSums.tokensOf(outcome.usage), at: outcome.endedAt }]
  })
  if (end === undefined) return uses
  const counted = uses.reduce((sum, { tokens }) => Prices.add(sum, tokens), Prices.NO_TOKENS)
  return [...uses, ...SpendSums.restOf(end, counted, targetOf(history) ?? model)]
}

/** The tokens of a turn that has ended, by target; none if it used none. */
export const byTarget = (...[model, end, history]: Parameters<typeof of>): ReadonlyArray<TargetUse> => {
  const targets = Map.groupBy(of(model, end, history), ({ target }) => target)
  return Array.from(targets, ([target, uses]) => ({
    target,
    tokens: uses.reduce((sum, { tokens }) => Prices.add(sum, tokens), Prices.NO_TOKENS),
    isUnreported: uses.some(({ isUnreported }) => isUnreported === true)
  })).filter(({ isUnreported, tokens }) => isUnreported || tokens.input > 0 || tokens.output > 0)
}

/** The cost of a turn that has ended, in US dollars; `unknown` if a part of it is not known. `model` is its last one. */
export const costOf = (
  end: TurnEvent.TurnEnd,
  history: History.History,
  model: string,
  prices: Prices.Prices
): PeriodReport.Cost => {
  let sum = 0
  for (const { isUnreported, target, tokens } of byTarget(model, end, history)) {
    const price = SpendSums.priceOf(prices, target)
    if (price === undefined || isUnreported) return "unknown"
    sum += Prices.costOf(price, tokens)
  }
  return sum
}

/** `provider/model` that a turn waits for, or that its attempts use, the last one at its end; absent if no command or router has chosen one. */
export const targetOf = ({ target, wait }: Pick<History.History, "target" | "wait">): string | undefined =>
  wait === undefined ? target : wait.target

/** Whether a turn asks about a limit of spending now, or has an answer that it has not gone on with. */
export const isAsking = ({ attempts }: Pick<History.History, "attempts">): boolean => {
  const last = attempts.at(-1)?.outcome
  return last?._tag === "Failed" && Failure.isOfSpendLimit(last.failure)
}

/** Whether a turn has asked about a limit of spending. A turn whose process died before that is on disk still has to ask. */
export const wasAsked = ({ attempts }: Pick<History.History, "attempts">): boolean =>
  attempts.some(
    ({ outcome, wakes }) =>
      outcome?._tag === "Failed" &&
      Failure.isOfSpendLimit(outcome.failure) &&
      wakes.some(({ type }) => type === "asked")
  )
