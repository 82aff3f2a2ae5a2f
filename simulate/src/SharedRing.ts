/**
 * Lets the simulated runners of a process share the rings of hashes of `effect/cluster`. Loaded with `--import`, before anything else.
 *
 * The shards of a membership are a pure function of it. Each runner of a real cluster computes them, over 128 points for every runner; a
 * thousand runners in one process would do so a thousand times after each change, and keep as many rings.
 */
import * as HashRing from "effect/HashRing"
import * as PrimaryKey from "effect/PrimaryKey"
import { registerHooks } from "node:module"

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "../HashRing.js" && context.parentURL?.endsWith("/cluster/Sharding.js") === true
      ? { url: import.meta.url, shortCircuit: true }
      : context.parentURL !== undefined && A_FILE.test(specifier)
        ? { url: new URL(specifier, context.parentURL).href, shortCircuit: true }
        : next(specifier, context)
})

/** The specifiers that name a file: to resolve five thousand as Node does takes a fifth of a worker's start. */
const A_FILE = /^\.\.?\/.*\.[jt]s$/

/** The members of one runner's ring, by their keys. */
type Members<A> = Map<string, { readonly node: A; readonly weight: number }>

/** As `HashRing.make`. */
export const make = <A>(): Members<A> => new Map()

/** As `HashRing.add`. */
export const add = <A extends PrimaryKey.PrimaryKey>(
  members: Members<A>,
  node: A,
  { weight }: { readonly weight: number }
): void => void members.set(PrimaryKey.value(node), { node, weight })

/** As `HashRing.remove`. */
export const remove = <A extends PrimaryKey.PrimaryKey>(members: Members<A>, node: A): void =>
  void members.delete(PrimaryKey.value(node))

/** As `HashRing.getShards`: computed once for all runners that see the same members. */
export const getShards = <A extends PrimaryKey.PrimaryKey>(
  members: Members<A>,
  count: number
): ReadonlyArray<PrimaryKey.PrimaryKey> | undefined => {
  const names = Array.from(members, ([name, { weight }]) => `${name} ${weight}`)
  const membership = `${count} of ${names.toSorted().join(", ")}`
  if (!known.has(membership)) {
    const ring = HashRing.make<A>()
    for (const [weight, alike] of Map.groupBy(members.values(), ({ weight }) => weight))
      HashRing.addMany(
        ring,
        alike.map(({ node }) => node),
        { weight }
      )
    known.set(membership, HashRing.getShards(ring, count))
  }
  return known.get(membership)
}

// --- internal

const known = new Map<string, ReadonlyArray<PrimaryKey.PrimaryKey> | undefined>()
