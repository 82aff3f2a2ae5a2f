/**
 * The last step of a turn that has come to a limit: the model is told so, and offered nothing but the report (A11).
 *
 * F1. Whether a step is the last is decided before its first attempt, and recorded; a step that has begun is not made the
 *     last, and the last stays the last, whatever the limits are by then.
 * F2. It is announced once. What is asked for again in it (A9) is asked with the report alone.
 * F3. Where no report is asked for, the step has no tools, and its text is the answer.
 */
import { Clock, Effect, Schema } from "effect"
import * as ModelContext from "./ModelContext.ts"
import type { TurnState } from "./TurnState.ts"
import type { TurnStopped } from "./TurnStopped.ts"

/**
 * Why a step is the last.
 *
 * - `max-turns`: the turn has as many steps as it may have.
 * - `context`: the next request would be too long.
 * - `malformed-report`: a report was handed in that would not do (A12).
 * - `retries-exhausted`: the attempts of the step before ran out on invalid responses (A14).
 */
export const Cause = Schema.Literals(["max-turns", "context", "malformed-report", "retries-exhausted"])
export type Cause = typeof Cause.Type

/** That a step is the last, as it is recorded. */
export const FinalRecord = Schema.Struct({
  cause: Cause,
  /** Epoch milliseconds. */
  at: Schema.Number
})
export type FinalRecord = typeof FinalRecord.Type

/** The step after which a turn may have no other. */
export interface Last {
  /** 0-based. */
  readonly step: number
  readonly cause: Cause
  /** The number of steps that the turn might have had before a report shortened it; absent: any number. */
  readonly shortenedFrom?: number
}

/** Makes the turn's step the last, if it has to be. Nothing, and no effect, for a turn without limits. */
export const enter = (turn: TurnState): Effect.Effect<void, TurnStopped> | undefined => {
  const name = nameOf(turn)
  if (isRecorded(turn)) return announce(turn, name, "max-turns") // its cause is in the record
  if (turn.last === undefined && turn.input.limits === undefined) return undefined
  if (turn.hasBegun) return undefined // F1
  const cause = causeOf(turn)
  return cause === undefined ? undefined : announce(turn, name, cause)
}

/** Whether the turn's step is known to be the last. */
export const isRecorded = (turn: TurnState): boolean => turn.ports.checkpoint.isRecorded(nameOf(turn))

/** A12: there is one more step to mend a report in. */
export const collapse = (turn: TurnState): void => {
  const step = turn.step + 1
  const { last } = turn
  if (last !== undefined && last.step <= step) return
  const shortenedFrom = last === undefined ? undefined : { shortenedFrom: last.step + 1 }
  turn.last = { step, cause: "malformed-report", ...shortenedFrom }
}

/** A14: makes the next step the last one, in which the report alone is offered. */
export const exhaust = (turn: TurnState): void => {
  turn.last = { step: turn.step + 1, cause: "retries-exhausted" }
}

/** What a model can still do, as it is told. */
export const wayOut = ({ isFinal, ports: { report } }: TurnState): string => {
  if (report === undefined) return "Answer now, in words, with what you have: no tool can be used."
  const { name } = report.tool
  return isFinal
    ? `Call ${name} now, with what you have: nothing else is accepted.`
    : `Call a tool to go on, or ${name} to end with your report: nothing else is accepted.`
}

// --- internal

const nameOf = ({ step }: TurnState): string => `step/${step}/final`

const causeOf = (turn: TurnState): Cause | undefined => {
  const { last, lastUsage: usage } = turn
  const { limits, system } = turn.input
  if (last !== undefined && turn.step >= last.step) return last.cause
  const { tools } = turn
  const messages = ModelContext.of(turn.messages)
  const { target } = turn.route
  return limits?.exceedsContext?.({ system, messages, tools, target, usage }) === true ? "context" : undefined
}

const announce = Effect.fnUntraced(function* (
  turn: TurnState,
  name: string,
  due: Cause
): Effect.fn.Return<void, TurnStopped> {
  const { at, cause } = yield* turn.ports.checkpoint.run(
    name,
    FinalRecord,
    Effect.map(Clock.currentTimeMillis, (at) => ({ cause: due, at }))
  )
  turn.isFinal = true
  const { shortenedFrom } = turn.last ?? {}
  const shortened = cause === "malformed-report" && shortenedFrom !== undefined ? { shortenedFrom } : undefined
  const instruction = `This is the last step of this turn: ${because(cause)}. ${wayOut(turn)}`
  yield* turn.persist(() => [
    turn.event({ type: "final-turn", step: turn.step, cause, ...shortened }),
    turn.add(turn.told(instruction, at))
  ])
})

const because = (cause: Cause): string => {
  switch (cause) {
    case "max-turns":
      return "it has as many steps as it may have"
    case "context":
      return "its context is nearly full"
    case "malformed-report":
      return "the final report could not be accepted"
    case "retries-exhausted":
      return "none of the responses before it could be used"
    default:
      return cause satisfies never
  }
}
