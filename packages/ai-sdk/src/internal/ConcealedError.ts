/** Copies of errors without secrets: endpoints often quote the key that they reject. */
import { APICallError } from "@ai-sdk/provider"
import { defined } from "@holdfast/wire"
import * as Record from "effect/Record"

/** The error with its texts concealed, five causes deep. What an endpoint was sent is left out. */
export const concealed = (error: unknown, conceal: (text: string) => string, depth = 5): unknown => {
  if (typeof error === "string") return conceal(error)
  if (typeof error !== "object" || error === null) return error
  if (!(error instanceof Error)) return plain(error, conceal)
  const cause = depth === 0 ? undefined : concealed(error.cause, conceal, depth - 1)
  if (APICallError.isInstance(error)) {
    const { isRetryable, message, responseBody, responseHeaders, statusCode, url } = error
    return new APICallError({
      message: conceal(message),
      url: conceal(url),
      requestBodyValues: {},
      isRetryable,
      cause,
      ...defined({
        statusCode,
        responseBody: responseBody && conceal(responseBody),
        responseHeaders: responseHeaders && Record.map(responseHeaders, (value) => conceal(value))
      })
    })
  }
  const { code, status, statusCode, type } = error as {
    readonly [field in "code" | "status" | "statusCode" | "type"]?: unknown
  }
  const copy = Object.assign(new Error(conceal(error.message), { cause }), defined({ code, status, statusCode, type }))
  return Object.defineProperty(copy, "name", { value: error.name })
}

// --- internal

/** An error part of a stream: JSON of the endpoint. */
const plain = (error: object, conceal: (text: string) => string): unknown => {
  try {
    return JSON.parse(conceal(JSON.stringify(error)))
  } catch {
    return new Error("An error that is no JSON")
  }
}
