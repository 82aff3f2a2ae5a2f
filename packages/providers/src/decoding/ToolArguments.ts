/**
 * Parses a tool call's arguments from a model's text.
 *
 * A call is complete only if its arguments are a JSON object. Any other text is passed on with the reason; the call is not run, and
 * the model gets an error as its result (C7, A10). This includes arguments that are nested too deeply (C11), which are not parsed.
 */
import { ResponseLimit } from "@holdfast/kernel/host"
import { JsonShape, type Message } from "@holdfast/wire"
import type * as Schema from "effect/Schema"
import { isObject } from "./Json.ts"

/**
 * Builds the call.
 *
 * **Gotchas**
 *
 * No arguments mean `{}`, unless the response was cut at its length limit: then the model may not have written them yet.
 */
export const toCall = (call: {
  readonly toolCallId: string
  readonly toolName: string
  readonly text: string
  readonly wasCut: boolean
}): Message.ToolCallPart => {
  const { text, toolCallId, toolName, wasCut } = call
  const malformed = (reason: string) => ({
    type: "tool-call" as const,
    toolCallId,
    toolName,
    input: text,
    malformed: reason
  })
  if (toolName === "") return malformed("The call names no tool.")
  if (text.trim() === "") {
    return wasCut
      ? malformed("The response reached its length limit before the arguments.")
      : { type: "tool-call", toolCallId, toolName, input: {} }
  }
  if (JsonShape.isTextTooDeep(text)) return malformed(ResponseLimit.TOO_DEEP)
  try {
    const input: Schema.Json = JSON.parse(text)
    // Some models write `null` for no arguments.
    if (input === null) return { type: "tool-call", toolCallId, toolName, input: {} }
    return isObject(input)
      ? { type: "tool-call", toolCallId, toolName, input }
      : malformed("The arguments are not a JSON object.")
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return malformed(
      wasCut
        ? `The response reached its length limit within the arguments: ${reason}`
        : `The arguments are not JSON: ${reason}`
    )
  }
}
