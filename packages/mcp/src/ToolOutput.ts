/**
 * Converts a tool's result to text and files for the model, within a limit. Pure.
 *
 * Pictures, sound and binary resources are files of the result, in their place among its texts; `output` has a placeholder for each,
 * with its type and size. Bytes that are no base64, or have no media type, are a placeholder alone. The limit is for the texts together.
 * A cut text ends with a notice that has the full size, and a character is never cut in two. Files are bounded by the size of a message
 * (`transport/LineTransport`).
 */
import type { Toolbox } from "@holdfast/kernel"
import { FilePart, type Message, Prompt } from "@holdfast/wire"
import type { CallToolResult } from "@modelcontextprotocol/client"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** The outcome of an answered call. `conceal` redacts secrets. */
export const of = (
  result: CallToolResult,
  maxBytes: number,
  conceal: (text: string) => string = identity
): Toolbox.ToolOutcome => {
  const isError = result.isError === true
  const parts = result.content.map(partOf)
  const given =
    parts.length === 0 && result.structuredContent !== undefined
      ? JSON.stringify(result.structuredContent)
      : Prompt.textOf(parts)
  const output = cut(conceal(given), maxBytes)
  const [first, ...more] = parts.some(({ type }) => type === "file") ? cutTexts(parts, maxBytes, conceal) : []
  return first === undefined ? { output, isError } : { output, content: [first, ...more], isError }
}

/** The text, up to a number of bytes, with a notice if it is cut. */
export const cut = (text: string, maxBytes: number): string => {
  const bytes = Buffer.byteLength(text)
  if (bytes <= maxBytes) return text
  let end = maxBytes
  const encoded = Buffer.from(text)
  while (end > 0 && isContinuation(encoded[end])) end--
  return `${encoded.toString("utf8", 0, end)}\n[Holdfast cut this output: it has ${bytes} bytes, and the first ${end} are above.]`
}

// --- internal

/** The second or a later byte of a character in UTF-8. */
const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000

/** The parts with their texts within the limit, all together. A text behind a cut one is left out. */
const cutTexts = (
  parts: ReadonlyArray<Message.InputPart>,
  maxBytes: number,
  conceal: (text: string) => string
): ReadonlyArray<Message.InputPart> => {
  let left = maxBytes
  return parts.flatMap((part): ReadonlyArray<Message.InputPart> => {
    if (part.type === "file") return [part]
    if (left < 0) return []
    const text = conceal(part.text)
    const kept = cut(text, left)
    left = kept === text ? left - Buffer.byteLength(text) : -1
    return [{ type: "text", text: kept }]
  })
}

const partOf = (block: CallToolResult["content"][number]): Message.InputPart => {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text }
    case "image":
    case "audio":
      return fileOf(block.type, block.mimeType, block.data, undefined)
    case "resource_link":
      return {
        type: "text",
        text: [
          `${block.title ?? block.name}: ${block.uri}`,
          ...(block.description === undefined ? [] : [block.description])
        ].join("\n")
      }
    case "resource": {
      const { resource } = block
      if ("text" in resource) return { type: "text", text: resource.text }
      const { blob, mimeType = "application/octet-stream", uri } = resource
      return fileOf(uri, mimeType, blob, /([^/\\]{1,255})$/.exec(uri)?.[1])
    }
    default:
      return block satisfies never
  }
}

const decode = Schema.decodeUnknownOption(FilePart.FilePart)

const fileOf = (what: string, type: string, data: string, name: string | undefined): Message.InputPart => {
  const mediaType = type.split(";", 1)[0]?.trim().toLowerCase() ?? ""
  const file = { type: "file", mediaType, data }
  return Option.getOrElse(
    Option.orElse(decode({ ...file, ...(name === undefined ? {} : { name }) }), () => decode(file)),
    // Three bytes are four characters in base64.
    () => ({
      type: "text",
      text: `[${what}: ${type}, ${Math.floor((data.length * 3) / 4)} bytes, which cannot be read]`
    })
  )
}
