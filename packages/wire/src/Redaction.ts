/** Defines the text in place of a secret, and how redaction leaves JSON valid. */
import * as JsonShape from "./values/JsonShape.ts"

/** The text in place of a secret. Clients and log filters match on it. */
export const PLACEHOLDER = "[redacted]"

/** Characters. A shorter value is a dummy (`none`, `ollama`), a number or a word, and no secret: without it every text would be garbled. */
export const SHORTEST = 8

/** Redacts a text. JSON stays JSON: where a secret was a number or reached into the syntax, each string of it is redacted by itself. */
export const keepingJson = (text: string, redact: (text: string) => string): string => {
  const redacted = redact(text)
  if (redacted === text || !/^\s*[{[]/.test(text) || JsonShape.parse(redacted) !== undefined) return redacted
  try {
    return JSON.stringify(JSON.parse(text), (_name, value: unknown) => inValue(value, redact))
  } catch {
    return redacted // It was no JSON before, or is nested too deep to be read as such.
  }
}

// --- internal

const inValue = (value: unknown, redact: (text: string) => string): unknown => {
  if (typeof value === "string") return redact(value)
  if (typeof value === "number") return redact(String(value)) === String(value) ? value : PLACEHOLDER
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [redact(name), inner]))
}
