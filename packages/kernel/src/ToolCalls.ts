/**
 * The tool calls of one response: run at once, answered in the order of the calls.
 *
 * T1. A call that failed, or that could not even be read, is answered; it never ends the turn.
 * T2. Results are persisted in the order of the calls, each as soon as it and all before it are there: the order in which
 *     tools happen to finish is not the same when a turn is run again.
 * T3. A call that was running when its process died is not made again; the model is told that nobody knows what became of it.
 *     Tools that are declared idempotent are run again (X8).
 */
import { JsonShape, type Message } from "@holdfast/wire"
import { Cause, Clock, Effect, Schema, Semaphore } from "effect"
import * as Checkpoint from "./Checkpoint.ts"
import * as ModelContext from "./ModelContext.ts"
import * as Observer from "./Observer.ts"
import * as Reporting from "./Reporting.ts"
import type { ToolOutcome } from "./Toolbox.ts"
import type { TurnState } from "./TurnState.ts"
import type { TurnStopped } from "./TurnStopped.ts"

/** What came of a call, as it is recorded. */
export const ToolRecord = Schema.Struct({
  output: Schema.Json,
  isError: Schema.Boolean,
  /** Epoch milliseconds. */
  endedAt: Schema.Number
})
export type ToolRecord = typeof ToolRecord.Type

/** How much of malformed arguments is quoted back to the model, in characters. */
export const QUOTED_CHARACTERS = 2_000

/** Runs the calls, adds their results to the history, and returns them. */
export const run = Effect.fnUntraced(function* (
  turn: TurnState,
  calls: ReadonlyArray<Message.ToolCallPart>,
  finishReason: Message.FinishReason
): Effect.fn.Return<ReadonlyArray<Message.ToolResultPart>, TurnStopped> {
  const name = (i: number) => `step/${turn.step}/tool/${i}`
  const { checkpoint } = turn.ports
  const round: Round = {
    calls,
    finishReason,
    records: calls.map(() => undefined),
    running: new Set(calls.keys().filter((i) => !checkpoint.isRecorded(name(i)))),
    content: [],
    createdAt: turn.input.startedAt
  }
  turn.results = round.content
  const settled = settle(turn, round).pipe(Semaphore.makeUnsafe(1).withPermits(1))
  yield* Effect.forEach(
    calls,
    (call, i) =>
      Effect.flatMap(runOne(turn, name(i), i, round), (record) => {
        round.records[i] = record
        if (Reporting.isReport(turn.ports.report, call)) Reporting.settle(turn, call, record)
        return settled
      }),
    { concurrency: calls.length, discard: true }
  )
  turn.stepStartedAt = round.createdAt
  const { content } = round
  const { turnId } = turn.input
  yield* turn.persist(() => {
    turn.results = undefined
    return [turn.add({ role: "tool", id: turn.nextMessageId(), turnId, createdAt: round.createdAt, content })]
  })
  return content
})

// --- internal

/** The calls of one response, and what has come of them so far. */
interface Round {
  readonly calls: ReadonlyArray<Message.ToolCallPart>
  readonly finishReason: Message.FinishReason
  /** One a call; `undefined` while it runs. */
  readonly records: Array<ToolRecord | undefined>
  /** Numbers of the calls that have no answer yet, on record or not. */
  readonly running: Set<number>
  /** What is persisted: the results of the first calls. */
  readonly content: Array<Message.ToolResultPart>
  /** Epoch milliseconds: when the last of them ended. */
  createdAt: number
}

/**
 * Persists the results that are there, up to the first that is not (T2).
 *
 * It stands out here because a generator function that is made anew for each turn gets a hidden class of its own, which the
 * engine keeps, with all that the function closes over, until the next full collection: every turn then outlives its end.
 */
const settle = Effect.fnUntraced(function* (turn: TurnState, round: Round): Effect.fn.Return<void, TurnStopped> {
  const { calls, content, records } = round
  for (let record = records[content.length]; record !== undefined; record = records[content.length]) {
    const { toolCallId, toolName } = calls[content.length] ?? impossible()
    const { output, isError, endedAt } = record
    round.createdAt = Math.max(round.createdAt, endedAt)
    yield* turn.persist(() => {
      content.push({ type: "tool-result", toolCallId, toolName, output, isError })
      return [turn.event({ type: "tool-result", toolCallId, toolName, output, isError })]
    })
  }
})

/** T3: what a dead process had begun is not begun again, unless the tool says that it may be. */
const runOne = (
  turn: TurnState,
  name: string,
  i: number,
  { calls, finishReason, running }: Round
): Effect.Effect<ToolRecord, TurnStopped> =>
  Effect.suspend(() => {
    const call = calls[i] ?? impossible()
    const { checkpoint, report, toolbox } = turn.ports
    const observed = (answer: Effect.Effect<ToolRecord, TurnStopped>) =>
      checkpoint.run(
        name,
        ToolRecord,
        Observer.tool(turn, call, finishReason, () => (running.delete(i), running.size), answer)
      )
    // A report is judged and not run: judging it again does no harm.
    if (Reporting.isReport(report, call)) return observed(answer(turn, call))
    const begun = `${name}/begun`
    const isIdempotent = toolbox.definitions.find((tool) => tool.name === call.toolName)?.isIdempotent === true
    const begin = Checkpoint.mark(checkpoint, begun)
    return observed(
      checkpoint.isRecorded(begun) && !isIdempotent
        ? at({ output: ModelContext.INTERRUPTED, isError: true })
        : Effect.andThen(begin, answer(turn, call))
    )
  })

const answer = (turn: TurnState, call: Message.ToolCallPart): Effect.Effect<ToolRecord> =>
  Effect.suspend(() => {
    const { report, toolbox } = turn.ports
    if (call.malformed !== undefined) return Effect.succeed(unreadable(call))
    if (report !== undefined && Reporting.isReport(report, call)) return Effect.succeed(Reporting.answer(report, call))
    return turn.isFinal ? Effect.succeed(NOT_OFFERED) : Effect.map(toolbox.run(call), readable)
  }).pipe(
    // One that interrupts itself has failed too. When the turn is interrupted no handler is run.
    Effect.catchCause((cause) => Effect.succeed({ output: `The tool failed: ${whyOf(cause)}`, isError: true })),
    Effect.flatMap(at)
  )

const at = ({ output, isError }: ToolOutcome): Effect.Effect<ToolRecord> =>
  Effect.map(Clock.currentTimeMillis, (endedAt) => ({ output, isError, endedAt }))

const whyOf = (cause: Cause.Cause<never>): string =>
  Cause.hasInterruptsOnly(cause) ? "it was interrupted." : String(Cause.squash(cause))

const NOT_OFFERED = { output: "No tool but the final report could be used in this step.", isError: true }

/** Recording an output that is nested too deeply would overflow the stack. */
const readable = (outcome: ToolOutcome): ToolOutcome =>
  JsonShape.measure(outcome.output).isTooDeep
    ? { output: `The tool failed: its output is nested deeper than ${JsonShape.MOST_LEVELS} levels.`, isError: true }
    : outcome

/** A10: in the words of the seed, which a model may have been told of. */
const unreadable = ({ input, malformed = "" }: Message.ToolCallPart): ToolOutcome => {
  const payload = typeof input === "string" ? input : JSON.stringify(input)
  const isCut = payload.length > QUOTED_CHARACTERS
  const note = isCut ? ` (the first ${QUOTED_CHARACTERS} of ${payload.length} characters)` : ""
  // A cut may fall into a character of two halves, which no provider takes.
  const quoted = isCut ? payload.slice(0, QUOTED_CHARACTERS).toWellFormed() : payload
  const reason = malformed.replace(/\.\s*$/, "")
  return {
    output: `(tool failed: invalid tool call payload. ${reason}. Original payload${note}: ${quoted})`,
    isError: true
  }
}

const impossible = (): never => {
  throw new Error("there are as many records as calls")
}
