/** Keeps events for one iteration until it takes them, up to a limit. */
import { RpcError } from "../ClientError.ts"

/** The most events that an iteration may be behind. */
export const MOST_BEHIND = 100_000

/** An iteration over events that are pushed. */
export class EventQueue<A> implements AsyncIterableIterator<A> {
  private items: Array<A> = []
  private taken = 0
  private readonly readers: Array<PromiseWithResolvers<IteratorResult<A>>> = []
  private isOver = false
  private failure: RpcError | undefined
  private readonly onOver: () => void

  /** @param onOver called once, when no further item is wanted */
  constructor(onOver: () => void) {
    this.onOver = onOver
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  push(item: A): void {
    if (this.isOver) return
    const reader = this.readers.shift()
    if (reader !== undefined) return reader.resolve({ done: false, value: item })
    this.items.push(item)
    if (this.items.length - this.taken <= MOST_BEHIND) return
    this.clear()
    this.failure = new RpcError("too-slow", `The iteration was more than ${MOST_BEHIND} events behind.`)
    this.end()
  }

  /** No further item comes; the items that are kept can still be taken. */
  end(): void {
    if (this.isOver) return
    this.isOver = true
    this.onOver()
    for (const reader of this.readers.splice(0)) reader.resolve({ done: true, value: undefined })
  }

  async next(): Promise<IteratorResult<A>> {
    if (this.taken < this.items.length) {
      const value = this.items[this.taken++] as A
      // `shift` of a long array would copy it at each item.
      if (this.taken === this.items.length) this.clear()
      return { done: false, value }
    }
    const { failure } = this
    if (failure !== undefined) {
      this.failure = undefined
      throw failure
    }
    if (this.isOver) return { done: true, value: undefined }
    const reader = Promise.withResolvers<IteratorResult<A>>()
    this.readers.push(reader)
    return reader.promise
  }

  async return(): Promise<IteratorResult<A>> {
    this.clear()
    this.end()
    return { done: true, value: undefined }
  }

  private clear(): void {
    this.items = []
    this.taken = 0
  }
}
