/** Measures contestants in alternation, so that a busy moment of the machine falls on all of them. */

/** Rounds of a measurement that takes seconds, unless `--rounds` gives another number. */
export const count = (usual: number): number => Number(process.env["HOLDFAST_BENCH_ROUNDS"] ?? usual)

/**
 * The samples of each contestant, by its name.
 *
 * **Details**
 *
 * Every second round goes backwards: a contestant that always followed the same other one would gain or lose by it.
 */
export const alternate = async <Name extends string, A>(
  contestants: Readonly<Record<Name, (() => Promise<A>) | undefined>>,
  rounds: number,
  warmUp = 0
): Promise<Record<Name, ReadonlyArray<A>>> => {
  const present: Array<readonly [Name, () => Promise<A>]> = []
  const samples = {} as Record<Name, Array<A>> // one entry a name, made below
  for (const name of Object.keys(contestants) as Array<Name>) {
    // the keys of a literal
    samples[name] = []
    const measure = contestants[name]
    if (measure !== undefined) present.push([name, measure])
  }
  for (let round = 0; round < warmUp + rounds; round++) {
    for (const [name, measure] of round % 2 === 0 ? present : present.toReversed()) {
      const sample = await measure()
      if (round >= warmUp) samples[name].push(sample)
    }
  }
  return samples
}
