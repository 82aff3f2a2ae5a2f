/**
 * What a client may ask of a conversation, whatever it asks over.
 *
 * Every command but `prompt` and `retry` is answered at once and does nothing where there is nothing to do, so sending
 * one twice is the same as sending it once.
 */
import { Schema } from "effect"
import { ConversationId, TurnId } from "./Ids.ts"

const command = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ type: Schema.tag(type), conversationId: ConversationId, ...fields })

/** Runs a turn. The same `turnId` again is the same turn. */
export const Prompt = command("prompt", { prompt: Schema.NonEmptyString, turnId: Schema.optionalKey(TurnId) })
export type Prompt = typeof Prompt.Type

/** Runs the model again from the last user message (M1). */
export const Retry = command("retry", { turnId: Schema.optionalKey(TurnId) })
export type Retry = typeof Retry.Type

/** Ends the turn (P14). */
export const Abort = command("abort", {})
export type Abort = typeof Abort.Type

/** Ends the wait, and with it the chain of retries (P14). */
export const AbortRetry = command("abort-retry", {})
export type AbortRetry = typeof AbortRetry.Type

/** Ends the wait and makes the next attempt (X4). */
export const RetryNow = command("retry-now", {})
export type RetryNow = typeof RetryNow.Type

/** Switches automatic retries on or off (P15). */
export const SetAutoRetry = command("set-auto-retry", { enabled: Schema.Boolean })
export type SetAutoRetry = typeof SetAutoRetry.Type

export const Command = Schema.Union([Prompt, Retry, Abort, AbortRetry, RetryNow, SetAutoRetry])
export type Command = typeof Command.Type
