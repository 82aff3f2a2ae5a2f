/**
 * Encodes files as parts of a chat completion's messages.
 *
 * | file | part |
 * |---|---|
 * | image, as bytes or at an address | `image_url` |
 * | `audio/wav`, `audio/mpeg` | `input_audio` |
 * | text | `text`, between `<file>` tags with its name |
 * | any other application type, such as PDF | `file` with `file_data` |
 *
 * Source: OpenAI, "Images and vision", "Audio and speech", "File inputs" (chat completions).
 */
import { FilePart } from "@holdfast/wire"
import type { JsonFields } from "../requests/BodyPatch.ts"
import * as Files from "../requests/Files.ts"

/** What the format cannot carry. */
export const refuses: Files.Refuses = (part) => {
  const kind = FilePart.kindOf(part)
  if (kind === "image") return undefined
  if (!("data" in part)) return "chat completions reads only images from an address; send the bytes"
  if (kind === "video") return "chat completions has no part for videos"
  if (kind === "audio" && AUDIO.get(part.mediaType) === undefined)
    return "of sound, chat completions has parts for audio/wav and audio/mpeg"
  return undefined
}

/** The part of a file that the format can carry. */
export const encode = (part: FilePart.FilePart): JsonFields => {
  const kind = FilePart.kindOf(part)
  if (!("data" in part)) return { type: "image_url", image_url: { url: part.url } }
  const { data, mediaType, name } = part
  const dataUrl = `data:${mediaType};base64,${data}`
  switch (kind) {
    case "image":
      return { type: "image_url", image_url: { url: dataUrl } }
    case "audio":
      return { type: "input_audio", input_audio: { data, format: AUDIO.get(mediaType) ?? mediaType } }
    case "text":
      return { type: "text", text: Files.asText(part) }
    case "pdf":
    case "video":
    case "file":
      return { type: "file", file: { filename: name ?? Files.nameOf(mediaType), file_data: dataUrl } }
    default:
      return kind satisfies never
  }
}

// --- internal

/** The format's names of media types. */
const AUDIO: ReadonlyMap<string, string> = new Map([
  ["audio/wav", "wav"],
  ["audio/x-wav", "wav"],
  ["audio/mpeg", "mp3"],
  ["audio/mp3", "mp3"]
])
