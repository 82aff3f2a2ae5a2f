/**
 * Collects the content of one attempt from its events.
 *
 * - Neighbouring deltas of one kind are one part.
 * - `seen` becomes true with the first text, reasoning, file, tool call or usage, and stays true: after it nothing is retried (D4). An
 *   empty delta is no content (C8).
 * - `size` never exceeds the limit (C11): a part that would exceed it is rejected as a whole.
 * - Arguments that are nested too deeply are kept as text, marked as malformed: later code does not overflow the stack on them
 *   (C11, A10).
 */
import { defined, JsonShape, type Message } from "@holdfast/wire"
import * as ResponseLimit from "../../calls/ResponseLimit.ts"
import { TextBuffer } from "../../calls/TextBuffer.ts"

type Open = { readonly kind: "text" | "reasoning"; readonly text: TextBuffer }

/** The parts of one response, while it streams. */
export class Content {
  /** The usage of this attempt, as last reported. */
  usage: Message.Usage | undefined = undefined
  /** Tools whose calls had begun and are incomplete. */
  cut: ReadonlyArray<string> = []
  private readonly most: number
  private readonly closed: Array<Message.AssistantPart> = []
  private open: Open | undefined = undefined
  private isSeen = false
  private size = 0

  constructor(most: number = ResponseLimit.MOST_CHARACTERS) {
    this.most = most
  }

  /** Whether a retry would show content twice (D4). */
  get seen(): boolean {
    return this.isSeen
  }

  /** Whether `characters` more of text or reasoning fit (C11). */
  fits(kind: Open["kind"], characters: number): boolean {
    return this.size + this.counted(kind, characters) <= this.most
  }

  /** Adds text or reasoning, which must not be empty. `false`: it would exceed the limit (C11). */
  delta(kind: Open["kind"], delta: string): boolean {
    const { open } = this
    if (open?.kind === kind) {
      if (!this.take(delta.length)) return false
      open.text.append(delta)
    } else {
      if (!this.take(delta.length + ResponseLimit.PART_CHARACTERS)) return false
      this.close()
      this.open = { kind, text: new TextBuffer(delta) }
    }
    return true
  }

  /**
   * Ends a reasoning block, with the signature, redacted data or proof that must go back to the provider. `false`: it would exceed the limit
   * (C11).
   */
  endReasoning({ proof, redacted, signature }: Omit<Message.ReasoningPart, "type" | "text">): boolean {
    const characters = [proof, redacted, signature].reduce((sum, text = "") => sum + text.length, 0)
    if (!this.take(ResponseLimit.PART_CHARACTERS + characters)) return false
    const text = this.open?.kind === "reasoning" ? this.open.text.text() : ""
    if (this.open?.kind === "reasoning") this.open = undefined
    else this.close()
    this.closed.push({ type: "reasoning", text, ...defined({ signature, redacted, proof }) })
    return true
  }

  /** Adds a file. `false`: it would exceed the limit (C11). */
  file(file: Message.ModelFile): boolean {
    const { proof = "" } = file
    const characters = ("data" in file ? file.data : file.url).length + proof.length
    if (!this.take(ResponseLimit.PART_CHARACTERS + characters)) return false
    this.close()
    this.closed.push(file)
    return true
  }

  /** Adds a call. `false`: it would exceed the limit (C11). */
  toolCall(call: Message.ToolCallPart): boolean {
    const { characters, isTooDeep } = JsonShape.measure(call.input, this.most - this.size)
    const names = call.toolCallId.length + call.toolName.length + (call.proof?.length ?? 0)
    if (!this.take(ResponseLimit.PART_CHARACTERS + names + characters)) return false
    this.close()
    this.closed.push(isTooDeep ? tooDeep(call) : call)
    return true
  }

  /** Sets the usage of the attempt, which is content too (D4). */
  setUsage(usage: Message.Usage): void {
    this.isSeen = true
    this.usage = usage
  }

  /** Returns the parts so far. */
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

/** Characters kept of arguments that are nested too deeply: a cycle would not end. */
const TOO_DEEP_CHARACTERS = 65_536

/** C11, A10 */
const tooDeep = (call: Message.ToolCallPart): Message.ToolCallPart => ({
  ...call,
  input: JsonShape.textOf(call.input, TOO_DEEP_CHARACTERS),
  malformed: ResponseLimit.TOO_DEEP
})
