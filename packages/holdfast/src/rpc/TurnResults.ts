/**
 * Collects the results of turns from their events.
 *
 * TurnResults.R1. An end may arrive before the answer that names its turn: ends are kept while such an answer is expected, and no longer.
 */
import type { TurnEvent } from "../Events.ts"
import type { RpcError } from "./RpcError.ts"
import type { RpcResult } from "./RpcTypes.ts"

/** The turns of one conversation. */
export class TurnResults {
  /** The text of the last answer of each turn that has not ended. */
  private readonly texts = new Map<string, string>()
  private readonly ended = new Map<string, RpcResult>()
  private readonly waiting = new Map<string, PromiseWithResolvers<RpcResult>>()
  private expected = 0
  private failure: RpcError | undefined

  /** An answer is expected that names a turn. */
  expect(): void {
    this.expected++
  }

  /** The answer has come, or will not come. */
  unexpect(): void {
    this.expected--
    if (this.expected === 0) this.ended.clear()
  }

  /** The result of a turn, now or once it has ended. */
  of(turnId: string): Promise<RpcResult> {
    const ended = this.ended.get(turnId)
    if (ended !== undefined) return Promise.resolve(ended)
    if (this.failure !== undefined) return Promise.reject(this.failure)
    const waiting = this.waiting.get(turnId) ?? Promise.withResolvers<RpcResult>()
    this.waiting.set(turnId, waiting)
    return waiting.promise
  }

  /** Takes the next event. */
  see(event: TurnEvent): void {
    const { turnId } = event
    if (event.type === "message" && event.message.role === "assistant") {
      const { content } = event.message
      this.texts.set(turnId, content.map((part) => (part.type === "text" ? part.text : "")).join(""))
    }
    if (event.type !== "turn-end") return
    const { error, status } = event
    const text = this.texts.get(turnId) ?? ""
    const result: RpcResult = { turnId, status, text, ...(error === undefined ? {} : { error }), end: event }
    this.texts.delete(turnId)
    if (this.expected > 0) this.ended.set(turnId, result) // TurnResults.R1
    this.waiting.get(turnId)?.resolve(result)
    this.waiting.delete(turnId)
  }

  /** No further event comes. */
  fail(failure: RpcError): void {
    this.failure = failure
    for (const { reject } of this.waiting.values()) reject(failure)
    this.waiting.clear()
  }
}
