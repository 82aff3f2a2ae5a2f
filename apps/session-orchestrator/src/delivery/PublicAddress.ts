/**
 * Distinguishes public addresses from private ones: a webhook that a client named must not reach into the operator's network. Pure.
 *
 * An address is public unless its block is registered for something else. An IPv6 address that carries an IPv4 address is refused: no
 * server has one of its own. A name is judged by each of its addresses, when it is resolved for the connection.
 */
import ipaddr from "ipaddr.js"
import { isIP } from "node:net"

/** Whether an IP address is public. Text that is no address is not. */
export const isPublic = (address: string): boolean => {
  if (isIP(address) === 0) return false
  const parsed = ipaddr.parse(address)
  return parsed.range() === "unicast" && !(parsed instanceof ipaddr.IPv6 && parsed.match(COMPATIBLE))
}

/** The name or IP address of a URL's host; that of IPv6 without its brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1")

/** Why an address in a request is refused, before it is resolved; `undefined`: it is not. */
export const refusalOf = (text: string): string | undefined => {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    return "expected an http or https address"
  }
  if (url.username !== "" || url.password !== "") return "expected an address without a user"
  const host = hostOf(url)
  if ((isIP(host) !== 0 && !isPublic(host)) || /(?:^|\.)localhost\.?$/i.test(host)) {
    return "expected a public address: this one is private"
  }
  return undefined
}

// --- internal

/** IPv6 addresses that carry an IPv4 address in a form that is out of use. */
const COMPATIBLE = ipaddr.IPv6.parseCIDR("::/96")
