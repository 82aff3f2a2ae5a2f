/** A conversation as Markdown, to be copied or kept. Pure. */
import type { Message } from "@holdfast/wire"

/** The messages, each below who wrote it. */
export const markdown = (title: string, messages: ReadonlyArray<Message.Message>): string =>
  [`# ${title}`, ...messages.flatMap(entryOf)].join("\n\n") + "\n"

// --- internal

const entryOf = (message: Message.Message): ReadonlyArray<string> => {
  const parts = message.content.map(textOf).filter((text) => text !== "")
  if (parts.length === 0) return []
  const who = message.role === "user" ? "You" : message.role === "assistant" ? (message.target ?? "Answer") : "Tools"
  return [`## ${who}`, ...parts]
}

const textOf = (part: Message.Message["content"][number]): string => {
  switch (part.type) {
    case "text":
      return part.text
    case "tool-call":
      return `Call of \`${part.toolName}\``
    case "tool-result":
      return `Result of \`${part.toolName}\``
    case "file":
      return `[${part.name ?? part.mediaType}]`
    default:
      return ""
  }
}
