/**
 * The name of a runner's PostgreSQL sessions, by which others find out whose a lock is.
 *
 * - It carries the runner's address and its number of shards: a reader needs no configuration of the cluster.
 * - PostgreSQL cuts names off. An address that does not fit is replaced by its hash, for `cluster_runners` to resolve.
 */
import { createHash } from "node:crypto"

/** The name of every session that is no runner's. */
export const PLAIN = "holdfast"

/** @param address `host:port`, where the other runners reach it */
export const of = (address: string, shards: number): string => {
  const name = `${PLAIN} ${address}/${shards}`
  return name.length <= LONGEST ? name : `${PLAIN} #${hashOf(address)}/${shards}`
}

/** Reads whose session it is by its name: `address` is `host:port`, or with `isHashed` its hash; `undefined` where it is no runner's. */
export const parse = (name: string) => {
  const [, hash, address, shards] = /^holdfast (?:(#)?(\S+))\/(\d+)$/.exec(name) ?? []
  return address === undefined ? undefined : { address, isHashed: hash !== undefined, shards: Number(shards) }
}

/** What stands for an address that is too long. */
export const hashOf = (address: string): string => createHash("sha256").update(address).digest("hex").slice(0, 32)

// --- internal

/** One less than PostgreSQL's NAMEDATALEN; addresses are ASCII. */
const LONGEST = 63
