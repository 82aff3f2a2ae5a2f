/**
 * Steers a turn that waits, from its records, without running it.
 *
 * For hosts that keep waiting turns on disk alone. The record of the command and the events that follow from it are values, for one write.
 *
 * It returns `undefined` for a turn that does not wait, for a command that does not fit, and for a turn whose events on disk are not those
 * of its records: that turn has to be run.
 */
import type { TurnEvent } from "@holdfast/wire"
import * as Engine from "../engine/Engine.ts"
import type { TurnFacts } from "../internal/machine/Ledger.ts"
import { type Listeners, notify } from "../ports/Observer.ts"
import type { Deciding, PendingRetry } from "../ports/RetryStrategy.ts"
import { noop } from "../ports/Toolbox.ts"
import type { RecordOf, Stored, Wake } from "../records/Records.ts"
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

/** Applies a command to a turn that waits for a retry (see above). */
export const steer = ({ facts, known, persisted }: OnDisk, command: Command): Steered | undefined => {
  const { at } = command
  const setup = { facts: { ...facts, history: [] }, life: "", strategy: NONE, toolbox: noop, observer: ALL }
  const [waiting, begun] = Engine.step(Engine.make(setup), { _tag: "Begin", known, persisted }, at)
  const [open] = waiting.open
  const isOnDisk = begun.every(({ _tag }) => _tag !== "Append" && _tag !== "Stop")
  if (open?._tag !== "Wait" || !isOnDisk || waiting.ledger.position !== persisted.length) return undefined
  const input: Engine.Input =
    command._tag === "Abort"
      ? { _tag: "Cut", status: "aborted", failure: aborted }
      : { _tag: "Steered", wake: command.wake }
  const [steered, effects] = Engine.step(waiting, input, at)
  const append = effects.find((effect) => effect._tag === "Append")
  if (append === undefined) return undefined
  const [next, others] = Engine.step(steered, { _tag: "Appended" }, at)
  const [wake] = append.records
  const record = wake?.record.kind === "Wake" ? { wake: wake.record, part: open.part } : undefined
  const isOver = next.ledger.phase._tag === "Sealed"
  const awaits = next.open[0]?._tag === "Wait" ? next.open[0] : undefined
  const [first, ...rest] = append.events
  return {
    record,
    next:
      isOver && first !== undefined
        ? { _tag: "Sealed", events: [first, ...rest], position: append.position }
        : awaits === undefined
          ? { _tag: "Continues" }
          : { _tag: "Waits", retryAt: awaits.wait.retryAt, awaited: awaits.awaited },
    report: (observer) => {
      // The run of the next attempt reports what follows from it.
      for (const effect of isOver || awaits !== undefined ? [...effects, ...others] : effects)
        if (effect._tag === "Observe") notify(observer, effect.kind, effect.observation)
    }
  }
}

// --- internal

/** A turn that waits has decided, and its wait is the same with any tools. */
const NONE: Deciding = { delayFor: () => undefined, budget: { measure: "scheduled" } }

const nothing = (): void => {}

/** Listens to what a command may lead to. */
const ALL: Listeners = { event: nothing, seal: nothing, wait: nothing }
