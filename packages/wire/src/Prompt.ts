/**
 * Schema of a prompt: text, or a list of texts and files.
 *
 * A prompt of one text is the same prompt as that text: `plain` makes them equal, and on disk they have been one since version 1.
 */
import * as Schema from "effect/Schema"
import { FileInput, FilePart, placeholderOf } from "./FilePart.ts"
import { hasAtMost } from "./values/Checks.ts"
import { NonEmptyText } from "./values/Text.ts"

/** Text of a user or an assistant message. */
export const TextPart = Schema.Struct({ type: Schema.tag("text"), text: Schema.String })
export type TextPart = typeof TextPart.Type

/** A part of a user message or of a tool's result. */
export const InputPart = Schema.Union([TextPart, FilePart])
export type InputPart = typeof InputPart.Type

/** More parts than any provider takes in one request. */
export const MOST_PARTS = 100

const PromptText = Schema.Struct({ type: Schema.tag("text"), text: NonEmptyText })

/** A prompt as clients send it: something else than white space, which most providers refuse. */
export const Prompt = Schema.Union([
  NonEmptyText,
  Schema.NonEmptyArray(
    Schema.Union([PromptText, FileInput]).annotate({ message: 'expected a part: an object with type "text" or "file"' })
  ).check(hasAtMost(MOST_PARTS, `expected ${MOST_PARTS} parts at most`))
]).check(
  Schema.makeFilter<Prompt>(
    (prompt) =>
      partsOf(prompt).some((part) => part.type === "file" || part.text.trim() !== "") ||
      "Expected a text that is not blank"
  )
)
export type Prompt = string | Parts

/** The parts of a prompt or of a tool's result. */
export type Parts = readonly [InputPart, ...ReadonlyArray<InputPart>]

/** The prompt as text, where it is one text. */
export const plain = (prompt: Prompt): Prompt => {
  if (typeof prompt === "string") return prompt
  const [first, second] = prompt
  return second === undefined && first.type === "text" ? first.text : prompt
}

/** The parts of a prompt. */
export const partsOf = (prompt: Prompt): Parts =>
  typeof prompt === "string" ? [{ type: "text", text: prompt }] : prompt

/** The files among parts, in order. */
export const filesOf = (parts: ReadonlyArray<InputPart>): ReadonlyArray<FilePart> =>
  parts.filter((part) => part.type === "file")

/** A prompt or other parts as text, with a placeholder for each file. */
export const textOf = (prompt: string | ReadonlyArray<InputPart>): string =>
  typeof prompt === "string"
    ? prompt
    : prompt.map((part) => (part.type === "file" ? placeholderOf(part) : part.text)).join("\n")
