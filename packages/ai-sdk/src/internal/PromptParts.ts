/** Turns the messages of a turn into the prompt of a model of the AI SDK. */
import type { LanguageModelV4Message, LanguageModelV4Prompt, SharedV4ProviderOptions } from "@ai-sdk/provider"
import type { Json, Message, ReasoningPart } from "holdfast"
import * as Files from "./Files.ts"

/** The prompt of a request. */
export const promptOf = (
  system: string | undefined,
  messages: ReadonlyArray<Message>,
  version: Files.Version
): LanguageModelV4Prompt => [
  ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
  ...messages.map((message) => messageOf(message, version))
]

// --- internal

const messageOf = (message: Message, version: Files.Version): LanguageModelV4Message => {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.content.map((part) => Files.promptPart(part, version)) }
    case "tool":
      return {
        role: "tool",
        content: message.content.map(({ content, isError, output, toolCallId, toolName }) => ({
          type: "tool-result",
          toolCallId,
          toolName,
          output: content === undefined ? outputOf(output, isError) : Files.resultOutput(content, version)
        }))
      }
    case "assistant":
      return {
        role: "assistant",
        content: message.content.map((part) => {
          switch (part.type) {
            case "text":
              return { type: "text", text: part.text }
            case "file":
              return { ...Files.promptPart(part, version), ...optionsOf(part.proof) }
            case "tool-call": {
              const { input, malformed, proof, toolCallId, toolName } = part
              const given = malformed === undefined ? input : { malformed_arguments: input } // as a provider takes it
              return { type: "tool-call", toolCallId, toolName, input: given, ...optionsOf(proof) }
            }
            case "reasoning":
              return { type: "reasoning", text: part.text, ...optionsOf(part.proof, anthropicOf(part)) }
          }
        })
      }
  }
}

const outputOf = (output: Json, isError: boolean) =>
  typeof output === "string"
    ? { type: isError ? ("error-text" as const) : ("text" as const), value: output }
    : { type: isError ? ("error-json" as const) : ("json" as const), value: output as never }

/** What a part brings back to its provider (Model.M3). */
const optionsOf = (
  proof: string | undefined,
  anthropic?: { readonly [field: string]: string }
): { readonly providerOptions?: SharedV4ProviderOptions } => {
  const others: SharedV4ProviderOptions = proof === undefined ? {} : JSON.parse(proof)
  const own = anthropic === undefined ? undefined : { anthropic: { ...others["anthropic"], ...anthropic } }
  const providerOptions = { ...others, ...own }
  return Object.keys(providerOptions).length === 0 ? {} : { providerOptions }
}

const anthropicOf = ({ redacted, signature }: ReasoningPart): { readonly [field: string]: string } | undefined =>
  redacted === undefined && signature === undefined
    ? undefined
    : {
        ...(signature === undefined ? undefined : { signature }),
        ...(redacted === undefined ? undefined : { redactedData: redacted })
      }
