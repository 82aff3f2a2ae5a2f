/**
 * Selects the response headers that are kept as evidence of a failure.
 *
 * It keeps the header of the hint, the header that overrides whether a retry is allowed, and the request's id. Others may have cookies,
 * accounts and addresses. A long value is not kept, and not cut either: half of a quoted key would not be recognised as a key.
 */
import type { Failure } from "@holdfast/wire"

/**
 * The headers with a request's id, for the provider's support: Anthropic; OpenAI, Groq, xAI, Mistral and most others; Azure; Bedrock;
 * endpoints behind Cloudflare.
 */
const REQUEST_IDS = ["request-id", "x-request-id", "apim-request-id", "x-amzn-requestid", "cf-ray"]

/** The longest value that is kept: three times the longest request id that is known. */
const LONGEST = 128

/** Returns the evidence by lower-case header name; `undefined`: there is none. */
export const of = (
  headers: Readonly<Record<string, string>>,
  hint: Failure.Hint | undefined
): Failure.Failure["evidence"] => {
  let kept: Record<string, string> | undefined
  const keep = (name: string) => {
    const value = headers[name]
    if (value !== undefined && value !== "" && value.length <= LONGEST) (kept ??= {})[name] = value
  }
  if (hint !== undefined && hint.source !== "body") keep(hint.source)
  keep("x-should-retry")
  REQUEST_IDS.forEach(keep)
  return kept
}
