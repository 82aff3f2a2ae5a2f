/**
 * The state machine that decodes a streamed chat completion.
 *
 * Sound of a model (`audio`) is not read: it comes as raw samples in pieces, without a media type.
 *
 * Sources: OpenAI, API reference, "Streaming" of chat completions; DeepSeek and xAI (`reasoning_content`), OpenRouter
 * (`reasoning`, `images`, errors as chunks), Groq (`x_groq`), Mistral (content in typed parts), Moonshot (usage in the choice).
 */
import type { Provider } from "@holdfast/kernel"
import type { Message } from "@holdfast/wire"
import { isObject, type JsonObject, objectOf, objectsOf, textOf } from "../decoding/Json.ts"
import * as ModelFile from "../decoding/ModelFile.ts"
import type { Machine } from "../decoding/Protocol.ts"
import * as UsageMeter from "../decoding/UsageMeter.ts"
import * as ToolCalls from "./ToolCalls.ts"
import * as Usage from "./Usage.ts"

/** Makes the machine. `idOf` gives an id to the nth tool call where the provider gave none. */
export const make = (idOf: (n: number) => string): Machine => {
  const calls = ToolCalls.make(idOf)
  const usage = UsageMeter.make()
  let hasOutput = false
  let stopped: string | undefined

  const delta = (delta: JsonObject, out: Array<Provider.ProviderEvent>) => {
    const before = out.length
    const reasoning = textOf(delta.reasoning_content) ?? textOf(delta.reasoning)
    if (reasoning !== undefined) out.push({ type: "reasoning-delta", delta: reasoning })
    const { content } = delta
    if (typeof content === "string") {
      if (content !== "") out.push({ type: "text-delta", delta: content })
    } else if (Array.isArray(content)) {
      parts(content, out)
    }
    if (delta.images !== undefined) {
      for (const { image_url } of objectsOf(delta.images)) out.push(...ModelFile.ofUrl(image_url))
    }
    // A refusal replaces the model's answer, so it is emitted as text.
    const refusal = textOf(delta.refusal)
    if (refusal !== undefined) out.push({ type: "text-delta", delta: refusal })
    if (Array.isArray(delta.tool_calls)) for (const piece of objectsOf(delta.tool_calls)) calls.add(piece)
    if (out.length > before) {
      hasOutput = true
      usage.first(out)
    }
  }

  return {
    frame: (frame, event, out) => {
      if (isError(frame, event)) return "error"
      const choice = Array.isArray(frame.choices) ? objectOf(frame.choices[0]) : NOTHING
      const counts = frame.usage ?? choice.usage ?? objectOf(frame.x_groq).usage
      if (isObject(counts)) usage.set(Usage.read(counts))
      const given = choice.delta ?? choice.message
      if (isObject(given)) delta(given, out)
      const reason = textOf(choice.finish_reason)
      if (reason !== undefined) {
        const failure = failureOf(reason, choice)
        if (failure !== undefined) {
          out.push({ type: "error", failure })
          return "failed"
        }
        stopped = reason
      }
      return stopped === undefined ? "open" : "finishing"
    },
    // An end with neither a finish reason nor output means that the stream broke before it began.
    done: () => (stopped !== undefined || hasOutput || calls.count() > 0 ? "finished" : "open"),
    finish: (out) => {
      const whole = calls.whole(stopped !== undefined && finishReasonOf(stopped) === "length")
      for (const call of whole) out.push(call)
      usage.last(out)
      const finishReason = stopped === undefined ? "other" : finishReasonOf(stopped)
      // Gemini and Ollama use the finish reason "stop" for tool calls, too.
      const asksForTools = whole.length > 0 && (finishReason === "stop" || finishReason === "other")
      out.push({ type: "finish", finishReason: asksForTools ? "tool-calls" : finishReason })
    },
    unfinished: calls.names,
    held: calls.length,
    kept: calls.kept
  }
}

/**
 * Whether a chunk is an error: OpenAI's and OpenRouter's `error`, vLLM's `object: "error"`, FastAPI's `detail`, a bare `message`, or
 * any frame named `error`. It reads the envelope only (C4).
 */
export const isError = (frame: JsonObject, event: string | undefined): boolean => {
  if (event === "error" || (frame.error !== undefined && frame.error !== null)) return true
  if (Array.isArray(frame.choices) && frame.x_groq === undefined) return false
  return (
    frame.object === "error" ||
    frame.type === "error" ||
    frame.detail !== undefined ||
    typeof frame.message === "string" ||
    objectOf(frame.x_groq).error !== undefined
  )
}

/** The failure of a finish reason: Mistral's and OpenRouter's `error`, DeepSeek's lack of resources. */
export const failureOf = (reason: string, choice: JsonObject): Provider.EmittedFailure | undefined => {
  switch (reason) {
    case "error": {
      const { message } = objectOf(choice.error)
      return {
        reason: "server-error",
        message: textOf(message) ?? 'The provider ended the response with finish_reason "error".',
        retryable: true,
        code: "error"
      }
    }
    case "insufficient_system_resource":
      return {
        reason: "overloaded",
        message: 'The provider ended the response with finish_reason "insufficient_system_resource".',
        retryable: true,
        code: reason
      }
    default:
      return undefined
  }
}

// --- internal

const NOTHING: JsonObject = {}

const finishReasonOf = (reason: string): Message.FinishReason => FINISH_REASONS.get(reason) ?? "other"

const FINISH_REASONS: ReadonlyMap<string, Message.FinishReason> = new Map([
  ["stop", "stop"],
  ["eos", "stop"],
  ["end_turn", "stop"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["model_length", "length"],
  ["tool_calls", "tool-calls"],
  ["content_filter", "content-filter"],
  ["refusal", "content-filter"]
])

/** Content in typed parts, as Mistral's reasoning models send it. */
const parts = (content: ReadonlyArray<unknown>, out: Array<Provider.ProviderEvent>): void => {
  for (const part of objectsOf(content)) {
    const text = textOf(part.text)
    if (part.type === "text" && text !== undefined) out.push({ type: "text-delta", delta: text })
    for (const thought of part.type === "thinking" ? objectsOf(part.thinking) : []) {
      const reasoning = textOf(thought.text)
      if (reasoning !== undefined) out.push({ type: "reasoning-delta", delta: reasoning })
    }
  }
}
