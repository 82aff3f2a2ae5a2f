/**
 * Keeps keys out of what people and logs get to see.
 *
 * Providers and proxies like to quote the key that they refuse.
 *
 * S1. What an endpoint says in place of an answer is cleaned before anybody reads it: a message that was cut short first might
 *     end in half a key, which nobody recognises.
 * S2. A failure leaves this package only after every secret that the adapter knows has been taken out of it, wherever it came
 *     from.
 */
import { type Failure, Redaction } from "@holdfast/wire"
import { Record, Redacted } from "effect"

/** Takes secrets out of text. Of JSON it makes JSON. */
export type Conceal = (text: string) => string

/** Takes the given secrets out, and before them whatever `more` does. */
export const conceal = (secrets: ReadonlyArray<Redacted.Redacted<string>>, more: Conceal = (text) => text): Conceal => {
  // Trimmed, as they are sent: a key that was read from a file may end in a newline.
  const values = secrets.map((secret) => Redacted.value(secret).trim()).filter((secret) => secret !== "")
  return (text) => values.reduce((text, secret) => text.replaceAll(secret, Redaction.PLACEHOLDER), more(text))
}

/** The same for all that is text in a failure. */
export const inFailure = <F extends Pick<Failure.Failure, "message" | "code" | "evidence">>(
  conceal: Conceal,
  failure: F
): F => ({
  ...failure,
  message: conceal(failure.message),
  ...(failure.code === undefined ? undefined : { code: conceal(failure.code) }),
  ...(failure.evidence === undefined ? undefined : { evidence: Record.map(failure.evidence, conceal) })
})
