/**
 * `holdfast export`: prints whole conversations of the running service, as JSONL or Markdown.
 *
 * Conversations come newest first, each as soon as it is read. A conversation that is deleted meanwhile is left out. Files are
 * placeholders in both forms: an export is for reading, and a file may have megabytes.
 */
import { type ConversationState, FilePart, Message } from "@holdfast/wire"
import { Effect, Stream } from "effect"
import { Flag } from "effect/cli"
import * as Prose from "../../base/text/Prose.ts"
import { Terminal } from "../terminal/Terminal.ts"
import * as Filter from "./Filter.ts"
import * as RunningService from "./RunningService.ts"

/** The command `holdfast export`. */
export const command = RunningService.command(
  {
    name: "export",
    does: "Print whole conversations of the running service, newest first, as JSONL or Markdown",
    short: "Conversations as JSONL or Markdown",
    options: {
      ...Filter.flags("conversations"),
      format: Flag.Literals("format", ["jsonl", "markdown"]).pipe(
        Flag.withDescription("jsonl: one conversation a line, with its messages; markdown: for people"),
        Flag.withDefault("jsonl")
      )
    },
    examples: {
      "holdfast export > conversations.jsonl": "All of them",
      "holdfast export --tag nightly --since 22:00 --format markdown": "Those of the night"
    }
  },
  Effect.fnUntraced(function* ({ format, ...given }, client) {
    const terminal = yield* Terminal
    const query = yield* Filter.of(given)
    const write = Effect.fnUntraced(function* (conversation: ConversationState.ConversationSummary) {
      const { getMessages } = client.conversation(conversation.conversationId)
      const messages = yield* RunningService.unlessMissing(getMessages)
      if (messages === undefined) return // it was deleted since the list was read
      const text =
        format === "jsonl"
          ? `${Prose.inJson(JSON.stringify({ ...conversation, messages: messages.map(Message.withPlaceholders) }))}\n`
          : `${inMarkdown(conversation, messages)}\n`
      terminal.stdout(terminal.isStdoutTerminal ? Prose.harmless(text) : text)
    })
    yield* Stream.runForEach(client.listConversations(query), write)
  })
)

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
