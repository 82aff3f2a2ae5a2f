/** Writes the events of one response as Effect AI's parts, streamed or whole. */
import type { Provider } from "@holdfast/kernel"
import type { Message } from "@holdfast/wire"
import type * as Response from "effect/ai/Response"
import { argumentsOf, countsOf, Metadata } from "holdfast/bridge"

/** Parts of a stream. */
type Parts = ReadonlyArray<Response.StreamPartEncoded>

/** An event; a failure has no part. */
export type PartEvent = Exclude<Provider.ProviderEvent, { readonly type: "error" }>

/** Writes the parts of a stream, with the blocks that Effect AI has. */
export class Writer {
  private blocks = 0
  private open: "text" | "reasoning" | undefined
  private usage: Message.Usage = {}

  /** The parts of the next event. */
  partsOf(event: PartEvent): Parts {
    switch (event.type) {
      case "text-delta":
      case "reasoning-delta":
        return [...this.begin(event.type === "text-delta" ? "text" : "reasoning"), { ...event, id: this.id }]
      case "reasoning-end":
        return [...this.begin("reasoning"), ...this.end(Metadata.metadataOf(event, "info"))]
      case "tool-call": {
        const { toolCallId: id, toolName: name, type } = event
        const call = { type, id, name, params: argumentsOf(event), metadata: Metadata.metadataOf(event) }
        return [...this.end(), call]
      }
      case "file": {
        if (!("data" in event)) return [] // Effect AI has no files at an address.
        const { data, mediaType, type } = event
        return [...this.end(), { type, mediaType, data, metadata: Metadata.metadataOf(event) }]
      }
      case "usage":
        this.usage = event.usage
        return []
      case "finish":
        return [
          ...this.end(),
          { type: event.type, reason: event.finishReason, usage: countsOf(this.usage), response: undefined }
        ]
      case "tool-calls-cut":
        return []
    }
  }

  private get id(): string {
    return String(this.blocks)
  }

  private begin(kind: "text" | "reasoning"): Parts {
    if (this.open === kind) return []
    const ended = this.end()
    this.open = kind
    this.blocks++
    return [...ended, { type: `${kind}-start`, id: this.id }]
  }

  private end(metadata = {}): Parts {
    if (this.open === undefined) return []
    const type = `${this.open}-end` as const
    this.open = undefined
    return [{ type, id: this.id, metadata }]
  }
}

/** The parts of a stream as those of a whole response: each block is one part. */
export const joined = (parts: Parts): Array<Response.PartEncoded> => {
  let text = ""
  return parts.flatMap((part): Response.PartEncoded | [] => {
    if (part.type === "text-delta" || part.type === "reasoning-delta") text += part.delta
    if (part.type === "tool-call" || part.type === "file" || part.type === "finish") return part
    if (part.type !== "text-end" && part.type !== "reasoning-end") return []
    const block = { type: part.type === "text-end" ? "text" : "reasoning", text, metadata: part.metadata } as const
    text = ""
    return block
  })
}
