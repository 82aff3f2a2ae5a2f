/** Messages and their files, as frameworks have them. */
import * as Base64 from "effect/encoding/Base64"
import { defined } from "@holdfast/wire"
import type * as Events from "../Events.ts"

type Parts = Events.TextPart | Events.ModelFile | Events.ReasoningPart | Events.ToolCallPart | Events.ToolResultPart

/** How a framework writes each part. */
export type PartTable = { readonly [Type in Parts["type"]]: (part: Extract<Parts, { readonly type: Type }>) => object }

/** A message of a prompt. */
export interface PromptMessage {
  readonly role: Events.Message["role"] | "system"
  readonly content: string | ReadonlyArray<object>
}

/** A request's messages. */
export const promptOf = (
  system: string | undefined,
  messages: ReadonlyArray<Events.Message>,
  table: PartTable
): ReadonlyArray<PromptMessage> => [
  ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
  ...messages.map(({ content, role }) => ({
    role,
    content: content.map((part: Parts) => table[part.type](part as never))
  }))
]

/** The arguments of a call as a provider takes them back. */
export const argumentsOf = ({ input, malformed }: Events.ToolCallPart): Events.Json =>
  malformed === undefined ? input : { malformed_arguments: input }

/** A file, from its bytes, its base64, its `data:` address or another address. A message has its type in lower case and without parameters. */
export const fileOf = (file: {
  readonly mediaType: string
  readonly data: string | Uint8Array | URL
  readonly name?: string | undefined
}): Events.FilePart => {
  const { data, name } = file
  const mediaType = file.mediaType.replace(/;.*/s, "").trim().toLowerCase()
  const described = { type: "file" as const, mediaType, ...defined({ name }) }
  if (data instanceof Uint8Array) return { ...described, data: Base64.encode(data) }
  const text = String(data)
  const base64 = /^data:[^,]*;base64,(.*)$/s.exec(text)?.[1]
  if (base64 !== undefined) return { ...described, data: base64 }
  return text.includes(":") ? { ...described, url: text } : { ...described, data: text } // base64 has no colon
}
