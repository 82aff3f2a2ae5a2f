/**
 * Collects the results of turns from their events.
 *
 * An end may arrive before the answer that names its turn: ends are kept while such an answer is expected, and no longer.
 */
import type { TurnEvent } from "@holdfast/wire"
import { answerOf, resultOf, type TurnResult } from "../TurnResult.ts"
import type { RpcError } from "../ClientError.ts"

/** The turns of one conversation. */
export class TurnResults {
  /** The text of the last answer of each turn that has not ended. */
  private readonly texts = new Map<string, string>()
  private readonly ended = new Map<string, TurnResult>()
  private readonly waiting = new Map<string, PromiseWithResolvers<TurnResult>>()
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
  of(turnId: string): Promise<TurnResult> {
    const ended = this.ended.get(turnId)
    if (ended !== undefined) return Promise.resolve(ended)
    if (this.failure !== undefined) return Promise.reject(this.failure)
    const waiting = this.waiting.get(turnId) ?? Promise.withResolvers<TurnResult>()
    this.waiting.set(turnId, waiting)
    return waiting.promise
  }

  /** Takes the next event. */
  see(event: TurnEvent.TurnEvent): void {
    const { turnId } = event
    const text = answerOf(event)
    if (text !== undefined) this.texts.set(turnId, text)
    if (event.type !== "turn-end") return
    const result = resultOf(event, this.texts.get(turnId) ?? "")
    this.texts.delete(turnId)
    if (this.expected > 0) this.ended.set(turnId, result)
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
