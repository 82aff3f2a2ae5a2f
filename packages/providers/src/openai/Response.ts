/**
 * The state machine that decodes a streamed chat completion.
 *
 * Sound of a model (`audio`) is not read: it comes as raw samples in pieces, without a media type.
 *
 * Sources: OpenAI, API reference, "Streaming" of chat completions; DeepSeek and xAI (`reasoning_content`), OpenRouter
 * (`reasoning`, `images`, errors as chunks), Groq (`x_groq`), Mistral (content in typed parts), Moonshot (usage in the choice).
 */
import type { Provider } from "@holdfast/kernel"
import { type Failure, type Message, defined, JsonShape } from "@holdfast/wire"
import { isObject, type JsonObject, objectOf, objectsOf, textOf, countOf } from "../decoding/Json.ts"
import * as ModelFile from "../decoding/ModelFile.ts"
import type { Machine } from "../decoding/Protocol.ts"
import * as UsageMeter from "../decoding/UsageMeter.ts"
import { ResponseLimit, TextBuffer } from "@holdfast/kernel/host"
import * as ToolArguments from "../decoding/ToolArguments.ts"

/** Makes the machine. `idOf` gives an id to the nth tool call where the provider gave none. */
export const make = (idOf: (n: number) => string): Machine => {
  const calls = toolCalls(idOf)
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
      if (isObject(counts)) usage.set(usageOf(counts))
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
export const failureOf = (reason: string, choice: JsonObject): Failure.Failure | undefined => {
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

// Converts the token counts of chat completions to `Message.Usage`.
//
// Sources: OpenAI, API reference, "CompletionUsage"; DeepSeek, "Create chat completion" (`prompt_cache_hit_tokens`); OpenRouter,
// "Usage accounting" (`cache_write_tokens`).

/**
 * Reads a `usage` object.
 *
 * **Gotchas**
 *
 * xAI does not include reasoning in `completion_tokens`. `total_tokens` includes it, so it is added here.
 */
export const usageOf = (usage: JsonObject): Message.Usage => {
  const input = objectOf(usage.prompt_tokens_details)
  const output = objectOf(usage.completion_tokens_details)
  const inputTokens = countOf(usage.prompt_tokens)
  const completionTokens = countOf(usage.completion_tokens)
  const reasoningTokens = countOf(output.reasoning_tokens)
  const isApart =
    reasoningTokens !== undefined &&
    reasoningTokens > 0 &&
    completionTokens !== undefined &&
    countOf(usage.total_tokens) === (inputTokens ?? 0) + completionTokens + reasoningTokens
  return defined({
    inputTokens,
    outputTokens: isApart ? completionTokens + reasoningTokens : completionTokens,
    reasoningTokens,
    cachedInputTokens:
      countOf(input.cached_tokens) ?? countOf(usage.prompt_cache_hit_tokens) ?? countOf(usage.cached_tokens),
    cacheWriteTokens: countOf(input.cache_write_tokens)
  })
}

// Assembles the tool calls of a chat completion from interleaved pieces.
//
// Pieces with the same `index` belong together. Compatible servers deviate from that: Gemini gives index 0 to each of several calls;
// others give no index, no id, or a whole call at once with its arguments as an object.

interface Call {
  readonly index: number | undefined
  id: string | undefined
  name: string
  readonly text: TextBuffer.TextBuffer
}

/** Collects no calls yet. `idOf` gives an id to the nth call where the provider gave none. */
const toolCalls = (idOf: (n: number) => string) => {
  const calls: Array<Call> = []
  let length = 0
  let kept = 0
  return {
    add: (piece: JsonObject): void => {
      const { arguments: given, name } = objectOf(piece.function)
      const index = typeof piece.index === "number" ? piece.index : undefined
      const id = textOf(piece.id)
      const text =
        typeof given === "string"
          ? given
          : given === undefined || given === null
            ? ""
            : JsonShape.textOf(given, Infinity) // does not overflow the stack at any depth
      let call = find(calls, index, id)
      if (call === undefined || isAnother(call, index, id, textOf(name))) {
        call = { index, id, name: "", text: new TextBuffer.TextBuffer() }
        calls.push(call)
        kept += ResponseLimit.PART_CHARACTERS
      }
      call.id ??= id
      if (call.name === "") call.name = textOf(name) ?? ""
      if (text !== "") call.text.append(text)
      length += text.length + 1
      kept += text.length + (id?.length ?? 0) + (textOf(name)?.length ?? 0)
    },
    count: () => calls.length,
    /** The names of the called tools. */
    names: () => calls.map(({ name }) => name),
    /** Characters so far, plus one for each piece. */
    length: () => length,
    /** Characters that are kept (`Machine.kept`). */
    kept: () => kept,
    /** The calls, in the order in which they began. They are known to be complete only at the end of the response (C7). */
    whole: (wasCut: boolean): ReadonlyArray<Message.ToolCallPart> =>
      calls.map((call, n) =>
        ToolArguments.toCall({ toolCallId: call.id ?? idOf(n), toolName: call.name, text: call.text.text(), wasCut })
      )
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

const find = (calls: ReadonlyArray<Call>, index: number | undefined, id: string | undefined): Call | undefined =>
  index !== undefined
    ? calls.findLast((call) => call.index === index)
    : ((id === undefined ? undefined : calls.findLast((call) => call.id === id)) ?? calls.at(-1))

/** Whether a piece begins a new call, although it has the index of another one, or none. */
const isAnother = (call: Call, index: number | undefined, id: string | undefined, name: string | undefined): boolean =>
  name !== undefined &&
  call.name !== "" &&
  (id === undefined ? index === undefined : call.id !== undefined && call.id !== id)
