/**
 * Files of prompts, of tools' results and of responses in the forms of the AI SDK's model versions.
 *
 * A file goes as it is: bytes as bytes, an address as an address. What a model cannot take, its provider refuses.
 */
import type {
  LanguageModelV4FilePart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput
} from "@ai-sdk/provider"
import type { FilePart, TextPart } from "holdfast"
import { fileOf } from "holdfast/bridge"

/** The version of a model's interface. */
export type Version = "v2" | "v3" | "v4"

type Part = TextPart | FilePart

/** A part of a prompt. */
export const promptPart = (part: Part, version: Version): LanguageModelV4TextPart | LanguageModelV4FilePart =>
  part.type === "text" ? { type: "text", text: part.text } : { type: "file", ...filePart(part, version) }

/** A tool's result of texts and files. */
export const resultOutput = (parts: ReadonlyArray<Part>, version: Version): LanguageModelV4ToolResultOutput => ({
  type: "content",
  // The three versions differ here, and a model of one takes its own.
  value: parts.map((part) => resultPart(part, version)) as Extract<
    LanguageModelV4ToolResultOutput,
    { readonly type: "content" }
  >["value"]
})

/** The file of a response: in versions 2 and 3 it has bytes, in version 4 bytes or an address. */
export const ofResponse = ({ data, mediaType }: ResponseFile): ReadonlyArray<FilePart> => {
  if (typeof data === "string" || data instanceof Uint8Array) return [fileOf({ mediaType, data })]
  if (data.type === "url") return [fileOf({ mediaType, data: String(data.url) })]
  return data.type === "data" ? [fileOf({ mediaType, data: data.data })] : []
}

// --- internal

interface ResponseFile {
  readonly mediaType: string
  readonly data:
    | string
    | Uint8Array
    | { readonly type: "data"; readonly data: string | Uint8Array }
    | { readonly type: "url"; readonly url: URL | string }
    | { readonly type: "reference" | "text" }
}

const filePart = (part: FilePart, version: Version): Omit<LanguageModelV4FilePart, "type"> => {
  const { mediaType, name } = part
  const filename = name === undefined ? undefined : { filename: name }
  const data = "data" in part ? part.data : new URL(part.url)
  if (version === "v4")
    return {
      mediaType,
      ...filename,
      data: typeof data === "string" ? { type: "data", data } : { type: "url", url: data }
    }
  return { mediaType, ...filename, data: data as unknown as LanguageModelV4FilePart["data"] } // what the versions 2 and 3 have
}

const resultPart = (part: Part, version: Version): unknown => {
  if (part.type === "text") return { type: "text", text: part.text }
  const { mediaType, name } = part
  const isImage = mediaType.startsWith("image/")
  switch (version) {
    case "v4":
      return { type: "file", ...filePart(part, version) }
    case "v3":
      if ("url" in part) return { type: isImage ? "image-url" : "file-url", url: part.url }
      return isImage
        ? { type: "image-data", data: part.data, mediaType }
        : { type: "file-data", data: part.data, mediaType, ...(name === undefined ? undefined : { filename: name }) }
    case "v2":
      // Version 2 has no addresses in results.
      return "url" in part ? { type: "text", text: part.url } : { type: "media", data: part.data, mediaType }
  }
}
