/**
 * Reads from the log of turns what an endpoint's turns wait for and what became of them, over all runners and restarts (X12).
 *
 * Only a turn with a wait can have been part of an outage, so a turn that was answered by its first call is read without its records.
 */
import type { StorageError } from "@holdfast/journal"
import type { Records } from "@holdfast/kernel"
import type { History } from "@holdfast/kernel/host"
import { Failure, Target, type TurnEvent } from "@holdfast/wire"
import { Effect } from "effect"
import * as TurnUse from "../../../engine/spend/TurnUse.ts"
import type { TurnFilter, TurnRow } from "../../../storage/ListPage.ts"
import * as Notice from "./Notice.ts"

/** An endpoint by its turns, since a moment. Times are in epoch milliseconds. */
export interface EndpointStanding {
  /** Open turns that wait for it, or are in a retry after such a wait. */
  readonly waiting: number
  /** The earliest of their next attempts; absent: none is to come. */
  readonly nextAt: number | undefined
  /** An open turn waits for it, calls it, or has waited for it since then. */
  readonly isHeld: boolean
  /** Its first answer since then. */
  readonly answeredAt: number | undefined
  /** Its last one; 0: there is none. */
  readonly lastAnswerAt: number
  /** What became of turns that waited for it and have ended; not read while it is held, unless asked for. */
  readonly outcomes: Notice.Outcomes
  /** When the last of them ended; 0: none has. */
  readonly lastEndAt: number
}

/** What is asked about an endpoint. */
export interface EndpointQuestion {
  /** Epoch milliseconds. */
  readonly since: number
  /** The moment after which the next attempt is wanted. */
  readonly at: number
  /** The ends of turns are wanted although it is held. */
  readonly wantsEnds: boolean
}

/** Reads the standings of endpoints, by `provider/model`: one read of the turns for all of them. */
export const standingsOf = Effect.fnUntraced(function* (
  sources: TurnUse.Sources,
  questions: ReadonlyMap<string, EndpointQuestion>
): Effect.fn.Return<ReadonlyMap<string, EndpointStanding>, StorageError> {
  const standings = new Map(Array.from(questions.keys(), (name) => [name, NOTHING]))
  /** A turn that waited when the open ones were read may be among those that have ended: it waits no longer. */
  const waits = new Set<string>()
  const read = (filter: TurnFilter, asked: typeof questions) =>
    TurnUse.read(sources, filter, (row, history) => {
      for (const [name, question] of asked) {
        const before = standings.get(name) ?? NOTHING
        const standing = withTurn(before, name, question, row, history)
        const wait = `${row.turn.turnId} ${name}`
        if (standing.waiting > before.waiting) waits.add(wait)
        const waiting = standing.waiting - (row.turn.end !== undefined && waits.delete(wait) ? 1 : 0)
        standings.set(name, { ...standing, waiting })
      }
    })
  yield* read({ status: "open" }, questions)
  const rest = new Map(
    Array.from(questions).filter(([name, { wantsEnds }]) => wantsEnds || standings.get(name)?.isHeld !== true)
  )
  if (rest.size === 0) return standings
  const since = Math.min(...Array.from(rest.values(), ({ since }) => since))
  for (const status of ["completed", "failed", "aborted"] as const) yield* read({ status, since }, rest)
  return standings
})

/** The standing of an endpoint for which so many turns are known to wait, without the log. */
export const watched = (waiting: number): EndpointStanding => ({ ...NOTHING, waiting, isHeld: waiting > 0 })

/** A turn that has failed at the endpoint that its last attempt called. */
export type UncountedTurn = Pick<TurnRow, "model"> & { readonly turn: Pick<TurnRow["turn"], "turnId" | "end"> }

/** Failed turns that ended since a moment and that no notice has counted, oldest first; the newest of them if they are many. */
export const uncounted = (
  lists: TurnUse.Sources["lists"],
  since: number
): Effect.Effect<ReadonlyArray<UncountedTurn>, StorageError> =>
  Effect.map(lists.turns({ status: "uncounted", since }, undefined, MOST_FAILED), ({ rows }) => rows.toReversed())

// --- internal

/** Failed turns that are counted at once. */
const MOST_FAILED = 1_000

/** No turn is known. */
const NOTHING: EndpointStanding = {
  waiting: 0,
  nextAt: undefined,
  isHeld: false,
  answeredAt: undefined,
  lastAnswerAt: 0,
  outcomes: Notice.NO_OUTCOMES,
  lastEndAt: 0
}

const OUTCOMES: Readonly<Record<TurnEvent.TurnStatus, keyof Notice.Outcomes>> = {
  failed: "failed",
  aborted: "aborted",
  completed: "elsewhere"
}

const withTurn = (
  standing: EndpointStanding,
  name: string,
  { at, since }: EndpointQuestion,
  row: TurnRow,
  history: History.History
): EndpointStanding => {
  const { end } = row.turn
  const { attempts, target: current = row.model } = history
  const first = TurnUse.firstOf(row, history)
  const answers = attempts.flatMap(({ outcome, target = first }) =>
    target === name && isAnswer(outcome) ? [outcome.endedAt] : []
  )
  if (attempts.length === 0 && end?.status === "completed" && current === name) answers.push(end.endedAt)
  const later = answers.filter((answer) => answer > since)
  const answeredAt = Math.min(standing.answeredAt ?? Infinity, ...later)
  const lastAnswerAt = Math.max(standing.lastAnswerAt, ...later)
  const known = { ...standing, answeredAt: answeredAt === Infinity ? undefined : answeredAt, lastAnswerAt }
  const waits = attempts.map((attempt) => waitFor(name, attempt, first))
  const hasWaited = waits.some((wait) => wait !== undefined && endOf(wait) >= since)
  if (end !== undefined) {
    const isAnswered = end.status === "completed" && later.length > 0
    if (!hasWaited || isAnswered || end.endedAt < since) return known
    const outcome = OUTCOMES[end.status]
    const outcomes = { ...standing.outcomes, [outcome]: standing.outcomes[outcome] + 1 }
    return { ...known, outcomes, lastEndAt: Math.max(standing.lastEndAt, end.endedAt) }
  }
  const last = current === name ? waits.at(-1) : undefined
  const next = last === undefined ? 0 : nextOf(last)
  const nextAt = Math.min(standing.nextAt ?? Infinity, next > at ? next : Infinity)
  return {
    ...known,
    waiting: standing.waiting + (last === undefined ? 0 : 1),
    nextAt: nextAt === Infinity ? undefined : nextAt,
    isHeld: standing.isHeld || hasWaited || (current === name && row.hasEvents)
  }
}

/** A complete response is an answer although it is invalid (A9). */
const isAnswer = (outcome: History.Attempt["outcome"]): outcome is Records.AttemptOutcome =>
  outcome?._tag === "Completed" || (outcome?._tag === "Failed" && "whole" in outcome && outcome.whole === true)

/** The wait of an attempt for an endpoint. A retry at once waits for none, and a turn at a limit of spending waits for a person. */
const waitFor = (
  name: string,
  { decision, target, wait }: History.Attempt,
  model: string
): History.Wait | undefined => {
  if (decision?._tag !== "Retry" || decision.delayMs <= 0 || wait?.failure === undefined) return undefined
  const { route } = decision
  const awaited = route === undefined ? (target ?? model) : Target.format(route.target)
  return awaited !== name || Failure.isOfSpendLimit(wait.failure) ? undefined : wait
}

/** A turn that asks in its wait has its next attempt at the end of the wait that was decided on. */
const nextOf = ({ asks, decision, retryAt }: History.Wait): number =>
  asks === undefined || decision === undefined ? retryAt : decision.retryAt

const endOf = ({ end, retryAt }: History.Wait): number => (end === undefined ? Infinity : (end.at ?? retryAt))
