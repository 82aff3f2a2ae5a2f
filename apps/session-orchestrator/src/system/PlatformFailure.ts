/** What the platform says when it will not do something: to start a program, to read a file. */
import type { PlatformError } from "effect"

/**
 * Why, in the platform's own words.
 *
 * **Gotchas**
 *
 * Not the error's `message`, which has a program's arguments in it: people put keys there, and they are nobody's business.
 */
export const causeOf = ({ reason }: PlatformError.PlatformError): string =>
  reason.cause instanceof Error ? reason.cause.message : reason._tag
