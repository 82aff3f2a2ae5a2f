/**
 * The parts of one response that are under way, for formats whose parts begin, grow and end.
 *
 * A completed tool call is held until the next part begins or the response has ended: a part that was cut at the token limit ends like any
 * other, and a call without arguments looks complete (C7). The order of parts is kept. A proof of reasoning of which a person has seen
 * nothing is held until there is output after it: an overload right after it is still before content (D4).
 */
import type { Provider } from "@holdfast/kernel"
import type { TextBuffer } from "@holdfast/kernel/host"
import { defined } from "@holdfast/wire"
import * as ToolArguments from "./ToolArguments.ts"

/** A tool call that has begun. */
export interface Call {
  readonly id: string | undefined
  readonly name: string
  readonly text: Pick<TextBuffer.TextBuffer, "text">
  readonly proof?: string | undefined
}

/** The calls and proofs of one response. */
export class OpenParts {
  /** Characters of tool calls so far (`Machine.held`). */
  held = 0
  /** Characters of everything kept so far (`Machine.kept`). */
  kept = 0
  /** Tool calls that were emitted. */
  calls = 0
  private call: Call | undefined
  private proofs: Array<string> = []
  private readonly idOf: (n: number) => string

  /** `idOf` gives an id to the nth tool call where the provider gave none. */
  constructor(idOf: (n: number) => string) {
    this.idOf = idOf
  }

  /** Holds a call that has ended; the call before it is emitted. */
  hold(call: Call, out: Array<Provider.ProviderEvent>): void {
    this.release(false, out)
    this.call = call
  }

  /** Emits the call that is held. `wasCut`: the response ended at the token limit. */
  release(wasCut: boolean, out: Array<Provider.ProviderEvent>): void {
    const { call } = this
    this.call = undefined
    if (call === undefined) return
    const toolCallId = call.id ?? this.idOf(this.calls)
    this.calls++
    this.prove(out)
    const made = ToolArguments.toCall({ toolCallId, toolName: call.name, text: call.text.text(), wasCut })
    out.push({ ...made, ...defined({ proof: call.proof }) })
  }

  /** Holds a proof. */
  keepProof(proof: string): void {
    this.proofs.push(proof)
  }

  /** Emits the proofs that are held; to be called before output. */
  prove(out: Array<Provider.ProviderEvent>): void {
    if (this.proofs.length === 0) return
    for (const proof of this.proofs) out.push({ type: "reasoning-end", proof })
    this.proofs = []
  }

  /** The tools whose calls have ended and were not emitted. */
  unfinished(): ReadonlyArray<string> {
    return this.call === undefined ? [] : [this.call.name]
  }
}
