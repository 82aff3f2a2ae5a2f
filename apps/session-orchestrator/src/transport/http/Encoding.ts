/**
 * Encodes frames for clients, once for all that get the same array.
 *
 * E1. An array that several clients get is encoded once, whatever comes between (Backlog.B2), and its text is kept as long as the
 *     array is.
 * E2. A long text is bytes: Node keeps one copy for all clients that have not taken it, and does not encode it again for each of them.
 *     A short one is a string, which Node writes faster.
 */

/** Characters. Below this the copy that Node makes costs less than a buffer. */
export const LONG = 8 * 1024

/** What a response is written as. */
export type Text = string | Uint8Array

/** The encoder of one format, from the text of one item. */
export const sharing = <A>(textOf: (item: A) => string): ((items: ReadonlyArray<A>) => Text) => {
  const known = new WeakMap<ReadonlyArray<A>, Text>()
  return (items) => {
    const found = known.get(items)
    if (found !== undefined) return found
    let text = ""
    for (const item of items) text += textOf(item)
    const encoded = text.length < LONG ? text : Buffer.from(text)
    known.set(items, encoded)
    return encoded
  }
}
