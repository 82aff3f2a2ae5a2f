/**
 * Encodes what several clients may get, once.
 *
 * A long text of an array is kept as bytes, as long as the array is: Node keeps one copy of them for all clients that have not read it, and does
 * not encode it again for each. Nearly every array is short and has one client, so that keeping it would cost more than the rest of a read.
 */

/** The encoded form of items in a response. */
export type Text = string | Uint8Array

/** Characters or bytes. Below this a copy for each client costs less than shared bytes. */
export const LONG = 8 * 1024

/** The same encoder, which encodes a long array once. */
export const sharing = <A, T extends Text>(
  encode: (items: ReadonlyArray<A>) => T
): ((items: ReadonlyArray<A>) => T | Buffer) => {
  const known = new WeakMap<ReadonlyArray<A>, T | Buffer>()
  return (items) => {
    const found = known.get(items)
    if (found !== undefined) return found
    const text = encode(items)
    if (text.length < LONG) return text
    const bytes = typeof text === "string" ? Buffer.from(text) : text
    known.set(items, bytes)
    return bytes
  }
}
