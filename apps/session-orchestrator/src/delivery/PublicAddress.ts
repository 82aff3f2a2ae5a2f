/**
 * Distinguishes public addresses from private ones: a webhook that a client named must not reach into the operator's network. Pure.
 *
 * An address is public unless its block is registered for something else. An IPv6 address that carries an IPv4 address is refused: no
 * server has one of its own. A name is judged by each of its addresses, when it is resolved for the connection.
 */
import { BlockList, isIP } from "node:net"

/** Whether an IP address is public. Text that is no address is not. */
export const isPublic = (address: string): boolean => {
  const family = isIP(address)
  if (family === 0) return false
  return family === 4 ? !blocked.ipv4.check(address, "ipv4") : !blocked.ipv6.check(address, "ipv6")
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

/** IANA's special-purpose registries of IPv4 and IPv6. */
const BLOCKS: ReadonlyArray<readonly [network: string, prefix: number, family: "ipv4" | "ipv6"]> = [
  ["0.0.0.0", 8, "ipv4"],
  ["10.0.0.0", 8, "ipv4"],
  ["100.64.0.0", 10, "ipv4"],
  ["127.0.0.0", 8, "ipv4"],
  ["169.254.0.0", 16, "ipv4"],
  ["172.16.0.0", 12, "ipv4"],
  ["192.0.0.0", 24, "ipv4"],
  ["192.0.2.0", 24, "ipv4"],
  ["192.88.99.0", 24, "ipv4"],
  ["192.168.0.0", 16, "ipv4"],
  ["198.18.0.0", 15, "ipv4"],
  ["198.51.100.0", 24, "ipv4"],
  ["203.0.113.0", 24, "ipv4"],
  ["224.0.0.0", 3, "ipv4"],
  // Unspecified, loopback and the addresses that carry an IPv4 address: none of them is a server's own.
  ["::", 96, "ipv6"],
  ["::ffff:0:0", 96, "ipv6"],
  ["64:ff9b::", 96, "ipv6"],
  ["64:ff9b:1::", 48, "ipv6"],
  ["100::", 64, "ipv6"],
  ["2001::", 23, "ipv6"],
  ["2001:db8::", 32, "ipv6"],
  ["2002::", 16, "ipv6"],
  ["3fff::", 20, "ipv6"],
  ["5f00::", 16, "ipv6"],
  ["fc00::", 7, "ipv6"],
  ["fe80::", 10, "ipv6"],
  ["fec0::", 10, "ipv6"],
  ["ff00::", 8, "ipv6"]
]

/** A list of both would take each IPv4 address for the IPv6 address that carries it. */
const blocked = { ipv4: new BlockList(), ipv6: new BlockList() }
for (const [network, prefix, family] of BLOCKS) blocked[family].addSubnet(network, prefix, family)
