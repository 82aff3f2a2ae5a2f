/**
 * Encodes files as parts of a Gemini request.
 *
 * | file | part |
 * |---|---|
 * | image, PDF, sound, video, as bytes | `inlineData` |
 * | the same at an address | `fileData` |
 * | text | `text`, between `<file>` tags with its name |
 *
 * Source: Gemini API documentation, "Image understanding", "Document understanding", "Audio understanding", "Video understanding".
 */
import { FilePart } from "@holdfast/wire"
import type { JsonFields } from "../requests/BodyPatch.ts"
import * as Files from "../requests/Files.ts"

/** What the format cannot carry. */
export const refuses: Files.Refuses = (part) => {
  const kind = FilePart.kindOf(part)
  if (kind === "file") return "Gemini takes images, PDFs, sound, videos and text"
  if ("data" in part) return undefined
  if (kind === "text") return "Gemini reads no text from an address; send the bytes"
  return part.mediaType.endsWith("/*") ? "Gemini needs the exact media type of a file at an address" : undefined
}

/** The part of a file that the format can carry. */
export const encode = (part: FilePart.FilePart): JsonFields => {
  if (!("data" in part)) return { fileData: { mimeType: part.mediaType, fileUri: part.url } }
  if (FilePart.kindOf(part) === "text") return { text: Files.asText(part) }
  return { inlineData: { mimeType: part.mediaType, data: part.data } }
}
