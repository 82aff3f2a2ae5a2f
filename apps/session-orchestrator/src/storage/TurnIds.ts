/**
 * Ids for new turns: UUIDs of version 7 (RFC 9562), which begin with the time and so come in order.
 *
 * Four indexes have a turn's id in front. With ids at random every row would touch a page of its own somewhere in each of
 * them, and a commit of five hundred turns would write as many pages to the disk; in order they share the last one. No order
 * is ever read from an id: that of acceptance is the row's (`TurnTable`).
 */
import { Ids } from "@holdfast/wire"

/** A new id: 48 bits of time, the version, and the chance of a random UUID. */
export const make = (): Ids.TurnId => {
  const time = Date.now().toString(16).padStart(12, "0")
  return Ids.TurnId.make(`${time.slice(0, 8)}-${time.slice(8)}-7${globalThis.crypto.randomUUID().slice(15)}`)
}
