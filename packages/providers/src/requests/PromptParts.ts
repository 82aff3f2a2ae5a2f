/** Encodes parts of a prompt that the request formats share. */
import type { Provider } from "@holdfast/kernel"
import type { Message } from "@holdfast/wire"
import type * as Schema from "effect/Schema"
import { isObject } from "../decoding/Json.ts"

/** Whether the requested model wrote this message. Its reasoning is meaningless to any other model. */
export const isOwn = (message: Message.AssistantMessage, request: Provider.ProviderRequest): boolean =>
  message.target.provider === request.target.provider && message.target.model === request.target.model

/** The messages with their parts; messages of one side in a row become one, and those without parts are left out. */
export const joined = <Part>(
  messages: ReadonlyArray<Message.Message>,
  partsOf: (message: Message.Message) => ReadonlyArray<Part>
): ReadonlyArray<{ readonly isModel: boolean; readonly parts: Array<Part> }> => {
  const all: Array<{ readonly isModel: boolean; readonly parts: Array<Part> }> = []
  for (const message of messages) {
    const parts = partsOf(message)
    if (parts.length === 0) continue
    const isModel = message.role === "assistant"
    const last = all.at(-1)
    if (last?.isModel === isModel) last.parts.push(...parts)
    else all.push({ isModel, parts: [...parts] })
  }
  return all
}

/** A tool's output as text. */
export const outputText = (result: Message.ToolResultPart): string =>
  typeof result.output === "string" ? result.output : JSON.stringify(result.output)

/**
 * A call's arguments, always as an object. Providers reject a history whose arguments are no object, so the text of a malformed call
 * is wrapped in one.
 */
export const argumentsOf = (call: Message.ToolCallPart): Schema.Json =>
  call.malformed === undefined && isObject(call.input) ? call.input : { malformed_arguments: call.input }

/** All reasoning of a message. */
export const reasoningText = (message: Message.AssistantMessage): string =>
  message.content.reduce((text, part) => (part.type === "reasoning" ? text + part.text : text), "")

/**
 * Makes an id for a call that has none: unique in a conversation, the same when a turn is replayed, and within OpenAI's 40
 * characters.
 */
export const callId = ({ step, turnId }: Pick<Provider.ProviderRequest, "step" | "turnId">) => {
  const turn = turnId.slice(-20)
  return (n: number): string => `call_${turn}_${step}_${n}`
}

/** Whether an id was made by `callId`. */
export const isCallId = (id: string): boolean => /^call_.{1,20}_\d+_\d+$/.test(id)
