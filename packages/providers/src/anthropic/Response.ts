/**
 * The state machine that decodes Anthropic's stream events. Only `message_stop` ends a message; without it the stream has broken off
 * (C6).
 *
 * Source: Claude API documentation, "Streaming messages".
 */
import type { Provider } from "@holdfast/kernel"
import { type Message, defined } from "@holdfast/wire"
import { isObject, type JsonObject, objectOf, objectsOf, textOf, countOf } from "../decoding/Json.ts"
import type { Machine } from "../decoding/Protocol.ts"
import * as UsageMeter from "../decoding/UsageMeter.ts"
import { ContentBlocks } from "./ContentBlocks.ts"

/** Makes the machine. `idOf` gives an id to the nth tool call where the provider gave none. */
export const make = (idOf: (n: number) => string): Machine => {
  const blocks = new ContentBlocks(idOf)
  const usage = UsageMeter.make()
  let counts = noUsage
  let finishReason: Message.FinishReason | undefined
  /** The message that has begun, with its id where it has one. */
  let message: { readonly id: unknown } | undefined
  let hasOutput = false

  const count = (json: unknown) => {
    if (!isObject(json)) return
    counts = mergeUsage(counts, json)
    usage.set(toUsage(counts))
  }

  const stopped = (json: unknown, out: Array<Provider.ProviderEvent>) => {
    const reason = textOf(json)
    if (reason === undefined) return
    finishReason = finishReasonOf(reason)
    blocks.close(finishReason === "length", out)
  }

  /** Some relays send the beginning of a message twice. Before its first block nothing is lost by that. */
  const isRepeated = ({ id }: { readonly id: unknown }, frame: JsonObject): boolean =>
    blocks.kept === 0 && !hasOutput && typeof id === "string" && objectOf(frame.message).id === id

  return {
    frame: (frame, event, out) => {
      const before = out.length
      switch (frame.type ?? event) {
        case "content_block_delta":
          blocks.delta(frame.index, objectOf(frame.delta), out)
          break
        case "content_block_start":
          blocks.start(frame.index, objectOf(frame.content_block), out)
          break
        case "content_block_stop":
          blocks.stop(frame.index, out)
          break
        case "message_start":
          if (message !== undefined && !isRepeated(message, frame)) {
            out.push({ type: "error", failure: SECOND_MESSAGE })
            return "failed"
          }
          message = { id: objectOf(frame.message).id }
          count(objectOf(frame.message).usage)
          break
        // The response of a server that ignores `stream: true`.
        case "message":
          for (const [index, block] of objectsOf(frame.content).entries()) {
            blocks.start(index, block, out)
            blocks.stop(index, out)
          }
          count(frame.usage)
          stopped(frame.stop_reason, out)
          blocks.close(false, out)
          return "finished"
        case "message_delta": {
          count(frame.usage)
          stopped(objectOf(frame.delta).stop_reason, out)
          break
        }
        case "message_stop":
          blocks.close(false, out)
          return "finished"
        case "error":
          return "error"
        default:
          if (frame.error !== undefined && frame.error !== null) return "error"
      }
      if (out.length > before) {
        hasOutput = true
        usage.first(out)
      }
      return "open"
    },
    done: () => "open",
    finish: (out) => {
      usage.last(out)
      out.push({ type: "finish", finishReason: finishReason ?? (blocks.calls > 0 ? "tool-calls" : "other") })
    },
    unfinished: () => blocks.unfinished(),
    held: () => blocks.held,
    kept: () => blocks.kept
  }
}

// Converts the Messages API's token counts to `Message.Usage`.
//
// Anthropic's `input_tokens` excludes tokens read from and written to the prompt cache; `inputTokens` includes them. (Claude API
// documentation, "Prompt caching", tracking cache performance)

/** The API's counts; `message_delta` repeats changed ones, as totals. */
interface UsageCounts {
  readonly input: number | undefined
  readonly output: number | undefined
  readonly cacheRead: number | undefined
  readonly cacheWrite: number | undefined
}

/** No counts. */
export const noUsage: UsageCounts = { input: undefined, output: undefined, cacheRead: undefined, cacheWrite: undefined }

/** Updates the counts with those of a `usage` object. */
export const mergeUsage = (counts: UsageCounts, usage: JsonObject): UsageCounts => ({
  input: countOf(usage.input_tokens) ?? counts.input,
  output: countOf(usage.output_tokens) ?? counts.output,
  cacheRead: countOf(usage.cache_read_input_tokens) ?? counts.cacheRead,
  cacheWrite: countOf(usage.cache_creation_input_tokens) ?? counts.cacheWrite
})

/** The counts as usage. */
export const toUsage = (counts: UsageCounts): Message.Usage =>
  defined({
    inputTokens:
      counts.input === undefined ? undefined : counts.input + (counts.cacheRead ?? 0) + (counts.cacheWrite ?? 0),
    outputTokens: counts.output,
    cachedInputTokens: counts.cacheRead,
    cacheWriteTokens: counts.cacheWrite
  })

// --- internal

/** The failure of two messages in one stream: neither can be preferred. */
const SECOND_MESSAGE: Provider.EmittedFailure = {
  reason: "invalid-response",
  message: "The provider began a second message in one response.",
  retryable: true
}

const finishReasonOf = (reason: string): Message.FinishReason => FINISH_REASONS.get(reason) ?? "other"

const FINISH_REASONS: ReadonlyMap<string, Message.FinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool-calls"],
  ["refusal", "content-filter"]
])
