/**
 * What one attempt has said so far, put together from its events.
 *
 * K1. Neighbouring deltas of one kind are one part.
 * K2. `seen` turns true with the first text, reasoning, tool call or usage, and never back: it is the line that D4 draws.
 *     An empty delta is none (C8).
 */
import type { Message } from "@holdfast/wire"
import type { ProviderEvent } from "./Provider.ts"

type Open = { readonly kind: "text" | "reasoning"; text: string }

export class Content {
  /** Whether an event is content. */
  static isContent(this: void, event: ProviderEvent): boolean {
    switch (event.type) {
      case "text-delta":
      case "reasoning-delta":
        return event.delta.length > 0
      case "finish":
      case "error":
        return false
      default:
        return true
    }
  }

  /** The usage of this attempt, as last told. */
  usage: Message.Usage | undefined = undefined
  private readonly closed: Array<Message.AssistantPart> = []
  private open: Open | undefined = undefined
  private isSeen = false

  /** Whether a retry would say something twice. */
  get seen(): boolean {
    return this.isSeen
  }

  /** Adds text or reasoning; whether there was any. */
  delta(kind: Open["kind"], delta: string): boolean {
    if (delta.length === 0) return false
    this.isSeen = true
    if (this.open?.kind === kind) {
      this.open.text += delta
    } else {
      this.close()
      this.open = { kind, text: delta }
    }
    return true
  }

  /** Ends a reasoning block, with what must go back to the provider beside it. */
  endReasoning(proof: { readonly signature?: string; readonly redacted?: string }): void {
    this.isSeen = true
    const text = this.open?.kind === "reasoning" ? this.open.text : ""
    if (this.open?.kind === "reasoning") this.open = undefined
    else this.close()
    this.closed.push({ type: "reasoning", text, ...signatureOf(proof), ...redactedOf(proof) })
  }

  toolCall(call: Message.ToolCallPart): void {
    this.isSeen = true
    this.close()
    this.closed.push(call)
  }

  setUsage(usage: Message.Usage): void {
    this.isSeen = true
    this.usage = usage
  }

  /** Holds again what an attempt said that is on record; on what holds it already it changes nothing. */
  recall({
    content,
    usage
  }: {
    readonly content: ReadonlyArray<Message.AssistantPart>
    readonly usage?: Message.Usage
  }): void {
    if (this.isSeen) return
    this.closed.push(...content)
    this.usage = usage
    this.isSeen = content.length > 0 || usage !== undefined
  }

  /** Everything so far. */
  parts(): ReadonlyArray<Message.AssistantPart> {
    this.close()
    return this.closed.slice()
  }

  private close(): void {
    if (this.open !== undefined) this.closed.push({ type: this.open.kind, text: this.open.text })
    this.open = undefined
  }
}

// --- internal

const signatureOf = (proof: { readonly signature?: string }) =>
  proof.signature === undefined ? undefined : { signature: proof.signature }

const redactedOf = (proof: { readonly redacted?: string }) =>
  proof.redacted === undefined ? undefined : { redacted: proof.redacted }
