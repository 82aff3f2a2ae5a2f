/** Defines the text in place of a secret. */

/** The text in place of a secret. Clients and log filters match on it. */
export const PLACEHOLDER = "[redacted]"
