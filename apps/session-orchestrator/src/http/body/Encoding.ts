/**
 * Encodes frames for clients, once for all clients of the same array.
 *
 * Encoding.E1. An array that several clients receive (`SharedFrames`) is encoded once, even if other arrays are encoded in between
 *     (Backlog.B2). Its text is kept as long as the array.
 * Encoding.E2. From the second client on a long text is bytes: Node keeps one copy of them for all clients that have not read it, and does not
 *     encode it again for each. A string is cheaper for one client, and nearly every array has one client.
 */
import { LONG } from "../../session/SharedFrames.ts"

/** The encoded form of an item in a response. */
export type Text = string | Uint8Array

/** Makes the encoder of one format from the encoder of one item. It keeps nothing of arrays that are not shared. */
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
