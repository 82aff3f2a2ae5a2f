/**
 * Records the longest stretch of the event loop in a process that is started with `--import` of this file.
 *
 * A stretch is the CPU that the main thread uses between two timers of a millisecond: the time by which it can hold up every stream. It does
 * not count the time that other processes have the core. An answer on the port of `HOLDFAST_BENCH_RECORDER` has it, and begins anew.
 */
import { createServer } from "node:http"
import { isMainThread } from "node:worker_threads"

if (isMainThread) {
  const used = () => {
    const { system, user } = process.threadCpuUsage()
    return (system + user) / 1_000
  }
  let before = used()
  let longest = 0
  setInterval(() => {
    const now = used()
    longest = Math.max(longest, now - before)
    before = now
  }, 1).unref()
  createServer((_, response) => {
    response.end(JSON.stringify({ longest }))
    longest = 0
  })
    .listen(Number(process.env["HOLDFAST_BENCH_RECORDER"]), "127.0.0.1")
    .unref()
}
