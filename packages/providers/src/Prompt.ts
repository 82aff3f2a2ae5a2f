/** What both request formats make of our messages alike. */
import type { Provider } from "@holdfast/kernel"
import type { Message } from "@holdfast/wire"
import { type Schema } from "effect"
import { isObject } from "./Json.ts"

/** Whether the model that is asked has written this message: its reasoning means something to no other. */
export const isOwn = (message: Message.AssistantMessage, request: Provider.ProviderRequest): boolean =>
  message.target.provider === request.target.provider && message.target.model === request.target.model

/** A tool's output as text. */
export const outputText = (result: Message.ToolResultPart): string =>
  typeof result.output === "string" ? result.output : JSON.stringify(result.output)

/**
 * A call's arguments, as an object in any case: providers refuse a history with arguments that are not one, so the text of
 * a malformed call goes back inside one.
 */
export const argumentsOf = (call: Message.ToolCallPart): Schema.Json =>
  call.malformed === undefined && isObject(call.input) ? call.input : { malformed_arguments: call.input }

/** The reasoning of a message. */
export const reasoningText = (message: Message.AssistantMessage): string =>
  message.content.reduce((text, part) => (part.type === "reasoning" ? text + part.text : text), "")

/**
 * Names a call that the provider did not name: unique in a conversation, the same when a turn is run again, and within the 40
 * characters that OpenAI takes.
 */
export const callId = (request: Provider.ProviderRequest) => {
  const turn = request.turnId.slice(-20)
  return (n: number): string => `call_${turn}_${request.step}_${n}`
}
