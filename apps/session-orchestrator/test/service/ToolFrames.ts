/** Makes a scripted provider's responses that call tools. */
import * as ScriptedServer from "@holdfast/simulated/testing"
import type { Schema } from "effect"

export interface Call {
  readonly name: string
  readonly input?: Schema.Json
}

/** A whole response that asks for some tools at once. */
export const toolCalls = (...calls: ReadonlyArray<Call>): ReadonlyArray<string> =>
  ScriptedServer.openAiFrames([
    ...calls.map(({ input = {}, name }, index) =>
      chunk({
        tool_calls: [
          { index, id: `call-${index}`, type: "function", function: { name, arguments: JSON.stringify(input) } }
        ]
      })
    ),
    chunk({}, "tool_calls")
  ])

// --- internal

const chunk = (delta: Schema.Json, finish_reason: string | null = null): string =>
  JSON.stringify({ id: "scripted", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })
