/** Events and byte pieces for the tests of both codecs. */
import * as Ids from "../../src/Ids.ts"
import type { TextDelta } from "../../src/TurnEvent.ts"

/** A text delta of a fixed turn. */
export const delta = (text: string): TextDelta => ({
  type: "text-delta",
  conversationId: Ids.ConversationId.make("c"),
  turnId: Ids.TurnId.make("t"),
  delta: text
})

/** The bytes of a text in pieces of `length`; a piece may end inside a character. */
export const cut = (text: string, length: number): ReadonlyArray<Uint8Array> => {
  const bytes = new TextEncoder().encode(text)
  const pieces: Array<Uint8Array> = []
  for (let start = 0; start < bytes.length; start += length) pieces.push(bytes.slice(start, start + length))
  return pieces
}
