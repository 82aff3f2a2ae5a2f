/**
 * Measures how the time of a piece of work grows with its input.
 *
 * The result is a ratio of the CPU times of this thread, which other processes do not add to, however busy the machine is.
 */

/** How many times longer `work` takes on `factor` times the input. Linear work gives about `factor`, quadratic work its square. */
export const growth = (work: (size: number) => void, size: number, factor: number): number => {
  work(size) // compiling and caching at the first use are no growth
  const many = () => {
    for (let n = 0; n < factor; n++) work(size)
  }
  let [small, large] = [0, 0]
  while (small + large < ENOUGH_MICROS) {
    small += microsOf(many)
    large += microsOf(() => work(size * factor))
  }
  return (factor * large) / small
}

// --- internal

/** Some systems count CPU time in steps of 4 ms or more: this is several times as much. */
const ENOUGH_MICROS = 160_000

const microsOf = (run: () => void): number => {
  const before = process.threadCpuUsage()
  run()
  const { system, user } = process.threadCpuUsage(before)
  return user + system
}
