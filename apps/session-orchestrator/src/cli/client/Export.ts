/**
 * `holdfast export`: prints whole conversations of the running service, as JSONL or Markdown.
 *
 * Conversations come newest first, each as soon as it is read. A conversation that is deleted meanwhile is left out. Files are
 * placeholders in both forms: an export is for reading, and a file may have megabytes.
 */
import { type ConversationState, defined, Message } from "@holdfast/wire"
import { ConversationsGroup, Listing } from "@holdfast/wire/api"
import { Clock, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as Prose from "../../text/Prose.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import * as Setup from "../Setup.ts"
import { Terminal } from "../terminal/Terminal.ts"
import * as Filter from "./Filter.ts"
import * as ServiceClient from "./ServiceClient.ts"
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
      url: ServiceClient.urlFlag,
      config: Setup.configFlag
    },
    ({ config, format, url, ...filter }) =>
      Setup.withConfig(parts, { file: Option.getOrUndefined(config) }, ({ server }) =>
        Effect.gen(function* () {
          const terminal = yield* Terminal
          const query = yield* Filter.of(filter, yield* Clock.currentTimeMillis)
          const client = yield* ServiceClient.of(url, parts.environment, server)
          const write = (conversation: ConversationState.ConversationSummary) =>
            Effect.map(messagesOf(client, conversation), (messages) => {
              if (messages === undefined) return
              const text =
                format === "jsonl"
                  ? `${Prose.inJson(JSON.stringify({ ...conversation, messages: messages.map(Message.withPlaceholders) }))}\n`
                  : `${Transcript.inMarkdown(conversation, messages)}\n`
              terminal.stdout(terminal.isStdoutTerminal ? Prose.harmless(text) : text)
            })
          let cursor: string | undefined
          do {
            const page: Listing.ConversationPage = yield* client.call(
              { path: `/v1/conversations?${queryOf({ ...query, cursor })}` },
              Listing.ConversationPage
            )
            yield* Effect.forEach(page.conversations, write, { discard: true })
            cursor = page.next
          } while (cursor !== undefined)
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

const queryOf = (query: Readonly<Record<string, string | number | undefined>>): string =>
  new URLSearchParams(
    Object.entries(defined(query)).map(([key, value]): [string, string] => [key, String(value)])
  ).toString()

/** The history; `undefined` for a conversation that was deleted since the list was read. */
const messagesOf = (client: ServiceClient.ServiceClient, { conversationId }: ConversationState.ConversationSummary) =>
  client.call({ path: `/v1/conversations/${conversationId}/messages` }, ConversationsGroup.Messages).pipe(
    Effect.map(({ messages }) => messages),
    Effect.catchIf(
      (error) => error._tag === "Refusal" && error.status === 404,
      () => Effect.undefined
    )
  )
