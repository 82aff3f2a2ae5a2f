/**
 * A binary heap: finds the item with the least key; removes any item in logarithmic time.
 *
 * Items with equal keys come out in the order in which they went in. An item is in the heap at most once. The heap keeps no reference to a
 * removed item.
 */

interface Entry<A> {
  readonly item: A
  readonly key: number
  /** Counts up with every item, and orders equal keys. */
  readonly order: number
  index: number
}

/** A heap of objects, ordered by a number of each. */
export class Heap<A extends object> {
  readonly #keyOf: (item: A) => number
  readonly #tree: Array<Entry<A>> = []
  readonly #entries = new Map<A, Entry<A>>()
  #order = 0

  /** `keyOf` is called once for each item, when it is added. */
  constructor(keyOf: (item: A) => number) {
    this.#keyOf = keyOf
  }

  /** The number of items. */
  get size(): number {
    return this.#tree.length
  }

  /** The item with the least key; it stays in the heap. */
  get first(): A | undefined {
    return this.#tree[0]?.item
  }

  /** Adds an item. Does nothing if the heap has it. */
  add(item: A): void {
    if (this.#entries.has(item)) return
    const entry = { item, key: this.#keyOf(item), order: this.#order++, index: this.#tree.length }
    this.#entries.set(item, entry)
    this.#tree.push(entry)
    this.#rise(entry)
  }

  /** Removes an item. Does nothing if the heap does not have it. */
  delete(item: A): void {
    const entry = this.#entries.get(item)
    if (entry === undefined) return
    this.#entries.delete(item)
    const last = this.#tree.pop()
    if (last === undefined || last === entry) return
    this.#put(last, entry.index)
    this.#rise(last)
    this.#sink(last)
  }

  #put(entry: Entry<A>, index: number): void {
    entry.index = index
    this.#tree[index] = entry
  }

  #rise(entry: Entry<A>): void {
    while (entry.index > 0) {
      const parent = this.#tree[(entry.index - 1) >> 1]
      if (parent === undefined || !isBefore(entry, parent)) return
      this.#swap(entry, parent)
    }
  }

  #sink(entry: Entry<A>): void {
    while (true) {
      const left = this.#tree[2 * entry.index + 1]
      const right = this.#tree[2 * entry.index + 2]
      const child = left !== undefined && right !== undefined && isBefore(right, left) ? right : left
      if (child === undefined || !isBefore(child, entry)) return
      this.#swap(entry, child)
    }
  }

  #swap(a: Entry<A>, b: Entry<A>): void {
    const index = a.index
    this.#put(a, b.index)
    this.#put(b, index)
  }
}

// --- internal

const isBefore = (a: Entry<unknown>, b: Entry<unknown>): boolean =>
  a.key < b.key || (a.key === b.key && a.order < b.order)
