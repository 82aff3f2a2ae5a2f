/**
 * A binary heap: the item with the least key is at hand, and any item can be taken out in logarithmic time.
 *
 * H1. Items with equal keys come out in the order in which they went in.
 * H2. An item is in the heap at most once. What has been taken out is not held on to.
 * H3. Every entry's key is at least its parent's, and `place` is where it stands.
 */

interface Entry<A> {
  readonly item: A
  readonly key: number
  /** Counts up with every item: what breaks ties (H1). */
  readonly turn: number
  place: number
}

export class Heap<A extends object> {
  readonly #keyOf: (item: A) => number
  readonly #tree: Array<Entry<A>> = []
  readonly #entries = new Map<A, Entry<A>>()
  #turn = 0

  /** `keyOf` is asked once for each item, when it comes in. */
  constructor(keyOf: (item: A) => number) {
    this.#keyOf = keyOf
  }

  get size(): number {
    return this.#tree.length
  }

  /** The item with the least key; it stays. */
  get first(): A | undefined {
    return this.#tree[0]?.item
  }

  /** Puts an item in. Does nothing if it is in. */
  add(item: A): void {
    if (this.#entries.has(item)) return // H2
    const entry = { item, key: this.#keyOf(item), turn: this.#turn++, place: this.#tree.length }
    this.#entries.set(item, entry)
    this.#tree.push(entry)
    this.#rise(entry)
  }

  /** Takes an item out. Does nothing if it is not in. */
  delete(item: A): void {
    const entry = this.#entries.get(item)
    if (entry === undefined) return
    this.#entries.delete(item)
    const last = this.#tree.pop()
    if (last === undefined || last === entry) return
    this.#put(last, entry.place)
    this.#rise(last)
    this.#sink(last)
  }

  #put(entry: Entry<A>, place: number): void {
    entry.place = place
    this.#tree[place] = entry
  }

  #rise(entry: Entry<A>): void {
    while (entry.place > 0) {
      const parent = this.#tree[(entry.place - 1) >> 1]
      if (parent === undefined || !isBefore(entry, parent)) return
      this.#swap(entry, parent)
    }
  }

  #sink(entry: Entry<A>): void {
    while (true) {
      const left = this.#tree[2 * entry.place + 1]
      const right = this.#tree[2 * entry.place + 2]
      const child = left !== undefined && right !== undefined && isBefore(right, left) ? right : left
      if (child === undefined || !isBefore(child, entry)) return
      this.#swap(entry, child)
    }
  }

  #swap(a: Entry<A>, b: Entry<A>): void {
    const place = a.place
    this.#put(a, b.place)
    this.#put(b, place)
  }
}

// --- internal

const isBefore = (a: Entry<unknown>, b: Entry<unknown>): boolean =>
  a.key < b.key || (a.key === b.key && a.turn < b.turn)
