/** Names a PostgreSQL database for people, without its password. */
import { Redacted } from "effect"

/** The address without user, password and parameters: `postgres://host:port/database`. */
export const nameOf = (url: Redacted.Redacted): string => {
  const { host, pathname, protocol } = new URL(Redacted.value(url))
  return `${protocol}//${host}${pathname}`
}
