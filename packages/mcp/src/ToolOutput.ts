/**
 * Converts a tool's result to text for the model, within a limit. Pure.
 *
 * ToolOutput.O1. Content that is no text (pictures, sound, binary files) is replaced by its type and size, so that the model knows it was
 *     there.
 * ToolOutput.O2. A cut text ends with a notice that has the full size. A character is never cut in two.
 */
import type { Toolbox } from "@holdfast/kernel"
import type { CallToolResult } from "@modelcontextprotocol/client"
import { identity } from "effect/Function"

/** The outcome of an answered call. `conceal` redacts secrets. */
export const of = (
  result: CallToolResult,
  maxBytes: number,
  conceal: (text: string) => string = identity
): Toolbox.ToolOutcome => {
  const parts = result.content.map(textOf)
  const text =
    parts.length === 0 && result.structuredContent !== undefined
      ? JSON.stringify(result.structuredContent)
      : parts.join("\n")
  return { output: cut(conceal(text), maxBytes), isError: result.isError === true }
}

/** The text, up to a number of bytes, with a notice if it is cut (ToolOutput.O2). */
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

const textOf = (block: CallToolResult["content"][number]): string => {
  switch (block.type) {
    case "text":
      return block.text
    case "image":
    case "audio":
      return omitted(block.type, block.mimeType, block.data)
    case "resource_link":
      return [
        `${block.title ?? block.name}: ${block.uri}`,
        ...(block.description === undefined ? [] : [block.description])
      ].join("\n")
    case "resource":
      return "text" in block.resource
        ? block.resource.text
        : omitted(block.resource.uri, block.resource.mimeType ?? "binary", block.resource.blob)
    default:
      return block satisfies never
  }
}

/** ToolOutput.O1. Three bytes are four characters in base64. */
const omitted = (what: string, type: string, base64: string): string =>
  `[${what}: ${type}, ${Math.floor((base64.length * 3) / 4)} bytes, which cannot be shown here]`
