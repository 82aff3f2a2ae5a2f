/**
 * Measures how the time of a piece of work grows with its input.
 *
 * The result is a ratio of two measurements of one run, so it does not depend on the load of the machine.
 */

/** How many times longer `work` takes on `factor` times the input. Linear work gives about `factor`, quadratic work its square. */
export const growth = (work: (size: number) => void, size: number, factor: number): number => {
  work(size) // compiling and caching at the first use are no growth
  return bestMs(() => work(size * factor)) / bestMs(() => work(size))
}

// --- internal

/** The best of several runs: other processes only ever add to a time. */
const RUNS = 5

const bestMs = (run: () => void): number =>
  Math.min(
    ...Array.from({ length: RUNS }, () => {
      const from = performance.now()
      run()
      return performance.now() - from
    })
  )
