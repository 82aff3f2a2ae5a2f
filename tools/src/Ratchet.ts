/**
 * Holds counts to a record that may only fall. Pure.
 *
 * Ratchet.R1. A count above its record is a problem; a name without a record may have none.
 * Ratchet.R2. A count below its record is no problem; `lowered` takes the record down, and drops a line that reached 0.
 */
export type Counts = ReadonlyMap<string, number>

export interface Recorded {
  readonly [name: string]: number
}

/** What is wrong, one sentence each. `sentence` describes a count that has risen. */
export const problems = (
  counts: Counts,
  recorded: Recorded,
  sentence: (name: string, count: number, most: number) => string
): ReadonlyArray<string> =>
  Array.from(counts).flatMap(([name, count]) => {
    const most = recorded[name] ?? 0
    return count > most ? [sentence(name, count, most)] : []
  })

/** The record with every count that has fallen, by name. */
export const lowered = (counts: Counts, recorded: Recorded): Recorded =>
  Object.fromEntries(
    Object.entries(recorded)
      .map(([name, most]) => [name, Math.min(counts.get(name) ?? 0, most)] as const)
      .filter(([, count]) => count > 0)
      .toSorted(([left], [right]) => left.localeCompare(right))
  )
