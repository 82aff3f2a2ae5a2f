/**
 * What is kept of a failed response's head: the header that a hint was read from, the one that overrides what may be retried,
 * and the request's id.
 *
 * E1. Nothing else is kept: a head may carry cookies, accounts and addresses.
 * E2. What is long is not kept; nor is it cut, since half of a key that it quotes would not be recognised as one.
 */
import type { Failure } from "@holdfast/wire"

/**
 * How providers name a request, so that their support finds it: Anthropic; OpenAI, Groq, xAI, Mistral and most others; Azure;
 * Bedrock; whatever stands behind Cloudflare.
 */
const REQUEST_IDS = ["request-id", "x-request-id", "apim-request-id", "x-amzn-requestid", "cf-ray"]

/** The longest value that is kept: three times the longest request id that is known. */
const LONGEST = 128

/** The evidence by lower-case header name; `undefined` where there is none. */
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
