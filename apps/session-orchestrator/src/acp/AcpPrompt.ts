/**
 * Makes a prompt from the content of an ACP request. Pure.
 *
 * AcpPrompt.P1. Images, sound and embedded files become files of the prompt; embedded text and links become text with their address.
 */
import type { ContentBlock } from "@agentclientprotocol/sdk"
import { Prompt } from "@holdfast/wire"
import { Option, Schema } from "effect"

/** Returns the prompt; `undefined`: it has no content, or a file that is not valid. */
export const of = (blocks: ReadonlyArray<ContentBlock>): Prompt.Prompt | undefined => {
  const parts = blocks.map(partOf).filter((part) => part.type !== "text" || part.text !== "")
  return Option.getOrUndefined(Option.map(decode(parts), Prompt.plain))
}

/** Whether a prompt is a slash command alone. */
export const isCommand = (prompt: Prompt.Prompt, name: string): boolean =>
  typeof prompt === "string" && prompt.trim() === `/${name}`

// --- internal

const decode = Schema.decodeUnknownOption(Prompt.Prompt)

const partOf = (block: ContentBlock): Prompt.InputPart => {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text }
    case "image":
    case "audio":
      return { type: "file", mediaType: block.mimeType, data: block.data }
    case "resource_link":
      return { type: "text", text: `[${block.name}](${block.uri})` }
    case "resource": {
      const { resource } = block
      if ("text" in resource) return { type: "text", text: `${resource.uri}:\n\n${resource.text}` }
      return { type: "file", mediaType: resource.mimeType ?? "application/octet-stream", data: resource.blob }
    }
    default:
      return block satisfies never
  }
}
