/**
 * Keeps an error's whole body where it adds to the failure (D5).
 *
 * A body adds nothing, and is not kept, if each of its values is in the failure or names the class of the error. Most errors are a message,
 * a code and a type. At most `Failure.MOST_OF_BODY` characters are kept. Secrets are removed before the body is cut.
 */
import type { Provider } from "@holdfast/kernel"
import { Failure } from "@holdfast/wire"

/** The part of a redacted body to keep; `undefined` where it adds nothing. */
export const of = (body: string, failure: Provider.EmittedFailure): string | undefined => {
  const text = body.trim()
  if (!adds(text, failure)) return undefined
  return text.length <= Failure.MOST_OF_BODY ? text : `${text.slice(0, Failure.MOST_OF_BODY - 1).toWellFormed()}…`
}

// --- internal

const adds = (text: string, { code, evidence = {}, message, status }: Provider.EmittedFailure): boolean => {
  const known = new Set(["", "error", message.trim(), code, String(status), ...Object.values(evidence)])
  const isNews = (value: unknown): boolean =>
    typeof value === "string" ? !known.has(value.trim()) : typeof value === "number" && !known.has(String(value))
  const left: Array<readonly [key: string, value: unknown]> = [["", parse(text)]]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [key, value] = next
    if (typeof value === "object" && value !== null) {
      for (const inner of Object.entries(value)) left.push(inner)
    } else if (isNews(value) && !isClass(key, value)) return true
  }
  return false
}

/** Whether a value names the class of an error, beside its message and code: `"type": "server_error"`. */
const isClass = (key: string, value: unknown): boolean =>
  CLASSES.has(key) && typeof value === "string" && /^\w+$/.test(value)

const CLASSES = new Set(["type", "status", "object"])

/** Parsed JSON; any other text as one value. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
