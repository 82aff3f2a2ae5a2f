/**
 * Draws a sample of places by a seed.
 *
 * Sample.S1. The same sources and the same seed give the same sample, and a larger sample contains the smaller one.
 * Sample.S2. A place's rank depends on its own code and the seed alone, so an edit elsewhere exchanges few places of a sample.
 */
import { createHash } from "node:crypto"
import type { Place } from "./Places.ts"

/** Draws `count` places; the same seed gives the same ones. */
export const draw = (places: ReadonlyArray<Place>, count: number, seed: string): ReadonlyArray<Place> => {
  const seen = new Map<string, number>()
  const ranked = places.map((place) => {
    const code = [place.path, place.operator, place.before, place.after].join("\n")
    const nth = seen.get(code) ?? 0
    seen.set(code, nth + 1)
    return { place, rank: createHash("sha256").update(`${seed}\n${code}\n${nth}`).digest("hex") }
  })
  return ranked
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, count)
    .map(({ place }) => place)
}
