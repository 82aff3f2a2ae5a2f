/** Which addresses never leave this machine, and which names cannot have been made up by a DNS server. */
import { isIP, isIPv4 } from "node:net"

/**
 * Whether a host to bind to, or one that a client asks for, is this machine alone: `localhost`, 127.0.0.0/8, `::1`.
 *
 * **Gotchas**
 *
 * `0.0.0.0` and `::` are every address of the machine, and an empty host means the same: none of them is loopback.
 */
export const isLoopback = (host: string): boolean => {
  const name = withoutBrackets(host).toLowerCase()
  if (name === "localhost" || name === "::1") return true
  const mapped = name.startsWith("::ffff:") ? name.slice("::ffff:".length) : name
  return isIPv4(mapped) && mapped.startsWith("127.")
}

/** Whether a host is an address rather than a name. An address is nothing that a DNS server could rebind. */
export const isAddress = (host: string): boolean => isIP(withoutBrackets(host)) !== 0

/** The host of `host:port`, as it stands in a `Host` header; `undefined` for what no `Host` header may be. */
export const hostOf = (authority: string): string | undefined =>
  /^(\[[^\]@/]+\]|[^:@/\s]+)(:\d{1,5})?$/.exec(authority)?.[1]

/** A host as it stands in a URL: IPv6 in brackets. */
export const inUrl = (host: string): string => (host.includes(":") && !host.startsWith("[") ? `[${host}]` : host)

// --- internal

const withoutBrackets = (host: string): string =>
  host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host
