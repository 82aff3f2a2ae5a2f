/** A conversation as Markdown: a plain function. */
import { type ConversationState, FilePart, Message } from "@holdfast/wire"
import * as Prose from "../../text/Prose.ts"

/** The conversation with its messages, oldest first; times are UTC. */
export const inMarkdown = (
  { conversationId, createdAt, metadata, model, tags = [], title }: ConversationState.ConversationSummary,
  messages: ReadonlyArray<Message.Message>
): string => {
  const about = [
    ...(title === undefined ? [] : [conversationId]),
    new Date(createdAt).toISOString(),
    model,
    ...(tags.length === 0 ? [] : [`tags: ${tags.join(", ")}`])
  ]
  const heading = `# ${Prose.oneLine(title ?? conversationId)}`
  const labels = metadata === undefined ? [] : [fenced(JSON.stringify(metadata, null, 2))]
  return [heading, about.join(" | "), ...labels, ...messages.flatMap(sectionOf)].join("\n\n") + "\n"
}

// --- internal

const sectionOf = (message: Message.Message): ReadonlyArray<string> => {
  const at = new Date(message.createdAt).toISOString()
  switch (message.role) {
    case "user":
      return [`## ${message.synthetic === true ? "Holdfast" : "User"}, ${at}`, Message.textOf(message)]
    case "assistant": {
      const { model, provider } = message.target
      const parts = message.content.flatMap((part) =>
        part.type === "text"
          ? [part.text]
          : part.type === "file"
            ? [FilePart.placeholderOf(part)]
            : part.type === "tool-call"
              ? [`Calls \`${part.toolName}\`:`, fenced(JSON.stringify(part.input, null, 2))]
              : []
      )
      const what = parts.length === 0 ? "Failed" : "Broke off"
      const end = message.error === undefined ? [] : [`${what}: ${message.error.message}`]
      return [`## ${provider}/${model}, ${at}`, ...parts, ...end]
    }
    case "tool":
      return message.content.flatMap(({ isError, output, toolName }) => [
        `## Tool ${toolName}, ${at}${isError ? ", failed" : ""}`,
        fenced(typeof output === "string" ? output : JSON.stringify(output, null, 2))
      ])
    default:
      return message satisfies never
  }
}

/** A block that ends at no fence within its text. */
const fenced = (text: string): string => {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length))
  const fence = "`".repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}
