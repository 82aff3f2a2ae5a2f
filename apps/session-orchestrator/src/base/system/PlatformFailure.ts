/** Reads the cause of a platform error, such as a program that did not start. */
import type { PlatformError } from "effect"

/**
 * The cause of a platform error, in the platform's own words.
 *
 * **Gotchas**
 *
 * It leaves out the error's `message`, which quotes a program's arguments: they may have keys in them.
 */
export const causeOf = ({ reason }: PlatformError.PlatformError): string =>
  reason.cause instanceof Error ? reason.cause.message : reason._tag

/** Why a file that a person has named cannot be read. */
export const whyOf = ({ reason }: PlatformError.PlatformError): string =>
  reason._tag === "NotFound" ? "there is no such file" : `it cannot be read (${reason._tag})`
