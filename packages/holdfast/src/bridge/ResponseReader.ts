/**
 * Reads the parts of a response of a framework's model as the events of Holdfast.
 *
 * The AI SDK and Effect AI have the same parts, under other names; a `PartNames` has the difference.
 *
 * The metadata of a reasoning block, wherever in it the provider gives it, of a tool call and of a file goes into the message. A
 * reasoning block ends where other content begins: Google's ends it after the tool call that follows it. A tool call that the provider
 * runs itself is no call of ours. A response without a finish was cut, and has no event for it (rule C6).
 */
import type { FilePart, Usage } from "../Events.ts"
import type { ModelEvent } from "../Model.ts"
import * as Metadata from "./Metadata.ts"
import { finishReasonOf } from "./Usage.ts"

/** An event of a response. */
export type Event = Exclude<ModelEvent, string>

/** What is read of every part. */
export interface AnyPart {
  readonly type: string
  readonly id?: string | undefined
  readonly delta?: string | undefined
  readonly providerExecuted?: boolean | undefined
}

/** How a framework names what a part has. */
export interface PartNames<Part extends AnyPart> {
  readonly metadata: (part: Part) => Metadata.Metadata | undefined
  readonly call: (part: Extract<Part, { readonly type: "tool-call" }>) => Extract<Event, { readonly type: "tool-call" }>
  readonly files: (part: Extract<Part, { readonly type: "file" }>) => ReadonlyArray<FilePart>
  /** `undefined`: the response was cut. */
  readonly finish: (
    part: Extract<Part, { readonly type: "finish" }>
  ) => { readonly reason: string; readonly usage: Usage } | undefined
  readonly within?: Metadata.Within
}

/** Reads one response. */
export class ResponseReader<Part extends AnyPart> {
  private readonly names: PartNames<Part>
  /** The reasoning block that has not ended. */
  private block: { id: string | undefined; metadata: Metadata.Metadata; hasText: boolean } | undefined = undefined

  constructor(names: PartNames<Part>) {
    this.names = names
  }

  /** The events of a part. */
  read(part: Part): ReadonlyArray<Event> {
    const { delta = "", type } = part
    switch (type) {
      case "text-delta":
        return delta === "" ? [] : [...this.end(), { type, delta }]
      case "reasoning-start":
        return this.note(part)
      case "reasoning-delta":
        return delta === "" ? this.note(part) : [...this.note(part), { type, delta }]
      case "reasoning-end":
        return [...this.note(part), ...this.end()]
      case "tool-call":
        if (part.providerExecuted === true) return []
        return [...this.end(), { ...this.names.call(part as never), ...this.proofOf(part) }]
      case "file":
        return [...this.end(), ...this.names.files(part as never).map((file) => ({ ...file, ...this.proofOf(part) }))]
      case "finish": {
        const finish = this.names.finish(part as never)
        if (finish === undefined) return []
        const { reason, usage } = finish
        return [...this.end(), { type: "usage", usage }, { type, finishReason: finishReasonOf(reason) }]
      }
      default:
        return []
    }
  }

  private proofOf(part: Part): Pick<Metadata.Proof, "proof"> {
    return Metadata.proofOf(this.names.metadata(part))
  }

  /** Adds to the block of an id; the end of another block, where one was open. */
  private note(part: Part): ReadonlyArray<Event> {
    const { delta = "", id } = part
    const ended = this.block?.id === id ? [] : this.end()
    const { hasText, metadata } = this.block ?? { metadata: {}, hasText: false }
    this.block = {
      id,
      metadata: Metadata.merged(metadata, this.names.metadata(part)),
      hasText: hasText || delta !== ""
    }
    return ended
  }

  /** Ends the open block. A block without text and metadata is none. */
  private end(): ReadonlyArray<Event> {
    if (this.block === undefined) return []
    const { hasText, metadata } = this.block
    this.block = undefined
    const proof = Metadata.blockProofOf(metadata, this.names.within)
    return hasText || Object.keys(proof).length > 0 ? [{ type: "reasoning-end", ...proof }] : []
  }
}
