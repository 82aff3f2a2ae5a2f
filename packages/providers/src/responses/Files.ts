/**
 * Encodes files as input parts of the Responses API.
 *
 * | file | part |
 * |---|---|
 * | image, as bytes or at an address | `input_image` |
 * | text | `input_text`, between `<file>` tags with its name |
 * | PDF and other application types, as bytes or at an address | `input_file` |
 *
 * Source: OpenAI, "Images and vision", "File inputs" (Responses).
 */
import { FilePart } from "@holdfast/wire"
import type { JsonFields } from "../requests/BodyPatch.ts"
import * as Files from "../requests/Files.ts"

/** What the format cannot carry. */
export const refuses: Files.Refuses = (part) => {
  const kind = FilePart.kindOf(part)
  if (kind === "audio" || kind === "video")
    return `the Responses API has no part for ${kind === "audio" ? "sound" : "videos"}`
  if (kind === "text" && !("data" in part))
    return "the Responses API reads only images and documents from an address; send the bytes"
  return undefined
}

/** The part of a file that the format can carry. */
export const encode = (part: FilePart.FilePart): JsonFields => {
  const kind = FilePart.kindOf(part)
  if (!("data" in part)) {
    return kind === "image"
      ? { type: "input_image", image_url: part.url, detail: "auto" }
      : { type: "input_file", file_url: part.url }
  }
  const { data, mediaType, name } = part
  const dataUrl = `data:${mediaType};base64,${data}`
  switch (kind) {
    case "image":
      return { type: "input_image", image_url: dataUrl, detail: "auto" }
    case "text":
      return { type: "input_text", text: Files.asText(part) }
    case "pdf":
    case "audio":
    case "video":
    case "file":
      return { type: "input_file", filename: name ?? Files.nameOf(mediaType), file_data: dataUrl }
    default:
      return kind satisfies never
  }
}
