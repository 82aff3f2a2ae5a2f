/** Decodes the content blocks of one message: texts, thinking and tool calls. */
import type { Provider } from "@holdfast/kernel"
import { ResponseLimit, TextBuffer } from "@holdfast/kernel/host"
import { JsonShape } from "@holdfast/wire"
import { isObject, type JsonObject, textOf } from "../decoding/Json.ts"
import { OpenParts } from "../decoding/OpenParts.ts"

/** The blocks of one message. */
export class ContentBlocks extends OpenParts {
  private readonly open = new Map<unknown, Block>()

  /** Begins a block. */
  start(index: unknown, json: JsonObject, out: Array<Provider.ProviderEvent>): void {
    this.release(false, out)
    const block = blockOf(json)
    this.open.set(index, block)
    this.held += block.type === "tool_use" ? 1 : 0
    this.kept += ResponseLimit.PART_CHARACTERS + sizeOf(block)
    const text = textOf(json.text)
    const thinking = textOf(json.thinking)
    if (block.type === "text" && text !== undefined) out.push({ type: "text-delta", delta: text })
    if (block.type === "thinking" && thinking !== undefined) out.push({ type: "reasoning-delta", delta: thinking })
  }

  /** Adds to a block. */
  delta(index: unknown, json: JsonObject, out: Array<Provider.ProviderEvent>): void {
    switch (json.type) {
      case "text_delta": {
        const text = textOf(json.text)
        if (text !== undefined) out.push({ type: "text-delta", delta: text })
        return
      }
      case "thinking_delta": {
        const thinking = textOf(json.thinking)
        if (thinking !== undefined) out.push({ type: "reasoning-delta", delta: thinking })
        return
      }
      case "input_json_delta": {
        const block = this.open.get(index)
        const piece = textOf(json.partial_json)
        if (block === undefined || piece === undefined) return
        block.text.append(piece)
        this.held += piece.length
        this.kept += piece.length
        return
      }
      case "signature_delta": {
        const block = this.open.get(index)
        const signature = textOf(json.signature)
        if (block === undefined || signature === undefined) return
        block.signature.append(signature)
        this.kept += signature.length
      }
    }
  }

  /** Ends a block. */
  stop(index: unknown, out: Array<Provider.ProviderEvent>): void {
    const block = this.open.get(index)
    this.open.delete(index)
    if (block === undefined) return
    if (block.type === "tool_use") {
      if (block.text.length === 0) block.text.append(block.input)
      this.hold(block, out)
    } else if (block.redacted !== undefined) {
      out.push({ type: "reasoning-end", redacted: block.redacted })
    } else if (block.signature.length > 0) {
      out.push({ type: "reasoning-end", signature: block.signature.text() })
    }
  }

  /** Ends all blocks: the message has stopped, and a proxy may have left out their ends. `wasCut`: at the token limit. */
  close(wasCut: boolean, out: Array<Provider.ProviderEvent>): void {
    for (const index of this.open.keys()) this.stop(index, out)
    this.release(wasCut, out)
  }

  /** The tools whose calls have begun and were not emitted. */
  override unfinished(): ReadonlyArray<string> {
    const begun = Array.from(this.open.values()).filter(({ type }) => type === "tool_use")
    return [...begun.map(({ name }) => name), ...super.unfinished()]
  }
}

// --- internal

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

const blockOf = (json: JsonObject): Block => ({
  type: json.type,
  id: textOf(json.id),
  name: textOf(json.name) ?? "",
  redacted: json.type === "redacted_thinking" ? textOf(json.data) : undefined,
  input: isObject(json.input) && Object.keys(json.input).length > 0 ? JsonShape.textOf(json.input, Infinity) : "",
  text: new TextBuffer.TextBuffer(),
  signature: new TextBuffer.TextBuffer(json.type === "thinking" ? textOf(json.signature) : undefined)
})

const sizeOf = ({ id = "", input, name, redacted = "", signature }: Block): number =>
  id.length + input.length + name.length + redacted.length + signature.length
