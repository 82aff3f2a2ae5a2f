/**
 * The state machine that decodes Anthropic's stream events.
 *
 * Response.A1. Only `message_stop` ends a message; without it the stream has broken off (C6).
 * Response.A2. A completed tool call is held until the next block begins or the message has its stop reason: a block that was cut at
 *     the token limit ends like any other, and one without arguments looks complete (C7). The order of blocks is kept.
 *
 * Source: Claude API documentation, "Streaming messages".
 */
import { type Provider, ResponseLimit, TextBuffer } from "@holdfast/kernel"
import { JsonShape, type Message } from "@holdfast/wire"
import { isObject, type JsonObject, objectOf, objectsOf, textOf } from "../decoding/Json.ts"
import type { Machine } from "../decoding/Protocol.ts"
import * as ToolArguments from "../decoding/ToolArguments.ts"
import * as UsageMeter from "../decoding/UsageMeter.ts"
import * as Usage from "./Usage.ts"

/** Makes the machine. `idOf` gives an id to the nth tool call where the provider gave none. */
export const make = (idOf: (n: number) => string): Machine => {
  const blocks = new Map<unknown, Block>()
  const usage = UsageMeter.make()
  let counts = Usage.none
  let finishReason: Message.FinishReason | undefined
  let heldCall: Block | undefined
  let calls = 0
  let hasStarted = false
  let held = 0
  let kept = 0

  const count = (given: unknown) => {
    if (!isObject(given)) return
    counts = Usage.merge(counts, given)
    usage.set(Usage.toUsage(counts))
  }

  const release = (wasCut: boolean, out: Array<Provider.ProviderEvent>) => {
    const call = heldCall
    heldCall = undefined
    if (call === undefined) return
    const toolCallId = call.id ?? idOf(calls)
    calls++
    out.push(ToolArguments.toCall({ toolCallId, toolName: call.name, text: call.text.text(), wasCut }))
  }

  const start = (index: unknown, given: JsonObject, out: Array<Provider.ProviderEvent>) => {
    release(false, out)
    const block = blockOf(given)
    blocks.set(index, block)
    held += block.type === "tool_use" ? 1 : 0
    kept += ResponseLimit.PART_CHARACTERS + sizeOf(block)
    const text = textOf(given.text)
    const thinking = textOf(given.thinking)
    if (block.type === "text" && text !== undefined) out.push({ type: "text-delta", delta: text })
    if (block.type === "thinking" && thinking !== undefined) out.push({ type: "reasoning-delta", delta: thinking })
  }

  const delta = (index: unknown, given: JsonObject, out: Array<Provider.ProviderEvent>) => {
    switch (given.type) {
      case "text_delta": {
        const text = textOf(given.text)
        if (text !== undefined) out.push({ type: "text-delta", delta: text })
        return
      }
      case "thinking_delta": {
        const thinking = textOf(given.thinking)
        if (thinking !== undefined) out.push({ type: "reasoning-delta", delta: thinking })
        return
      }
      case "input_json_delta": {
        const block = blocks.get(index)
        const piece = textOf(given.partial_json)
        if (block === undefined || piece === undefined) return
        block.text.append(piece)
        held += piece.length
        kept += piece.length
        return
      }
      case "signature_delta": {
        const block = blocks.get(index)
        const signature = textOf(given.signature)
        if (block === undefined || signature === undefined) return
        block.signature.append(signature)
        kept += signature.length
        return
      }
    }
  }

  const stop = (index: unknown, out: Array<Provider.ProviderEvent>) => {
    const block = blocks.get(index)
    blocks.delete(index)
    if (block === undefined) return
    if (block.type === "tool_use") {
      release(false, out)
      if (block.text.length === 0) block.text.append(block.input)
      heldCall = block
    } else if (block.redacted !== undefined) {
      out.push({ type: "reasoning-end", redacted: block.redacted })
    } else if (block.signature.length > 0) {
      out.push({ type: "reasoning-end", signature: block.signature.text() })
    }
  }

  /** Ends the open blocks: the message has stopped, and a proxy may have left out their ends. */
  const close = (wasCut: boolean, out: Array<Provider.ProviderEvent>) => {
    for (const index of blocks.keys()) stop(index, out)
    release(wasCut, out)
  }

  const stopped = (given: unknown, out: Array<Provider.ProviderEvent>) => {
    const reason = textOf(given)
    if (reason === undefined) return
    finishReason = finishReasonOf(reason)
    close(finishReason === "length", out)
  }

  return {
    frame: (frame, event, out) => {
      const before = out.length
      switch (frame.type ?? event) {
        case "content_block_delta":
          delta(frame.index, objectOf(frame.delta), out)
          break
        case "content_block_start":
          start(frame.index, objectOf(frame.content_block), out)
          break
        case "content_block_stop":
          stop(frame.index, out)
          break
        case "message_start":
          if (hasStarted) {
            out.push({ type: "error", failure: SECOND_MESSAGE })
            return "failed"
          }
          hasStarted = true
          count(objectOf(frame.message).usage)
          break
        // The response of a server that ignores `stream: true`.
        case "message":
          for (const [index, block] of objectsOf(frame.content).entries()) {
            start(index, block, out)
            stop(index, out)
          }
          count(frame.usage)
          stopped(frame.stop_reason, out)
          close(false, out)
          return "finished"
        case "message_delta": {
          count(frame.usage)
          stopped(objectOf(frame.delta).stop_reason, out)
          break
        }
        case "message_stop":
          close(false, out)
          return "finished"
        case "error":
          return "error"
        default:
          if (frame.error !== undefined && frame.error !== null) return "error"
      }
      if (out.length > before) usage.first(out)
      return "open"
    },
    done: () => "open",
    finish: (out) => {
      usage.last(out)
      out.push({ type: "finish", finishReason: finishReason ?? (calls > 0 ? "tool-calls" : "other") })
    },
    unfinished: () =>
      [...blocks.values(), ...(heldCall === undefined ? [] : [heldCall])].flatMap(({ name, type }) =>
        type === "tool_use" ? [name] : []
      ),
    held: () => held,
    kept: () => kept
  }
}

// --- internal

/** The failure of two messages in one stream: neither can be preferred. */
const SECOND_MESSAGE: Provider.EmittedFailure = {
  reason: "invalid-response",
  message: "The provider began a second message in one response.",
  retryable: true
}

interface Block {
  readonly type: unknown
  readonly id: string | undefined
  readonly name: string
  readonly redacted: string | undefined
  /** The arguments at the start of a call, as some compatible servers send them. */
  readonly input: string
  readonly text: TextBuffer.TextBuffer
  readonly signature: TextBuffer.TextBuffer
}

const blockOf = (given: JsonObject): Block => ({
  type: given.type,
  id: textOf(given.id),
  name: textOf(given.name) ?? "",
  redacted: given.type === "redacted_thinking" ? textOf(given.data) : undefined,
  input: isObject(given.input) && Object.keys(given.input).length > 0 ? JsonShape.textOf(given.input, Infinity) : "",
  text: new TextBuffer.TextBuffer(),
  signature: new TextBuffer.TextBuffer(given.type === "thinking" ? textOf(given.signature) : undefined)
})

const sizeOf = ({ id = "", input, name, redacted = "", signature }: Block): number =>
  id.length + input.length + name.length + redacted.length + signature.length

const finishReasonOf = (reason: string): Message.FinishReason => {
  switch (reason) {
    case "end_turn":
    case "stop_sequence":
      return "stop"
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length"
    case "tool_use":
      return "tool-calls"
    case "refusal":
      return "content-filter"
    default:
      return "other"
  }
}
