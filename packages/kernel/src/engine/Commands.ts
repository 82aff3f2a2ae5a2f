/**
 * Performs the machine's commands that need no port: records that follow at once, sleeps, and wakes. Pure, as far as the strategy is.
 *
 * A wait that ends by itself may ask a person first (X11): once, and on record. From then on only a person ends it, or the end of the time
 * for an answer; an early wake by the shell does not.
 */
import { defined, type TurnEvent } from "@holdfast/wire"
import { isOfItself } from "../internal/machine/Decisions.ts"
import * as Judging from "../internal/machine/Judging.ts"
import type { Ledger } from "../internal/machine/Ledger.ts"
import type { Command } from "../internal/machine/OpenCommands.ts"
import type { RetryStrategy } from "../ports/RetryStrategy.ts"
import type * as Records from "../records/Records.ts"
import * as Directives from "../turn/Directive.ts"
import type { Setup, Sleep } from "./State.ts"

/** The kind of record that a command ends in. */
export const kindOf = ({ _tag }: Pick<Command, "_tag">): Records.Kind => KINDS[_tag]

/** The record of a command at a moment in epoch milliseconds; `undefined`: the command takes time. */
export const recordOf = (
  { hasCompactor, strategy }: Pick<Setup, "hasCompactor" | "strategy">,
  ledger: Ledger,
  command: Command,
  now: number
): Records.TurnRecord | undefined => {
  const { number, step } = command
  switch (command._tag) {
    case "Final":
      return { kind: "Final", step, number, value: { cause: command.cause, at: now } }
    case "Route": {
      const { from, question } = command
      if (question !== undefined) return undefined
      return { kind: "Route", step, number, value: { route: ledger.routing.route, ...defined({ from }) } }
    }
    case "Call":
      return command.isLost ? { kind: "Attempt", step, number, value: { _tag: "Lost", endedAt: now } } : undefined
    case "Compact":
      if (hasCompactor) return undefined
      return { kind: "Compaction", step, number, value: { _tag: "Nothing", endedAt: now } }
    case "Decide": {
      const { question, situation } = command
      if (question !== undefined) return undefined
      const value = Directives.marked(Directives.decide({ ...situation, now }, strategy), situation)
      return { kind: "Decision", step, number, value }
    }
    case "Ask": {
      const { asks, event, withinMs } = command
      if (event !== undefined) return undefined
      return { kind: "Wake", step, number, value: { type: "asked", asks, until: now + withinMs, at: now } }
    }
    case "Wait":
    case "RunTool":
    case "Seal":
      return undefined
    default:
      return command satisfies never
  }
}

/**
 * The record that a tool call begins in a life; `undefined`: it has one, or needs none. A report is judged instead of run, and a call that
 * a person refused is answered with that: doing it again does no harm.
 */
export const beginningOf = (
  setup: Pick<Setup, "life">,
  { turn }: Ledger,
  command: Command
): Records.RecordOf<"Begun"> | undefined => {
  if (command._tag !== "RunTool" || command.begun !== undefined) return undefined
  if (Judging.isReport(turn.report, command.call) || command.approval?.refusal !== undefined) return undefined
  const { number, step } = command
  return { kind: "Begun", step, number, value: { life: setup.life } }
}

/** A wait for a retry, or for a person's answer about tool calls: a question that is on record. */
export type Waiting = Extract<Command, { readonly _tag: "Wait" | "Ask" }> & { readonly event: TurnEvent.ProviderRetry }

/** Whether a command is slept. */
export const isWaiting = (command: Command): command is Waiting => command.event !== undefined

/** Returns the sleep of a wait at a moment in epoch milliseconds. */
export const sleepOf = (waiting: Waiting, now: number): Sleep => {
  const { delayMs, retryAt } = waiting.event
  const leftMs = Math.max(0, Math.min(retryAt - now, delayMs))
  const awaited = waiting._tag === "Wait" ? waiting.awaited : undefined
  return { retryAt, leftMs, ...defined({ awaited, calls: callsOf(waiting) }) }
}

/** The tool calls (by `toolCallId`) that a wait has a question about; `undefined`: it is for a retry. */
export const callsOf = (waiting: Waiting): ReadonlyArray<string> | undefined =>
  waiting.event.asks?.calls?.map(({ toolCallId }) => toolCallId)

/** Returns the record of a wake, received at a moment in epoch milliseconds; `undefined`: the wait continues without one. */
export const wakeOf = (
  waiting: Waiting,
  wake: Records.Wake,
  ask: RetryStrategy["Service"]["ask"],
  at: number
): (Records.Wake & { readonly at: number }) | undefined => {
  if (!isOfItself(wake)) return { ...wake, at }
  const { asks, retryAt } = waiting.event
  if (asks !== undefined && (wake.type !== "elapsed" || at < retryAt)) return undefined
  const outlook = waiting._tag === "Wait" ? waiting.outlook : undefined
  const question =
    outlook && waiting._tag === "Wait"
      ? ask?.(outlook(Math.max(0, at - waiting.awaited.since)), waiting.awaited)
      : undefined
  if (question === undefined) return { ...wake, at }
  const by = wake.by === undefined ? undefined : { by: wake.by }
  return { type: "asked", ...by, at, until: at + question.answerWithinMs, asks: question.asks }
}

// --- internal

const KINDS = {
  Final: "Final",
  Route: "Route",
  Call: "Attempt",
  Decide: "Decision",
  Wait: "Wake",
  Ask: "Wake",
  RunTool: "Tool",
  Compact: "Compaction",
  Seal: "Seal"
} as const satisfies { readonly [Tag in Command["_tag"]]: Records.Kind }
