/**
 * Preloaded into the service: measures the CPU that its main thread takes from one sample to the next.
 *
 * A sample waits for the callback that runs, so a long callback is one of them, and what other programs of the machine take is in none. Waits for the
 * disk are in none either: `LongRow` has the longest. On SIGUSR2 the longest moment is written to `HOLDFAST_BENCH_MOMENTS`, in milliseconds, and forgotten.
 */
import { writeFileSync } from "node:fs"

/** The least that a moment is worth. */
const INTERVAL_MS = 2

const cpuMs = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1_000
}

let before = cpuMs()
let longest = 0
setInterval(() => {
  const now = cpuMs()
  longest = Math.max(longest, now - before)
  before = now
}, INTERVAL_MS).unref()

process.on("SIGUSR2", () => {
  writeFileSync(process.env["HOLDFAST_BENCH_MOMENTS"] ?? "", String(longest))
  longest = 0
})
