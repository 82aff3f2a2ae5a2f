/** Reads the chunks and events of LangChain's streams: which are content, and which report the end of a response. */
import { isFilled } from "holdfast/bridge"

type Part = string | { readonly type?: string; readonly text?: string }

/** What is read of a `ChatGenerationChunk`. */
interface Chunk {
  readonly text?: string
  readonly generationInfo?: object
  readonly message?: {
    readonly content?: string | ReadonlyArray<Part>
    readonly tool_call_chunks?: ReadonlyArray<unknown>
    readonly additional_kwargs?: object
    readonly response_metadata?: object
  }
}

/** What is read of a `ChatModelStreamEvent`. */
interface Event {
  readonly event: string
  readonly content?: { readonly type: string }
  /** Why the response ended; absent: the provider did not report it. */
  readonly reason?: string
}

/** Output that integrations give beside `content`. */
const BESIDE = ["reasoning_content", "reasoning", "function_call", "tool_calls", "audio", "refusal", "tool_outputs"]

/** Whether a chunk is content. */
export const isContentChunk = (chunk: unknown): boolean => {
  const { message: { additional_kwargs: beside = {}, content = "", tool_call_chunks: calls = [] } = {}, text = "" } =
    chunk as Chunk
  const parts = typeof content === "string" ? [text, content] : [text, ...content]
  return isFilled(calls) || parts.some(isContentPart) || BESIDE.some((name) => isFilled(Reflect.get(beside, name)))
}

const isContentPart = (part: Part): boolean =>
  typeof part === "string" ? part !== "" : part.type !== "text" || part.text !== ""

const isContentEvent = (element: unknown): boolean => {
  const { content, event: type } = element as Event
  if (type === "content-block-start") return content?.type !== "text" && content?.type !== "reasoning"
  return type === "content-block-delta" || type === "content-block-finish"
}

/** By the method that streams. */
export const CONTENT = { _streamResponseChunks: isContentChunk, _streamChatModelEvents: isContentEvent } as const

/** The names of a finish reason in chat completions, Anthropic's messages, Responses, Gemini, Bedrock and Ollama. */
const ENDS = ["finish_reason", "stop_reason", "status", "finishReason", "stopReason", "done_reason"]

/** Values of those names in a response that goes on. */
const UNENDED = new Set(["queued", "in_progress"])

/** Whether a chunk or event reports why its response ended. */
export const isEnd = (element: unknown): boolean => {
  const { generationInfo, message } = element as Chunk
  if (isLast(element)) return typeof (element as Event).reason === "string"
  const given = [generationInfo, message?.response_metadata, message?.additional_kwargs]
  const reasons = given.flatMap((values = {}) => ENDS.map((name): unknown => Reflect.get(values, name)))
  return reasons.some((reason) => typeof reason === "string" && !UNENDED.has(reason))
}

/** Whether it is the last event of a response, which LangChain makes where the stream ends, for whatever reason. */
export const isLast = (element: unknown): boolean => (element as Event).event === "message-finish"

/** Whether models of a kind are known to report the end of each response. */
export const reportsEnd = (llmType: string): boolean => ["openai", "anthropic"].includes(llmType)
