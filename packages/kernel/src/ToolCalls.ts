/**
 * The tool calls of one response: run at once, answered in the order of the calls.
 *
 * T1. A call that failed, or that could not even be read, is answered; it never ends the turn.
 * T2. Results are persisted in the order of the calls, each as soon as it and all before it are there: the order in which
 *     tools happen to finish is not the same when a turn is run again.
 */
import { type Message } from "@holdfast/wire"
import { Clock, Effect, Fiber, Schema } from "effect"
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

/** Runs the calls, and adds their results to the history. */
export const run = Effect.fnUntraced(function* (
  turn: TurnState,
  calls: ReadonlyArray<Message.ToolCallPart>
): Effect.fn.Return<void, TurnStopped> {
  const fibers = yield* Effect.forEach(calls, (call, i) =>
    Effect.forkChild(turn.ports.checkpoint.run(`step/${turn.step}/tool/${i}`, ToolRecord, answer(turn, call)), {
      startImmediately: true
    })
  )
  const content: Array<Message.ToolResultPart> = []
  let createdAt = turn.input.startedAt
  for (const [i, { toolCallId, toolName }] of calls.entries()) {
    const { output, isError, endedAt } = yield* Fiber.join(fibers[i] ?? impossible())
    createdAt = Math.max(createdAt, endedAt)
    content.push({ type: "tool-result", toolCallId, toolName, output, isError })
    yield* turn.persist([turn.event({ type: "tool-result", toolCallId, toolName, output, isError })])
  }
  const message = turn.add({
    role: "tool",
    id: turn.nextMessageId(),
    turnId: turn.input.turnId,
    createdAt,
    content
  })
  yield* turn.persist([message])
})

// --- internal

const answer = (turn: TurnState, call: Message.ToolCallPart): Effect.Effect<ToolRecord> =>
  Effect.suspend(() =>
    call.malformed === undefined ? turn.ports.toolbox.run(call) : Effect.succeed(unreadable(call))
  ).pipe(
    Effect.catchDefect((defect) => Effect.succeed({ output: `The tool failed: ${String(defect)}`, isError: true })),
    Effect.zipWith(Clock.currentTimeMillis, ({ output, isError }, endedAt) => ({ output, isError, endedAt }))
  )

/** A10 */
const unreadable = ({ input, malformed = "" }: Message.ToolCallPart) => {
  const payload = typeof input === "string" ? input : JSON.stringify(input)
  const quoted = payload.length > QUOTED_CHARACTERS ? `${payload.slice(0, QUOTED_CHARACTERS)} [cut]` : payload
  return { output: `The arguments of this call could not be read: ${malformed}\nThey were: ${quoted}`, isError: true }
}

const impossible = (): never => {
  throw new Error("a fiber was forked for each call")
}
