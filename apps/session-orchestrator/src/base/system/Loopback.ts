/** Recognises hosts that mean this machine alone, and hosts that are addresses. */
import { isIP, isIPv4 } from "node:net"

/**
 * Whether a host means this machine alone (`localhost`, 127.0.0.0/8, `::1`). Used for the host to bind to and for `Host` headers.
 *
 * **Gotchas**
 *
 * `0.0.0.0`, `::` and an empty host mean every address of the machine: none of them is loopback.
 */
export const isLoopback = (host: string): boolean => {
  const name = withoutBrackets(host).toLowerCase()
  if (name === "localhost" || name === "::1") return true
  const mapped = name.startsWith("::ffff:") ? name.slice("::ffff:".length) : name
  return isIPv4(mapped) && mapped.startsWith("127.")
}

/** Whether a host is an address rather than a name. A DNS server cannot rebind an address. */
export const isAddress = (host: string): boolean => isIP(withoutBrackets(host)) !== 0

/** The host of `host:port`, as a `Host` header has it; `undefined` if the text is not a valid `Host` header. */
export const hostOf = (authority: string): string | undefined =>
  /^(\[[^\]@/]+\]|[^:@/\s]+)(:\d{1,5})?$/.exec(authority)?.[1]

/** A host as a URL has it: IPv6 in brackets. */
export const inUrl = (host: string): string => (host.includes(":") && !host.startsWith("[") ? `[${host}]` : host)

/** Where a server is reached from this machine; one on every address of the machine is reached at the loopback address. */
export const urlOf = (host: string, port: number): string => {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host
  return `http://${inUrl(reachable)}:${port}`
}

// --- internal

const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, "$1")
