/** What the tests of both codecs are made of. */
import * as Ids from "../src/Ids.ts"
import type { TextDelta } from "../src/TurnEvent.ts"

export const delta = (text: string): TextDelta => ({
  type: "text-delta",
  conversationId: Ids.ConversationId.make("c"),
  turnId: Ids.TurnId.make("t"),
  delta: text
})

/** Text as bytes in pieces of a length, characters cut in half where it falls so. */
export const cut = (text: string, length: number): ReadonlyArray<Uint8Array> => {
  const bytes = new TextEncoder().encode(text)
  const pieces: Array<Uint8Array> = []
  for (let start = 0; start < bytes.length; start += length) pieces.push(bytes.slice(start, start + length))
  return pieces
}
