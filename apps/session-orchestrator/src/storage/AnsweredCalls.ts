/**
 * The port to the calls through the gateway that were answered at once (rule X13): counts by hour and target.
 *
 * AnsweredCalls.C1. Such a call is no turn and has no row of its own: its tokens are added to the row of its target and hour.
 */
import type { StorageError } from "@holdfast/journal"
import type { Prices } from "@holdfast/policy"
import { Context, type Effect } from "effect"

/** The calls of one target in one hour. */
export interface AnsweredCallsRow {
  /** Begin of the hour, in epoch milliseconds. */
  readonly hour: number
  /** `provider/model`, with `~client` behind the provider where the key was the client's own. */
  readonly target: string
  readonly calls: number
  /** Calls of which the provider reported no tokens. */
  readonly unreported: number
  readonly tokens: Prices.Tokens
}

/** An hour, in milliseconds. */
export const HOUR_MS = 3_600_000

/** Stores the counts. */
export class AnsweredCalls extends Context.Service<
  AnsweredCalls,
  {
    /** Adds to the rows of these hours and targets. */
    readonly add: (rows: ReadonlyArray<AnsweredCallsRow>) => Effect.Effect<void, StorageError>
    /** The rows of all hours that are at least partly between two moments, in epoch milliseconds. */
    readonly between: (since: number, until: number) => Effect.Effect<ReadonlyArray<AnsweredCallsRow>, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/AnsweredCalls") {}
