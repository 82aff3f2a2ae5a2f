/**
 * Keeps keys out of what people and logs get to see.
 *
 * Providers and proxies like to quote the key that they refuse. A failure leaves this package only after every secret that
 * this adapter knows has been taken out of its text.
 */
import type { Failure } from "@holdfast/wire"
import { Redacted } from "effect"

/** What stands where a secret stood. */
export const PLACEHOLDER = "<redacted>"

/** A function that takes the given secrets out of a failure. */
export const conceal = (secrets: ReadonlyArray<Redacted.Redacted<string>>) => {
  // Trimmed, as they are sent: a key that was read from a file may end in a newline.
  const values = secrets.map((secret) => Redacted.value(secret).trim()).filter((secret) => secret !== "")
  const clean = (text: string) => values.reduce((text, secret) => text.replaceAll(secret, PLACEHOLDER), text)
  return (failure: Failure.Failure): Failure.Failure => ({
    ...failure,
    message: clean(failure.message),
    ...(failure.code === undefined ? undefined : { code: clean(failure.code) })
  })
}
