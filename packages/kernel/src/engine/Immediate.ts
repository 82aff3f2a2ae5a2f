/** Performs the commands whose records follow from the turn, its strategy and the time. Pure, as far as the strategy is. */
import { defined } from "@holdfast/wire"
import * as Judging from "../internal/machine/Judging.ts"
import type { Ledger } from "../internal/machine/Ledger.ts"
import type { Command } from "../internal/machine/OpenCommands.ts"
import type * as Records from "../records/Records.ts"
import * as Directives from "../turn/Directive.ts"
import type { Setup } from "./Engine.ts"

/** The record of a command at a moment in epoch milliseconds; `undefined`: the command takes time. */
export const recordOf = (
  { hasCompactor, hasRouter, strategy }: Pick<Setup, "hasCompactor" | "hasRouter" | "strategy">,
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
      if (hasRouter === true && question !== undefined) return undefined
      return { kind: "Route", step, number, value: { route: ledger.routing.route, ...defined({ from }) } }
    }
    case "Call":
      return command.isLost ? { kind: "Attempt", step, number, value: { _tag: "Lost", endedAt: now } } : undefined
    case "Compact":
      if (hasCompactor === true) return undefined
      return { kind: "Compaction", step, number, value: { _tag: "Nothing", endedAt: now } }
    case "Decide": {
      const { question, situation } = command
      if (hasRouter === true && question !== undefined) return undefined
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
