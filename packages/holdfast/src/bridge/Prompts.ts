/** Writes the messages of Holdfast as the prompt of a framework, by a table of its parts. */
import type { Json, Message, ToolCallPart, TextPart, ToolResultPart, ReasoningPart, ModelFile } from "../Events.ts"

type Parts = TextPart | ModelFile | ReasoningPart | ToolCallPart | ToolResultPart

/** How a framework writes each part. */
export type PartTable = { readonly [Type in Parts["type"]]: (part: Extract<Parts, { readonly type: Type }>) => object }

/** A message of a prompt. */
export interface PromptMessage {
  readonly role: Message["role"] | "system"
  readonly content: string | ReadonlyArray<object>
}

/** A request's messages. */
export const promptOf = (
  system: string | undefined,
  messages: ReadonlyArray<Message>,
  table: PartTable
): ReadonlyArray<PromptMessage> => [
  ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
  ...messages.map(({ content, role }) => ({
    role,
    content: content.map((part: Parts) => table[part.type](part as never))
  }))
]

/** The arguments of a call as a provider takes them back. */
export const argumentsOf = ({ input, malformed }: ToolCallPart): Json =>
  malformed === undefined ? input : { malformed_arguments: input }
