/**
 * Reads files that a model returned.
 *
 * The kernel checks them (C11): a file with an impossible media type or bytes that are not base64 ends the attempt.
 */
import { defined, type Message } from "@holdfast/wire"
import { objectOf, textOf } from "./Json.ts"

/** A file by its media type and base64; none without bytes. */
export const of = (mediaType: unknown, data: unknown, proof?: string): ReadonlyArray<Message.ModelFile> => {
  const bytes = textOf(data)
  return bytes === undefined ? [] : [{ type: "file", mediaType: typed(mediaType), data: bytes, ...defined({ proof }) }]
}

/** An image by an object with its address, which may hold its bytes (`data:`). */
export const ofUrl = (image: unknown): ReadonlyArray<Message.ModelFile> => {
  const url = textOf(objectOf(image).url)
  if (url === undefined) return []
  if (!url.startsWith("data:")) return [{ type: "file", mediaType: "image/*", url }]
  const [head, data] = url.slice(5).split(",", 2)
  return of(head, data)
}

// --- internal

/** In lower case and without parameters, as a message has it. */
const typed = (mediaType: unknown): string => (textOf(mediaType) ?? "").replace(/;.*/s, "").toLowerCase()
