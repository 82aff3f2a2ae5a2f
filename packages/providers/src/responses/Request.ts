/**
 * Encodes the body of a Responses request.
 *
 * Request.R1. The conversation's state stays with Holdfast: `store` is false, and a model's reasoning is sent back to that model alone, as the
 *     encrypted item that it came in. Reasoning without encrypted content is left out: without storage its id means nothing.
 * Request.R2. Tools are not strict: a strict tool's schema must name every property as required, and tools of others do not.
 *
 * Source: OpenAI, API reference, "Create a model response"; "Conversation state", "Reasoning models" (encrypted reasoning items), "Function calling".
 */
import type { Provider } from "@holdfast/kernel"
import { defined, type Failure, type Message } from "@holdfast/wire"
import { isObject, textOf } from "../decoding/Json.ts"
import * as BodyPatch from "../requests/BodyPatch.ts"
import * as RequestFiles from "../requests/Files.ts"
import * as Prompt from "../requests/Prompt.ts"
import * as Files from "./Files.ts"

type Json = BodyPatch.Json

/** Settings of the format. */
export interface Options extends BodyPatch.Options {}

/** The failure of a request with a file that its model cannot take. */
export const refusalOf = (request: Provider.ProviderRequest): Failure.ProviderFailure | undefined =>
  RequestFiles.refusalOf(request, Files.refuses)

/** The body of a request. */
export const make = (request: Provider.ProviderRequest, options: Options): Json => {
  const { messages, system, target, tools } = request
  return BodyPatch.merge(
    {
      model: target.model,
      ...(system === undefined || system === "" ? undefined : { instructions: system }),
      input: messages.flatMap((message) => inputOf(message, request)),
      ...(tools.length === 0 ? undefined : { tools: tools.map(toolOf) }),
      ...(reasons(target.model) ? { include: ["reasoning.encrypted_content"] } : undefined),
      store: false,
      stream: true
    },
    target.model,
    options
  )
}

/** The data of a reasoning item that goes back with it, as a part's `proof`; `undefined`: there is nothing to send back (Request.R1). */
export const proofOf = (item: { readonly [key: string]: unknown }): string | undefined => {
  const { encrypted_content, id } = item
  if (textOf(encrypted_content) === undefined) return undefined
  return JSON.stringify({ ...(textOf(id) === undefined ? undefined : { id }), encrypted_content })
}

// --- internal

/** Models that do not reason reject a request for encrypted reasoning. */
const reasons = (model: string): boolean => !/^(?:gpt-3|gpt-4|chatgpt-|gpt-5(?:\.\d+)?-chat)/.test(model)

const inputOf = (message: Message.Message, request: Provider.ProviderRequest): ReadonlyArray<Json> => {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: message.content.flatMap(inputParts) }]
    case "assistant": {
      const isOwn = Prompt.isOwn(message, request)
      return withoutLastReasoning(message.content.flatMap((part) => assistantItems(part, isOwn)))
    }
    case "tool":
      return message.content.map(outputOf)
    default:
      return message satisfies never
  }
}

const inputParts = (part: Message.InputPart): ReadonlyArray<Json> => {
  if (part.type === "file") return [Files.encode(part)]
  return part.text === "" ? [] : [{ type: "input_text", text: part.text }]
}

/** The API rejects a reasoning item without the item that followed it. */
const withoutLastReasoning = (items: ReadonlyArray<Json>): ReadonlyArray<Json> =>
  items.slice(0, items.findLastIndex(({ type }) => type !== "reasoning") + 1)

const assistantItems = (part: Message.AssistantPart, isOwn: boolean): ReadonlyArray<Json> => {
  switch (part.type) {
    case "text":
      return part.text === ""
        ? []
        : [{ type: "message", role: "assistant", content: [{ type: "output_text", text: part.text }] }]
    case "reasoning": {
      const proof = isOwn ? itemOf(part.proof) : undefined
      const summary = part.text === "" ? [] : [{ type: "summary_text", text: part.text }]
      return proof === undefined ? [] : [{ type: "reasoning", ...proof, summary }]
    }
    case "tool-call":
      return [
        {
          type: "function_call",
          call_id: part.toolCallId,
          name: part.toolName,
          arguments: JSON.stringify(Prompt.argumentsOf(part))
        }
      ]
    default:
      return part satisfies never
  }
}

/** What `proofOf` wrote; `undefined` for the proof of another adapter. */
const itemOf = (proof: string | undefined): Json | undefined => {
  if (proof === undefined) return undefined
  try {
    const item: unknown = JSON.parse(proof)
    const id = isObject(item) ? textOf(item.id) : undefined
    const encrypted_content = isObject(item) ? textOf(item.encrypted_content) : undefined
    return encrypted_content === undefined ? undefined : { ...defined({ id }), encrypted_content }
  } catch {
    return undefined
  }
}

const outputOf = (result: Message.ToolResultPart): Json => {
  const parts = RequestFiles.partsOf(result, Files.refuses)?.flatMap(inputParts)
  const text = Prompt.outputText(result)
  return {
    type: "function_call_output",
    call_id: result.toolCallId,
    // The format has no field for a failed call, so the text has a prefix.
    output: parts ?? (result.isError ? `Error: ${text}` : text)
  }
}

const toolOf = (tool: Provider.ProviderRequest["tools"][number]): Json => ({
  type: "function",
  name: tool.name,
  ...defined({ description: tool.description }),
  parameters: tool.inputSchema,
  strict: false
})
