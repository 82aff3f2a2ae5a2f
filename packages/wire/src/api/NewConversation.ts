/** Schema of what a conversation is opened with, over any transport. */
import * as Schema from "effect/Schema"
import * as Labels from "../Labels.ts"
import { JsonObject, NonEmptyText, Text } from "../values/Text.ts"

/** More than a configuration is likely to have. */
const MOST_SERVERS = 64

/** Characters of a title. */
export const MOST_TITLE = 200

/** A title for people. */
export const Title = NonEmptyText.check(
  Schema.isMaxLength(MOST_TITLE, { message: `expected ${MOST_TITLE} characters at most` })
)

/** Names of tool servers, each once. */
const ToolServers = Schema.Array(NonEmptyText).check(
  Schema.isMaxLength(MOST_SERVERS, { message: `expected ${MOST_SERVERS} names at most` }),
  Schema.makeFilter((names) => (new Set(names).size === names.length ? undefined : "expected each name once"))
)

/** A system prompt of the configuration (`systemPrompts`), by its name. */
export const SystemName = Schema.Struct({ name: NonEmptyText })

/** The body of the call that opens a conversation. */
export const CreateConversation = Schema.Struct({
  model: Schema.optionalKey(
    NonEmptyText.annotate({
      description: "`provider/model`; otherwise the configuration's.",
      examples: ["openai/gpt-5"]
    })
  ),
  system: Schema.optionalKey(
    Schema.Union([Text, SystemName]).annotate({
      description: "The system prompt; or the name of one in the configuration's `systemPrompts`.",
      examples: ["Answer in one sentence.", { name: "reviewer" }],
      message: 'expected a text, or an object such as {"name": "reviewer"}'
    })
  ),
  tools: Schema.optionalKey(
    ToolServers.annotate({
      description:
        "Names of the configuration's tool servers that its turns may use; without it all of them, with `[]` none.",
      examples: [["search"]]
    })
  ),
  title: Schema.optionalKey(
    Title.annotate({
      description: `A title for lists, of ${MOST_TITLE} characters at most; otherwise the beginning of its first prompt.`,
      examples: ["Incidents of the week"]
    })
  ),
  retry: Schema.optionalKey(
    JsonObject.annotate({
      description: "Settings over the configuration's `retry`; 65536 characters of JSON at most.",
      examples: [{ profile: "interactive" }]
    })
  ),
  ...Labels.fields
}).annotate({
  identifier: "CreateConversation",
  description: "All of it is optional; so is the body.",
  examples: [
    { system: "Answer in one sentence." },
    { model: "openai/gpt-5", system: "Answer in one sentence.", retry: { profile: "interactive" } }
  ]
})
export type CreateConversation = typeof CreateConversation.Type
