/**
 * Encodes frames for clients, once for all that get the same array.
 *
 * E1. An array that several clients get (`SharedFrames`) is encoded once, whatever comes between (Backlog.B2), and its text is kept as long as the
 *     array is.
 * E2. A long text is bytes from the second client on: Node keeps one copy of them for all clients that have not read it, and does not
 *     encode it again for each. A string is cheaper where there is one client, as there almost always is.
 */

/** Characters. Below this the copies that Node makes cost less than a buffer. */
export const LONG = 8 * 1024

/** What a response is written as. */
export type Text = string | Uint8Array

/** The encoder of one format, from the text of one item. Of arrays that are not shared nothing is remembered. */
export const sharing = <A>(
  textOf: (item: A) => string,
  isShared: (items: ReadonlyArray<A>) => boolean
): ((items: ReadonlyArray<A>) => Text) => {
  const known = new WeakMap<ReadonlyArray<A>, Text>()
  return (items) => {
    const found = known.get(items)
    if (found !== undefined) {
      if (typeof found !== "string" || found.length < LONG) return found
      const bytes = Buffer.from(found)
      known.set(items, bytes)
      return bytes
    }
    let text = ""
    for (const item of items) text += textOf(item)
    if (isShared(items)) known.set(items, text)
    return text
  }
}
