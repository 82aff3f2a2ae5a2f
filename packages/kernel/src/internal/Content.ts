/**
 * What one attempt has said so far, put together from its events.
 *
 * K1. Neighbouring deltas of one kind are one part.
 * K2. `seen` turns true with the first text, reasoning, tool call or usage, and never back: it is the line that D4 draws.
 *     An empty delta is none (C8).
 * K3. `size` never exceeds the limit (C11): what would take it beyond is refused, and nothing of it is kept.
 * K4. Arguments that are nested too deeply are kept as text, marked as malformed: nothing behind this overflows on them (C11, A10).
 */
import { JsonShape, type Message } from "@holdfast/wire"
import type { ProviderEvent } from "../Provider.ts"
import * as ResponseLimit from "../ResponseLimit.ts"
import { TextBuffer } from "../TextBuffer.ts"

type Open = { readonly kind: "text" | "reasoning"; readonly text: TextBuffer }

/** The parts of one response, as they come. */
export class Content {
  /** Whether an event is content. */
  static isContent(this: void, event: ProviderEvent): boolean {
    switch (event.type) {
      case "text-delta":
      case "reasoning-delta":
        return event.delta.length > 0
      case "tool-calls-cut":
      case "finish":
      case "error":
        return false
      default:
        return true
    }
  }

  /** The usage of this attempt, as last told. */
  usage: Message.Usage | undefined = undefined
  /** Tools whose calls had begun and are not whole. */
  cut: ReadonlyArray<string> = []
  private readonly most: number
  private readonly closed: Array<Message.AssistantPart> = []
  private open: Open | undefined = undefined
  private isSeen = false
  private size = 0

  constructor(most: number = ResponseLimit.MOST_CHARACTERS) {
    this.most = most
  }

  /** Whether a retry would say something twice. */
  get seen(): boolean {
    return this.isSeen
  }

  /** Whether so much text or reasoning may be added (K3). */
  fits(kind: Open["kind"], characters: number): boolean {
    return this.size + this.counted(kind, characters) <= this.most
  }

  /** Adds text or reasoning, which is not empty. `false`: it is too much (K3). */
  delta(kind: Open["kind"], delta: string): boolean {
    if (!this.take(this.counted(kind, delta.length))) return false
    if (this.open?.kind === kind) {
      this.open.text.append(delta)
    } else {
      this.close()
      this.open = { kind, text: new TextBuffer(delta) }
    }
    return true
  }

  /** Ends a reasoning block, with what must go back to the provider beside it. `false`: it is too much (K3). */
  endReasoning(proof: { readonly signature?: string; readonly redacted?: string }): boolean {
    const { redacted = "", signature = "" } = proof
    if (!this.take(ResponseLimit.PART_CHARACTERS + redacted.length + signature.length)) return false
    const text = this.open?.kind === "reasoning" ? this.open.text.text() : ""
    if (this.open?.kind === "reasoning") this.open = undefined
    else this.close()
    this.closed.push({ type: "reasoning", text, ...signatureOf(proof), ...redactedOf(proof) })
    return true
  }

  /** Adds a call. `false`: it is too much (K3). */
  toolCall(call: Message.ToolCallPart): boolean {
    const { characters, isTooDeep } = JsonShape.measure(call.input, this.most - this.size)
    const names = call.toolCallId.length + call.toolName.length
    if (!this.take(ResponseLimit.PART_CHARACTERS + names + characters)) return false
    this.close()
    this.closed.push(isTooDeep ? tooDeep(call) : call)
    return true
  }

  setUsage(usage: Message.Usage): void {
    this.isSeen = true
    this.usage = usage
  }

  /** Everything so far. */
  parts(): ReadonlyArray<Message.AssistantPart> {
    this.close()
    return this.closed.slice()
  }

  private close(): void {
    if (this.open !== undefined) this.closed.push({ type: this.open.kind, text: this.open.text.text() })
    this.open = undefined
  }

  private counted(kind: Open["kind"], characters: number): number {
    return this.open?.kind === kind ? characters : characters + ResponseLimit.PART_CHARACTERS
  }

  private take(characters: number): boolean {
    if (this.size + characters > this.most) return false
    this.size += characters
    this.isSeen = true
    return true
  }
}

// --- internal

/** What is kept of arguments that are nested too deeply: a cycle has no end. */
const TOO_DEEP_CHARACTERS = 65_536

/** K4 */
const tooDeep = (call: Message.ToolCallPart): Message.ToolCallPart => ({
  ...call,
  input: JsonShape.textOf(call.input, TOO_DEEP_CHARACTERS),
  malformed: ResponseLimit.TOO_DEEP
})

const signatureOf = (proof: { readonly signature?: string }) =>
  proof.signature === undefined ? undefined : { signature: proof.signature }

const redactedOf = (proof: { readonly redacted?: string }) =>
  proof.redacted === undefined ? undefined : { redacted: proof.redacted }
