/**
 * Decodes the output items of one response: messages, reasoning, images and tool calls. A generated image is a file. Items of other
 * types, such as another hosted tool's, emit nothing.
 *
 * OutputParts.I1. A completed tool call is held until the next item begins or the response has ended: an item that was cut at the token
 *     limit ends like any other, and a call without arguments looks complete (C7). The order of items is kept.
 * OutputParts.I2. The proof of reasoning without a summary is held until there is output after it: of such reasoning a person has seen
 *     nothing, so an overload right after it is still before content (D4).
 */
import type { Provider } from "@holdfast/kernel"
import { ResponseLimit, TextBuffer } from "@holdfast/kernel/host"
import { type JsonObject, objectsOf, textOf } from "../decoding/Json.ts"
import * as ToolArguments from "../decoding/ToolArguments.ts"
import * as Request from "./Request.ts"

/** The items of one response. */
export class OutputParts {
  /** Characters of tool calls so far (`Machine.held`). */
  held = 0
  /** Characters of everything kept so far (`Machine.kept`). */
  kept = 0
  /** Tool calls that were emitted. */
  calls = 0
  /** Whether an item has begun. */
  hasBegun = false
  private readonly open = new Map<unknown, Item>()
  private heldCall: Item | undefined
  private heldProofs: Array<string> = []
  private readonly idOf: (n: number) => string

  /** `idOf` gives an id to the nth tool call where the provider gave none. */
  constructor(idOf: (n: number) => string) {
    this.idOf = idOf
  }

  /** Begins an item. */
  begin(index: unknown, json: JsonObject, out: Array<Provider.ProviderEvent>): void {
    this.release(false, out)
    const item = itemOf(json)
    this.hasBegun = true
    this.open.set(index, item)
    this.held += item.type === "function_call" ? 1 : 0
    this.kept += ResponseLimit.PART_CHARACTERS + item.name.length + (item.id?.length ?? 0)
  }

  /** Adds text to a message. */
  text(index: unknown, delta: string | undefined, out: Array<Provider.ProviderEvent>): void {
    if (delta === undefined) return
    const item = this.open.get(index)
    if (item !== undefined) item.hasDeltas = true
    this.prove(out)
    out.push({ type: "text-delta", delta })
  }

  /** Adds to reasoning. A summary has several parts; they are paragraphs. */
  reasoning(index: unknown, part: unknown, delta: string | undefined, out: Array<Provider.ProviderEvent>): void {
    if (delta === undefined) return
    const item = this.open.get(index)
    const isNext = item !== undefined && item.hasDeltas && item.part !== part
    if (item !== undefined) {
      item.hasDeltas = true
      item.part = part
    }
    this.prove(out)
    out.push({ type: "reasoning-delta", delta: isNext ? `\n\n${delta}` : delta })
  }

  /** Adds to a call's arguments. */
  arguments(index: unknown, delta: string | undefined): void {
    const item = this.open.get(index)
    if (item === undefined || delta === undefined) return
    item.text.append(delta)
    this.held += delta.length
    this.kept += delta.length
  }

  /** Ends an item. What had no deltas is read from here. */
  end(index: unknown, json: JsonObject, out: Array<Provider.ProviderEvent>): void {
    if (!this.open.has(index)) this.begin(index, json, out)
    const item = this.open.get(index)
    this.open.delete(index)
    if (item === undefined) return
    switch (item.type) {
      case "message":
        for (const part of item.hasDeltas ? [] : objectsOf(json.content)) {
          const text = textOf(part.text) ?? textOf(part.refusal)
          this.text(undefined, text, out)
        }
        return
      case "reasoning": {
        const texts = [...objectsOf(json.summary), ...objectsOf(json.content)].flatMap(({ text }) => textOf(text) ?? [])
        if (!item.hasDeltas) this.reasoning(undefined, undefined, textOf(texts.join("\n\n")), out)
        const proof = Request.proofOf(json)
        if (proof === undefined) return
        this.kept += proof.length
        if (item.hasDeltas || texts.length > 0) out.push({ type: "reasoning-end", proof })
        else this.heldProofs.push(proof) // OutputParts.I2
        return
      }
      case "function_call": {
        const given = textOf(json.arguments)
        if (item.text.length === 0 && given !== undefined) {
          item.text.append(given)
          this.held += given.length
          this.kept += given.length
        }
        item.id ??= textOf(json.call_id)
        if (item.name === "") item.name = textOf(json.name) ?? ""
        this.release(false, out)
        this.heldCall = item // OutputParts.I1
        return
      }
      case "image_generation_call": {
        const files = Request.filesIn(json)
        if (files.length > 0) this.prove(out)
        out.push(...files)
      }
    }
  }

  /** The response has ended. A call whose item did not end is incomplete. `wasCut`: at the token limit. */
  close(wasCut: boolean, out: Array<Provider.ProviderEvent>): void {
    this.release(wasCut && this.open.size === 0, out)
    for (const item of this.open.values()) {
      if (item.type !== "function_call") continue
      this.heldCall = item
      this.release(true, out)
    }
    this.open.clear()
    this.prove(out)
  }

  /** The tools whose calls have begun and were not emitted. */
  unfinished(): ReadonlyArray<string> {
    return [...this.open.values(), ...(this.heldCall === undefined ? [] : [this.heldCall])].flatMap(({ name, type }) =>
      type === "function_call" ? [name] : []
    )
  }

  /** Emits the proofs that were held. */
  private prove(out: Array<Provider.ProviderEvent>): void {
    for (const proof of this.heldProofs) out.push({ type: "reasoning-end", proof })
    if (this.heldProofs.length > 0) this.heldProofs = []
  }

  private release(wasCut: boolean, out: Array<Provider.ProviderEvent>): void {
    const call = this.heldCall
    this.heldCall = undefined
    if (call === undefined) return
    const toolCallId = call.id ?? this.idOf(this.calls)
    this.calls++
    this.prove(out)
    out.push(ToolArguments.toCall({ toolCallId, toolName: call.name, text: call.text.text(), wasCut }))
  }
}

// --- internal

interface Item {
  readonly type: unknown
  id: string | undefined
  name: string
  readonly text: TextBuffer.TextBuffer
  hasDeltas: boolean
  /** The part of the summary that the last delta belonged to. */
  part: unknown
}

const itemOf = (json: JsonObject): Item => ({
  type: json.type,
  id: textOf(json.call_id),
  name: textOf(json.name) ?? "",
  text: new TextBuffer.TextBuffer(),
  hasDeltas: false,
  part: undefined
})
