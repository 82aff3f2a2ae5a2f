/**
 * Encodes files as content blocks of the Messages API.
 *
 * | file | block |
 * |---|---|
 * | image: JPEG, PNG, GIF, WebP | `image`; its source is `base64` or `url` |
 * | PDF | `document`; its source is `base64` or `url` |
 * | text | `document` with a source of plain `text` |
 *
 * Source: Claude API documentation, "Vision", "PDF support", "Messages" (content blocks).
 */
import { FilePart } from "@holdfast/wire"
import type { JsonFields } from "../requests/BodyPatch.ts"
import * as Files from "../requests/Files.ts"

/** What the format cannot carry. */
export const refuses: Files.Refuses = (part) => {
  switch (FilePart.kindOf(part)) {
    case "image":
      return "url" in part || IMAGES.includes(part.mediaType) ? undefined : `of images it takes ${IMAGES.join(", ")}`
    case "pdf":
      return undefined
    case "text":
      return "data" in part ? undefined : "the Messages API reads only images and PDFs from an address; send the bytes"
    case "audio":
    case "video":
    case "file":
      return "the Messages API takes images, PDFs and text"
  }
}

/** The block of a file that the format can carry. */
export const encode = (part: FilePart.FilePart): JsonFields => {
  const kind = FilePart.kindOf(part)
  const source = sourceOf(part, kind)
  if (kind === "image") return { type: "image", source }
  return { type: "document", source, ...(part.name === undefined ? undefined : { title: part.name }) }
}

// --- internal

const IMAGES = ["image/jpeg", "image/png", "image/gif", "image/webp"]

const sourceOf = (part: FilePart.FilePart, kind: FilePart.FileKind): JsonFields => {
  if (!("data" in part)) return { type: "url", url: part.url }
  return kind === "text"
    ? { type: "text", media_type: "text/plain", data: Files.textOf(part) }
    : { type: "base64", media_type: part.mediaType, data: part.data }
}
