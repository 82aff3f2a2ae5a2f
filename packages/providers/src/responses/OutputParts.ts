/**
 * Decodes the output items of a response of the Responses API: messages, reasoning, images and tool calls. A generated image is a file.
 * Items of other types, such as another hosted tool's, emit nothing.
 */
import type { Provider } from "@holdfast/kernel"
import { ResponseLimit, TextBuffer } from "@holdfast/kernel/host"
import { type JsonObject, objectsOf, textOf } from "../decoding/Json.ts"
import { OpenParts } from "../decoding/OpenParts.ts"
import * as Request from "./Request.ts"

/** The items of one response. */
export class OutputParts extends OpenParts {
  /** Whether an item has begun. */
  hasBegun = false
  private readonly open = new Map<unknown, Item>()

  /** Begins an item. */
  begin(index: unknown, json: JsonObject, out: Array<Provider.ProviderEvent>): Item {
    this.release(false, out)
    const item = itemOf(json)
    this.hasBegun = true
    this.open.set(index, item)
    this.held += item.type === "function_call" ? 1 : 0
    this.kept += ResponseLimit.PART_CHARACTERS + item.name.length + (item.id?.length ?? 0)
    return item
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
    const item = this.open.get(index) ?? this.begin(index, json, out)
    this.open.delete(index)
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
        else this.keepProof(proof)
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
        this.hold(item, out)
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
      this.hold(item, out)
      this.release(true, out)
    }
    this.open.clear()
    this.prove(out)
  }

  /** The tools whose calls have begun and were not emitted. */
  override unfinished(): ReadonlyArray<string> {
    const begun = Array.from(this.open.values()).filter(({ type }) => type === "function_call")
    return [...begun.map(({ name }) => name), ...super.unfinished()]
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
