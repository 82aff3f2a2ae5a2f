/** How the time of a piece of work grows with its input: a ratio of two measurements of one run, whatever the machine is busy with. */

/** How many times longer `work` takes on `factor` times the input. Linear work gives about `factor`, quadratic work its square. */
export const growth = (work: (size: number) => void, size: number, factor: number): number => {
  work(size) // what is compiled or cached on first use is no growth
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
