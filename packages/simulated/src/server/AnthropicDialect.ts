/** Encodes Anthropic's messages (source: docs.claude.com/en/api/messages, "Streaming messages"). */
import { JsonShape, type Message } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import { HALF_INPUT, halves } from "./ServerDialect.ts"
import type { Meta, ServerDialect, StreamAction, WholeResponse } from "./ServerDialect.ts"
import * as ErrorBody from "../ErrorBody.ts"

/** Anthropic's format. */
export const dialect: ServerDialect = {
  format: "anthropic",
  ping: event({ type: "ping" }),
  isPrompt: (message) => message.role === "user" && !isToolResult(message.content),
  frames: (meta) => {
    const blocks = new Blocks(meta)
    return (action) => blocks.frames(action)
  },
  whole: (response, meta) => ({
    ...envelope(meta),
    content: content(response, meta),
    stop_reason: STOP_REASONS[response.finishReason],
    stop_sequence: null,
    usage: { input_tokens: meta.inputTokens, output_tokens: response.usage.outputTokens ?? 0 }
  })
}

// --- internal

const isToolResultPart = Schema.is(Schema.Struct({ type: Schema.Literal("tool_result") }))

const isToolResult = (content: unknown): boolean => Array.isArray(content) && content.some(isToolResultPart)

function event(json: Schema.JsonObject & { readonly type: string }): string {
  return `event: ${json.type}\ndata: ${JSON.stringify(json)}\n\n`
}

type Kind = "thinking" | "text" | "tool_use"

/** The frames of one response. Content comes in numbered blocks, which open and close as what is said changes. */
class Blocks {
  private readonly meta: Meta
  private kind: Kind | undefined = undefined
  private index = -1

  constructor(meta: Meta) {
    this.meta = meta
  }

  frames(action: StreamAction): string {
    switch (action._tag) {
      case "Open": {
        const usage = { input_tokens: this.meta.inputTokens, output_tokens: 1 }
        const message = { ...envelope(this.meta), content: [], stop_reason: null, stop_sequence: null, usage }
        return event({ type: "message_start", message }) + dialect.ping
      }
      case "Reasoning":
        return (
          this.enter("thinking", { type: "thinking", thinking: "", signature: "" }) +
          this.delta({ type: "thinking_delta", thinking: action.token })
        )
      case "Text":
        return this.enter("text", { type: "text", text: "" }) + this.delta({ type: "text_delta", text: action.token })
      case "ToolCall":
        return (
          this.call(action.name) +
          halves(action.input)
            .map((part) => this.argument(part))
            .join("")
        )
      case "HalfToolCall":
        return this.call(action.name) + this.argument(HALF_INPUT)
      case "Fail":
        return event({ type: "error", ...ErrorBody.envelope(action.error, "anthropic") })
      case "Finish":
        return (
          this.close() +
          event({
            type: "message_delta",
            delta: { stop_reason: STOP_REASONS[action.finishReason], stop_sequence: null },
            usage: { input_tokens: this.meta.inputTokens, output_tokens: action.usage.outputTokens ?? 0 }
          }) +
          event({ type: "message_stop" })
        )
      default:
        return action satisfies never
    }
  }

  private enter(kind: Kind, content_block: Schema.JsonObject): string {
    if (this.kind === kind) return ""
    const closed = this.close()
    this.kind = kind
    this.index += 1
    return closed + event({ type: "content_block_start", index: this.index, content_block })
  }

  private close(): string {
    if (this.kind === undefined) return ""
    const signed = this.kind === "thinking" ? this.delta({ type: "signature_delta", signature: SIGNATURE }) : ""
    this.kind = undefined
    return signed + event({ type: "content_block_stop", index: this.index })
  }

  private call(name: string): string {
    return this.enter("tool_use", { type: "tool_use", id: toolUseId(this.meta), name, input: {} })
  }

  private argument(partial_json: string): string {
    return this.delta({ type: "input_json_delta", partial_json })
  }

  private delta(delta: Schema.JsonObject): string {
    return event({ type: "content_block_delta", index: this.index, delta })
  }
}

/** Takes the place of Anthropic's signature of a thinking block. */
const SIGNATURE = "c2ltdWxhdGVk"

const toolUseId = (meta: Meta): string => `toolu_${meta.id}`

const envelope = (meta: Meta): Schema.JsonObject => ({
  id: meta.id,
  type: "message",
  role: "assistant",
  model: meta.model
})

const content = (response: WholeResponse, meta: Meta): ReadonlyArray<Schema.JsonObject> => {
  const blocks: Array<Schema.JsonObject> = []
  if (response.reasoning !== "") blocks.push({ type: "thinking", thinking: response.reasoning, signature: SIGNATURE })
  if (response.text !== "") blocks.push({ type: "text", text: response.text })
  if (response.toolCall !== undefined) {
    const { name, input } = response.toolCall
    // Without a stream arguments are JSON; text that is no JSON stays text.
    blocks.push({ type: "tool_use", id: toolUseId(meta), name, input: JsonShape.parse(input) ?? input })
  }
  return blocks
}

const STOP_REASONS: Readonly<Record<Message.FinishReason, string>> = {
  "tool-calls": "tool_use",
  "content-filter": "refusal",
  length: "max_tokens",
  stop: "end_turn",
  other: "end_turn"
}
