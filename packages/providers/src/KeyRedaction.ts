/**
 * Redacts secrets from endpoint texts and failures: providers and proxies often quote the key that they reject.
 *
 * An error text is redacted before it is cut: cut first, it could end in half a key, which no redaction recognises. Its class is read of
 * the text as it came (rule C13). A failure leaves this package only after every secret that the adapter knows has been removed from it.
 * Bytes of a file that an endpoint quotes are left out of its text, too.
 */
import { type Failure, Redaction } from "@holdfast/wire"
import * as Record from "effect/Record"
import * as Redacted from "effect/Redacted"

/** Removes secrets from a text. It keeps JSON valid. */
export type Conceal = (text: string) => string

/** Removes the given secrets, apart from those that are too short to be one; `more` runs first. */
export const conceal = (secrets: ReadonlyArray<Redacted.Redacted<string>>, more: Conceal = (text) => text): Conceal => {
  // Trimmed, as when sent: a key from a file may end in a newline.
  const values = secrets
    .map((secret) => Redacted.value(secret).trim())
    .filter(({ length }) => length >= Redaction.SHORTEST)
  const known = (text: string) => values.reduce((text, secret) => text.replaceAll(secret, Redaction.PLACEHOLDER), text)
  return (text) => withoutBytes(Redaction.keepingJson(more(text), known))
}

/** Redacts all texts of a failure. */
export const inFailure = <F extends Pick<Failure.Failure, "message" | "code" | "evidence">>(
  conceal: Conceal,
  failure: F
): F => ({
  ...failure,
  message: conceal(failure.message),
  ...(failure.code === undefined ? undefined : { code: conceal(failure.code) }),
  ...(failure.evidence === undefined ? undefined : { evidence: Record.map(failure.evidence, conceal) })
})

/** The text without the bytes of a file. */
export const withoutBytes = (text: string): string => {
  let kept = ""
  let at = 0
  for (let found = firstFrom(BASE64, text, 0); found < text.length; found = firstFrom(BASE64, text, at)) {
    let end = firstFrom(BEHIND, text, found)
    for (const last = end + 2; end < last && text[end] === "=";) end++
    kept += `${text.slice(at, found)}[${end - found} characters of base64]`
    at = end
  }
  return kept + text.slice(at)
}

// --- internal

/** The beginning of base64 that is no word, hash or key for its length: the bytes of a file. */
const BASE64 = /[A-Za-z0-9+/]{512}/g

/** A run has megabytes, which an open quantifier would push on the stack of the regular expression: its end is looked for instead. */
const BEHIND = /[^A-Za-z0-9+/]/g

/** Where a pattern first matches from a place on; the length of the text where it does not. */
const firstFrom = (pattern: RegExp, text: string, from: number): number => {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? text.length
}
