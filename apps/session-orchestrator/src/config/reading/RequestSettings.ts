/**
 * Checks the fields that an operator adds to request bodies, and the address that requests go to.
 *
 * A field that Holdfast writes from the conversation, or that changes what it reads back, is refused. An address that ends in the path
 * which the adapter adds is refused, with the address to write instead. A field of an "ai-sdk" provider is an option of a call of the AI
 * SDK, which ignores all others without a word: they are refused.
 */
import type { BuiltIn } from "@holdfast/providers"
import { Schema } from "effect"
import { formatPath, type Problem } from "./ConfigProblem.ts"
import { nearest } from "./Nearest.ts"

/** Each refused field, with the reason. */
const RESERVED: ReadonlyMap<string, string> = new Map([
  ["model", "the turn's model goes there. Choose it with `model`, or by conversation"],
  ["messages", "the conversation goes there"],
  ["input", "the conversation goes there"],
  ["contents", "the conversation goes there"],
  ["system", "the conversation's system prompt goes there"],
  ["instructions", "the conversation's system prompt goes there"],
  ["systemInstruction", "the conversation's system prompt goes there"],
  ["previous_response_id", "Holdfast sends the whole conversation"],
  ["conversation", "Holdfast sends the whole conversation"],
  ["background", "Holdfast reads answers as streams only"],
  ["stream", "Holdfast reads answers as streams only"],
  ["n", "Holdfast reads one answer"],
  ["tools", 'the tools of the "tools" section go there'],
  ["functions", 'the tools of the "tools" section are offered instead'],
  ["function_call", 'the tools of the "tools" section are offered instead']
])

/** JSON that is merged into request bodies (RFC 7396). */
export const Body = Schema.Record(Schema.String, Schema.Json)
  .annotate({ message: 'Expected an object of request fields, such as { "max_tokens": 500 }' })
  .check(
    Schema.makeFilter(
      (body) =>
        Object.keys(body).flatMap((field) => {
          const reason = RESERVED.get(field)
          return reason === undefined ? [] : [{ path: [field], issue: `this field cannot be set: ${reason}.` }]
        }),
      { toJsonSchema: () => ({ propertyNames: { not: { enum: Array.from(RESERVED.keys()) } } }) }
    )
  )
export type Body = typeof Body.Type

/** The problem of a provider's address; `undefined` if there is none. The message leaves the query out: it may contain a key. */
export const addressProblem = (place: string, type: BuiltIn.Format, baseUrl: string): Problem | undefined => {
  const url = URL.parse(baseUrl)
  if (url === null) return undefined
  const path = url.pathname.replace(/\/+$/, "")
  const found = ENDPOINTS.find(({ suffix }) => path.toLowerCase().endsWith(suffix))
  if (found === undefined) return undefined
  const base = `${url.origin}${path.slice(0, -found.suffix.length)}${url.search === "" ? "" : "?..."}`
  const other =
    found.type === type ? "" : `, with "type": ${JSON.stringify(found.type)}, which is the format of that path`
  return { place, message: `it ends in ${found.suffix}, which Holdfast adds itself. Write "${base}"${other}.` }
}

/** Options of a call of the AI SDK; Holdfast writes the others. */
const CALL_OPTIONS = [
  "maxOutputTokens",
  "temperature",
  "topP",
  "topK",
  "presencePenalty",
  "frequencyPenalty",
  "seed",
  "stopSequences",
  "reasoning",
  "responseFormat",
  "headers",
  "providerOptions"
]

/** The problems of fields that are no option of a call of the AI SDK. */
export const callProblems = (path: ReadonlyArray<string>, body: Body): ReadonlyArray<Problem> =>
  Object.keys(body)
    .filter((field) => !CALL_OPTIONS.includes(field))
    .map((field) => {
      const near = nearest(field, CALL_OPTIONS)
      return {
        place: formatPath([...path, field]),
        message:
          'an "ai-sdk" provider has no such field.' +
          (near === undefined ? "" : ` Did you mean "${near}"?`) +
          ` Expected one of ${CALL_OPTIONS.join(", ")}; fields of the provider itself go into providerOptions.`
      }
    })

// --- internal

/** The paths that the adapters add; the longer one first. */
const ENDPOINTS = [
  { suffix: "/chat/completions", type: "openai-compatible" },
  { suffix: "/responses", type: "openai-responses" },
  { suffix: "/v1beta/models", type: "gemini" },
  { suffix: "/v1/messages", type: "anthropic" },
  { suffix: "/messages", type: "anthropic" }
] as const
