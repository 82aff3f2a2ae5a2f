/**
 * `holdfast export`: prints whole conversations of the running service, as JSONL or Markdown.
 *
 * Conversations come newest first, each as soon as it is read. A conversation that is deleted meanwhile is left out. Files are
 * placeholders in both forms: an export is for reading, and a file may have megabytes.
 */
import { type ConversationState, Message } from "@holdfast/wire"
import { Clock, Effect, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import * as Prose from "../../text/Prose.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import { Terminal } from "../terminal/Terminal.ts"
import * as Filter from "./Filter.ts"
import * as Service from "./Service.ts"
import * as Transcript from "./Transcript.ts"

/** The command `holdfast export`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "export",
    {
      ...Filter.flags("conversations"),
      format: Flag.Literals("format", ["jsonl", "markdown"]).pipe(
        Flag.withDescription("jsonl: one conversation a line, with its messages; markdown: for people"),
        Flag.withDefault("jsonl")
      ),
      ...Service.flags
    },
    ({ config, format, url, ...filter }) =>
      Service.use(parts, { config, url }, (client) =>
        Effect.gen(function* () {
          const terminal = yield* Terminal
          const query = yield* Filter.of(filter, yield* Clock.currentTimeMillis)
          const write = (conversation: ConversationState.ConversationSummary) =>
            Effect.map(messagesOf(client, conversation), (messages) => {
              if (messages === undefined) return
              const text =
                format === "jsonl"
                  ? `${Prose.inJson(JSON.stringify({ ...conversation, messages: messages.map(Message.withPlaceholders) }))}\n`
                  : `${Transcript.inMarkdown(conversation, messages)}\n`
              terminal.stdout(terminal.isStdoutTerminal ? Prose.harmless(text) : text)
            })
          yield* Stream.runForEach(client.listConversations(query), write)
        })
      )
  ).pipe(
    Command.withDescription("Print whole conversations of the running service, newest first, as JSONL or Markdown"),
    Command.withShortDescription("Conversations as JSONL or Markdown"),
    Command.withExamples([
      { command: "holdfast export > conversations.jsonl", description: "All of them" },
      { command: "holdfast export --tag nightly --since 22:00 --format markdown", description: "Those of the night" }
    ])
  )

// --- internal

/** The history; `undefined` for a conversation that was deleted since the list was read. */
const messagesOf = (client: Service.Client, { conversationId }: ConversationState.ConversationSummary) =>
  Effect.catchIf(
    client.conversation(conversationId).getMessages,
    ({ status }) => status === 404,
    () => Effect.undefined
  )
