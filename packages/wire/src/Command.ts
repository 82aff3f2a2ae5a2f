/**
 * Schemas of the commands that clients send to a conversation, over any transport.
 *
 * Every command except `prompt` and `retry` is answered as soon as its effect is on disk, which takes milliseconds. It has no
 * effect where there is nothing to change, so sending a command twice equals sending it once.
 */
import * as Schema from "effect/Schema"
import { ToolAnswers } from "./ConversationState.ts"
import { CommandId, ConversationId, TurnId } from "./Ids.ts"
import { Moment } from "./values/Moment.ts"
import { Prompt as PromptValue } from "./Prompt.ts"
import { NonEmptyText } from "./values/Text.ts"

const command = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ type: Schema.tag(type), conversationId: ConversationId, ...fields })

/** Runs a turn. A repeated `turnId` refers to the same turn. */
export const Prompt = command("prompt", { prompt: PromptValue, turnId: Schema.optionalKey(TurnId) })
export type Prompt = typeof Prompt.Type

/** Runs the model again from the last user message (M1). */
export const Retry = command("retry", { turnId: Schema.optionalKey(TurnId) })
export type Retry = typeof Retry.Type

/** Ends the turn (P14). */
export const Abort = command("abort", {})
export type Abort = typeof Abort.Type

const steering = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  // A repeated id marks the same command: it has no second effect, not even on a later wait (X4).
  command(type, { ...fields, commandId: Schema.optionalKey(CommandId) })

/** Cancels the retries: ends the wait, the retry chain, and the turn with its last error (P14, X4). */
export const AbortRetry = steering("abort-retry", {})
export type AbortRetry = typeof AbortRetry.Type

/** Ends the wait and makes the next attempt (X4). */
export const RetryNow = steering("retry-now", {})
export type RetryNow = typeof RetryNow.Type

/** Moves the end of the wait, forward or back (X4). */
export const WaitUntil = steering("wait-until", {
  until: Moment
})
export type WaitUntil = typeof WaitUntil.Type

/** Ends the wait; the rest of the turn runs on another target (X4). */
export const SwitchTarget = steering("switch-target", {
  /** `provider/model`. */
  model: NonEmptyText
})
export type SwitchTarget = typeof SwitchTarget.Type

/** One year: longer than any client waits, and small enough that sums of such numbers stay finite. */
const LONGEST_EXTENSION_MS = 365 * 86_400_000

const EXTENSION = `expected a number of milliseconds above 0, a year (${LONGEST_EXTENSION_MS}) at most`

/** The milliseconds that a budget is extended by. The sum of repeated extensions must stay a number that can be recorded. */
export const Extension = Schema.Finite.check(
  Schema.isGreaterThan(0, { message: EXTENSION }),
  Schema.isLessThanOrEqualTo(LONGEST_EXTENSION_MS, { message: EXTENSION })
)

/** Adds to the budget of the step that waits (X4). */
export const ExtendBudget = steering("extend-budget", { byMs: Extension })
export type ExtendBudget = typeof ExtendBudget.Type

/** Characters of a reason: more than a person writes, and few enough for a model's context. */
const MOST_REASON = 4_000

/** A person's reason for a refusal, for the model. */
export const RefusalReason = NonEmptyText.check(
  Schema.isMaxLength(MOST_REASON, { message: `expected ${MOST_REASON} characters at most` })
)

/** The parts of an answer about a tool call that needs approval. */
export const toolAnswer = {
  /** As in `asks.calls`. */
  toolCallId: NonEmptyText,
  /** `true` runs the call; `false` answers it as a failed call. */
  approve: Schema.Boolean,
  /** Why it is refused, for the model. */
  reason: Schema.optionalKey(RefusalReason),
  /** `true`: the answer also holds for every later call of this tool in the conversation (`SetToolAnswers`). */
  always: Schema.optionalKey(Schema.Boolean)
}

/** Approves or refuses a tool call that waits for a person. */
export const AnswerTool = steering("answer-tool", toolAnswer)
export type AnswerTool = typeof AnswerTool.Type

/** The commands that steer a waiting turn. On a turn that does not wait they have no effect. */
export const Steering = Schema.Union([AbortRetry, RetryNow, WaitUntil, SwitchTarget, ExtendBudget, AnswerTool])
export type Steering = typeof Steering.Type

/** Switches automatic retries on or off (P15). */
export const SetAutoRetry = command("set-auto-retry", { enabled: Schema.Boolean })
export type SetAutoRetry = typeof SetAutoRetry.Type

/** Changes the conversation's model: that of turns accepted from now on. */
export const SetModel = command("set-model", {
  /** `provider/model`. */
  model: NonEmptyText
})
export type SetModel = typeof SetModel.Type

/** Replaces the answers that hold for every call of a tool in the conversation; `{}`: a person is asked about each call again. */
export const SetToolAnswers = command("set-tool-answers", { toolAnswers: ToolAnswers })
export type SetToolAnswers = typeof SetToolAnswers.Type

/** Any command. */
export const Command = Schema.Union([Prompt, Retry, Abort, SetAutoRetry, SetModel, SetToolAnswers, ...Steering.members])
export type Command = typeof Command.Type
