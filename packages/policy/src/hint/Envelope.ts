/**
 * What of a response's body is the provider speaking of its error, and nothing else (C4).
 *
 * E1. Only known places are looked into: `error`, `errors`, `response.error`, `message`, `detail`, `metadata`. What a
 *     user or a model wrote (`choices`, `delta`, `content`, `input`) is never reached.
 * E2. Bounded: so many characters of text, so many levels, so many objects, whatever comes.
 *
 * Shapes: `{error: {message}}` (OpenAI, Anthropic, Google, OpenRouter, Groq, xAI), `[{error}]` (Google, streaming),
 * `{type: "response.failed", response: {error}}` (OpenAI Responses), `{message}` (Mistral), `{detail}` (FastAPI),
 * `{error: "text"}` (Ollama); a JSON text inside `message` or `metadata.raw` (proxies, OpenRouter) or behind a prefix; an
 * SSE frame around any of them.
 */

/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>

export interface Envelope {
  /** The error's objects, outermost first. */
  readonly objects: ReadonlyArray<Fields>
  /** What the error says in words. */
  readonly texts: ReadonlyArray<string>
}

/** An error body is small; beyond this it is read as text, or not at all. */
const MOST_JSON = 64 * 1024
/** As much text as is searched for a delay: an error's sentence, or the head of a proxy's page. */
const MOST_TEXT = 2048
/** Clients and proxies write their own words, and a status, before the error that they pass on. */
const MOST_PREFIX = 200
/** An error in an error in an error; gateways are stacked three high. */
const MOST_LEVELS = 6
const MOST_OBJECTS = 16

/** Takes a body, or one frame of a stream, apart. Never throws. */
export const open = (body: string): Envelope => {
  const objects: Array<Fields> = []
  const texts: Array<string> = []

  const visit = (value: unknown, level: number): void => {
    if (level > MOST_LEVELS || objects.length >= MOST_OBJECTS) return
    if (typeof value === "string") {
      const [words, inner] = takeJson(value)
      if (words !== "") texts.push(words.slice(0, MOST_TEXT))
      visit(inner, level + 1)
    } else if (Array.isArray(value)) {
      for (const item of value.slice(0, MOST_OBJECTS)) if (isFields(item)) visit(item, level + 1)
    } else if (isFields(value)) {
      objects.push(value)
      visit(value["error"], level + 1)
      visit(value["errors"], level + 1)
      visit(value["metadata"], level + 1)
      if (isFields(value["response"])) visit(value["response"]["error"], level + 1)
      for (const key of ["message", "detail", "raw"]) if (typeof value[key] === "string") visit(value[key], level + 1)
    }
  }

  visit(unframe(body), 0)
  return { objects, texts }
}

/** Whether a value is an object with string keys. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

// --- internal

/** Splits a text into words and the JSON that it ends with: `429 {...}`, `Error: {...}`, `{...}`, or words alone. */
const takeJson = (text: string): readonly [words: string, json: unknown] => {
  const start = text.search(/[[{]/)
  if (start < 0 || start > MOST_PREFIX || text.length > MOST_JSON) return [text, undefined]
  try {
    return [text.slice(0, start), JSON.parse(text.slice(start))]
  } catch {
    return [text, undefined]
  }
}

/** The data of an SSE frame; anything else as it is. */
const unframe = (body: string): string => {
  if (body.length > MOST_JSON || !/^(?:event|data|id|retry):/.test(body)) return body
  return body
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice("data:".length).trim())
    .join("\n")
}
