/**
 * Steers a turn that waits, from its records, without running it.
 *
 * For hosts that keep waiting turns on disk alone. The record of the command and the events that follow from it are values, for one write.
 *
 * WaitingTurn.W1. It records, emits and reports what the interpreter would: both ask the same machine.
 * WaitingTurn.W2. It returns `undefined` for a turn that does not wait, for a command that does not fit, and for a turn whose events on disk
 *     are not those of its records. The interpreter has to handle these.
 */
import type { TurnEvent } from "@holdfast/wire"
import * as Observing from "../internal/interpreter/Observing.ts"
import { evolve, follow, start } from "../internal/machine/Evolve.ts"
import type { Ledger, TurnFacts, Wait } from "../internal/machine/Ledger.ts"
import { commandsOf, type Offers } from "../internal/machine/OpenCommands.ts"
import { type Listeners, notify } from "../ports/Observer.ts"
import { fits, type PendingRetry } from "../ports/RetryStrategy.ts"
import type { RecordOf, Stored, Wake } from "../records/Records.ts"
import * as RetryEvent from "./RetryEvent.ts"
import { aborted } from "./Turn.ts"

/** The turn as it is on disk. */
export interface OnDisk {
  /** Without the messages of the conversation: a wait and an end need none. */
  readonly facts: Omit<TurnFacts, "history">
  readonly known: ReadonlyArray<Stored>
  /** The types of its events, by position. */
  readonly persisted: ReadonlyArray<string>
}

/** A command of a person, or an abort, at a moment in epoch milliseconds. */
export type Command = { readonly at: number } & (
  | { readonly _tag: "Steer"; readonly wake: Exclude<Wake, { readonly type: "elapsed" | "asked" | "answered" }> }
  | { readonly _tag: "Abort" }
)

/** What follows from a command. */
export interface Steered {
  /** The command as part `part` of its wait. Absent: an abort, which is in the events alone. */
  readonly record: { readonly wake: RecordOf<"Wake">; readonly part: number } | undefined
  readonly next:
    /** The wait continues, until `retryAt` (epoch milliseconds). */
    | { readonly _tag: "Waits"; readonly retryAt: number; readonly awaited: PendingRetry }
    /** The next attempt is due, and the turn has to be run for it. */
    | { readonly _tag: "Continues" }
    /** The turn is sealed by its last events, which are written together with the record. */
    | {
        readonly _tag: "Sealed"
        readonly events: readonly [TurnEvent.PersistedEvent, ...ReadonlyArray<TurnEvent.PersistedEvent>]
        /** Of the first of them. */
        readonly position: number
      }
  /** Reports it to observers, once it is on disk. */
  readonly report: (observer: Listeners | undefined) => void
}

/** Applies a command to a turn that waits for a retry (WaitingTurn.W2). */
export const steer = (onDisk: OnDisk, command: Command): Steered | undefined => {
  const waiting = restore(onDisk)
  if (waiting === undefined) return undefined
  const { ledger, wait } = waiting
  if (command._tag === "Abort") {
    const cut = { status: "aborted", failure: aborted } as const
    return ended(undefined, evolve(ledger, sealOf({ at: command.at, cut })), () => {})
  }
  if (!fits(command.wake, undefined)) return undefined
  const { at } = command
  const wake = { ...command.wake, at }
  const [open] = commandsOf(ledger, OFFERS)
  if (open?._tag !== "Wait") return undefined
  const { number, part, step } = open
  const record: RecordOf<"Wake"> = { kind: "Wake", step, number, value: wake }
  const woken = evolve(ledger, record)
  const reportWait = (observer: Listeners | undefined) => Observing.reportWait(observer, ledger, wait, wake)
  if (woken.phase._tag === "Ending") return ended({ wake: record, part }, evolve(woken, sealOf({ at })), reportWait)
  const [next] = woken.phase._tag === "Waiting" ? commandsOf(woken, OFFERS) : []
  return {
    record: { wake: record, part },
    next:
      next?._tag === "Wait"
        ? { _tag: "Waits", retryAt: next.wait.retryAt, awaited: next.awaited }
        : { _tag: "Continues" },
    report: (observer) => {
      reportWait(observer)
      if (next?._tag === "Wait" && !RetryEvent.isAnnounced(open, next)) {
        Observing.reportEvent(observer, woken, next.event)
      }
    }
  }
}

// --- internal

/** A wait is the same with any tools. */
const OFFERS: Offers = { tools: [], hasRouter: false, hasStrategy: true, hasCompactor: false }

const sealOf = (value: RecordOf<"Seal">["value"]): RecordOf<"Seal"> => ({ kind: "Seal", step: 0, number: 0, value })

/** Follows the records; `undefined` if they do not end in a wait for a retry, or are not those of the events on disk. */
const restore = ({ facts, known, persisted }: OnDisk): { readonly ledger: Ledger; readonly wait: Wait } | undefined => {
  let ledger = start({ ...facts, history: [] })
  for (const stored of known) {
    const followed = follow(ledger, stored)
    if (followed === undefined) return undefined // the interpreter reports a journal that contradicts itself
    ledger = followed
  }
  const { outbox, phase, position } = ledger
  const recorded = outbox.flatMap((due) => (due._tag === "Persist" ? due.events : []))
  const isOnDisk = position === persisted.length && recorded.every(({ type }, i) => type === persisted[i])
  return phase._tag === "Waiting" && isOnDisk ? { ledger: { ...ledger, outbox: [] }, wait: phase.wait } : undefined
}

const ended = (
  record: Steered["record"],
  ledger: Ledger,
  reportWait: (observer: Listeners | undefined) => void
): Steered | undefined => {
  const { outbox, phase, tally, turn } = ledger
  const [first, ...rest] = outbox.flatMap((due) => (due._tag === "Persist" ? due.events : []))
  const [due] = outbox
  if (first === undefined || due?._tag !== "Persist" || phase._tag !== "Sealed") return undefined
  const events = [first, ...rest] as const
  const { end } = phase
  return {
    record,
    next: { _tag: "Sealed", events, position: due.position },
    report: (observer) => {
      reportWait(observer)
      for (const event of events) Observing.reportEvent(observer, ledger, event)
      const { retryLoopMs } = tally
      notify(observer, "seal", { ...Observing.observedStepOf(ledger), startedAt: turn.startedAt, end, retryLoopMs })
    }
  }
}
