/**
 * Runs the tool calls of a response.
 *
 * ToolRuns.T1. A call that failed, or whose arguments could not be read, is answered; it never ends the turn.
 * ToolRuns.T2. A call that was running when its process died is not made again; the model receives `ModelContext.INTERRUPTED`. Tools that are
 *     declared idempotent run again (X8).
 * ToolRuns.T3. A call that a person refused is answered with that, and has no record of a beginning.
 */
import { defined, JsonShape, type Message } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as CallFailure from "../../calls/CallFailure.ts"
import * as ModelContext from "../../turn/ModelContext.ts"
import * as Records from "../../records/Records.ts"
import type { ToolOutcome } from "../../ports/Toolbox.ts"
import type { TurnStopped } from "../../ports/TurnStopped.ts"
import * as Judging from "../machine/Judging.ts"
import type { Command } from "../machine/OpenCommands.ts"
import * as Observing from "./Observing.ts"
import type { Run } from "./Run.ts"

type RunTool = Extract<Command, { readonly _tag: "RunTool" }>

/** The length of the quotation when malformed arguments are sent back to the model, in characters. */
const QUOTED_CHARACTERS = 2_000

/** Runs a call, and records its beginning and its result. `running` has the calls of the response without a result yet. */
export const call = (run: Run, command: RunTool, running: Set<number>): Effect.Effect<void, TurnStopped> => {
  const { number, step } = command
  const { checkpoint, toolbox } = run.ports
  return Effect.flatMap(begin(run, command), (isMine) => {
    const isIdempotent = toolbox.definitions.find(({ name }) => name === command.call.toolName)?.isIdempotent === true
    const made =
      isMine || isIdempotent
        ? answer(run, command)
        : Effect.sync(() => at(run, { output: ModelContext.INTERRUPTED, isError: true }))
    const leave = () => (running.delete(number), running.size)
    const told = Observing.tool(run, command.call, leave, made)
    const recorded = checkpoint.run(Records.nameOf("Tool", step, number), Records.ToolResult, told)
    return Effect.map(recorded, (value) => run.take({ kind: "Tool", step, number, value }))
  })
}

// --- internal

/** Records that the call begins; `false`: an earlier life has begun it (ToolRuns.T2). */
const begin = (run: Run, { approval, begun, call, number, step }: RunTool): Effect.Effect<boolean, TurnStopped> => {
  // A report is judged instead of run: judging it again does no harm.
  if (Judging.isReport(run.ledger.turn.report, call) || approval?.refusal !== undefined) return Effect.succeed(true)
  if (begun !== undefined) return Effect.succeed(false)
  const { life } = run
  const name = Records.nameOf("Begun", step, number)
  return Effect.mapEager(run.ports.checkpoint.run(name, Records.Begun, Effect.succeed({ life })), (value) => {
    run.take({ kind: "Begun", step, number, value })
    return value !== true && value.life === life
  })
}

const answer = (run: Run, { approval, call, isOffered }: RunTool): Effect.Effect<Records.ToolResult> =>
  Effect.suspend(() => {
    const { report } = run.ledger.turn
    if (approval?.refusal !== undefined) return Effect.succeed({ output: approval.refusal, isError: true })
    if (call.malformed !== undefined) return Effect.succeed(unreadable(call))
    if (report !== undefined && Judging.isReport(report, call)) return Effect.succeed(Judging.answer(report, call))
    return isOffered
      ? Effect.map(run.ports.toolbox.run(call, approval !== undefined), readable)
      : Effect.succeed(NOT_OFFERED)
  }).pipe(
    // A tool that interrupts itself has failed too. When the turn is interrupted no handler runs.
    Effect.catchCause((cause) =>
      Effect.succeed({ output: `The tool failed: ${CallFailure.whyOf(cause)}`, isError: true })
    ),
    Effect.map((outcome) => at(run, outcome))
  )

const at = (run: Run, { content, output, isError }: ToolOutcome): Records.ToolResult => ({
  output,
  ...defined({ content }),
  isError,
  endedAt: run.now()
})

const NOT_OFFERED = { output: "No tool but the final report could be used in this step.", isError: true }

/** Recording an output that is nested too deeply would overflow the stack. */
const readable = (outcome: ToolOutcome): ToolOutcome =>
  JsonShape.measure(outcome.output).isTooDeep
    ? { output: `The tool failed: its output is nested deeper than ${JsonShape.MOST_LEVELS} levels.`, isError: true }
    : outcome

/** A10, in the seed's words: a prompt may mention them. */
const unreadable = ({ input, malformed = "" }: Message.ToolCallPart): ToolOutcome => {
  const payload = typeof input === "string" ? input : JSON.stringify(input)
  const isCut = payload.length > QUOTED_CHARACTERS
  const note = isCut ? ` (the first ${QUOTED_CHARACTERS} of ${payload.length} characters)` : ""
  // A cut may split a surrogate pair, which no provider accepts.
  const quoted = isCut ? payload.slice(0, QUOTED_CHARACTERS).toWellFormed() : payload
  const reason = malformed.replace(/\.\s*$/, "")
  return {
    output: `(tool failed: invalid tool call payload. ${reason}. Original payload${note}: ${quoted})`,
    isError: true
  }
}
