/** Turns the messages of a turn into the prompt of a model of the AI SDK. */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider"
import type { Json, Message } from "holdfast"
import { argumentsOf, Metadata, promptOf as prompt } from "holdfast/bridge"
import * as Files from "./Files.ts"

/** The prompt of a request. */
export const promptOf = (
  system: string | undefined,
  messages: ReadonlyArray<Message>,
  version: Files.Version
): LanguageModelV4Prompt =>
  // Each role has the parts that the AI SDK has for it.
  prompt(system, messages, {
    text: ({ text, type }) => ({ type, text }),
    file: (part) => ({ ...Files.promptPart(part, version), ...optionsOf(part) }),
    reasoning: (part) => ({ type: part.type, text: part.text, ...optionsOf(part) }),
    "tool-call": (part) => {
      const { toolCallId, toolName, type } = part
      return { type, toolCallId, toolName, input: argumentsOf(part), ...optionsOf(part) }
    },
    "tool-result": ({ content, isError, output, toolCallId, toolName, type }) => ({
      type,
      toolCallId,
      toolName,
      output: content === undefined ? outputOf(output, isError) : Files.resultOutput(content, version)
    })
  }) as LanguageModelV4Prompt

// --- internal

const outputOf = (output: Json, isError: boolean) =>
  typeof output === "string"
    ? { type: isError ? "error-text" : "text", value: output }
    : { type: isError ? "error-json" : "json", value: output }

/** What a part brings back to its provider. */
const optionsOf = (part: Metadata.Proof): object => {
  const providerOptions = Metadata.metadataOf(part)
  return Object.keys(providerOptions).length === 0 ? {} : { providerOptions }
}
