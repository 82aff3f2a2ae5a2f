/**
 * Records which functions a process calls, if it is started with `--import` of this file: precise coverage of V8.
 *
 * On the port of `HOLDFAST_BENCH_RECORDER`, `/begin` forgets all calls so far, and `/` answers the functions called since then as
 * `FILE:OFFSET`: all of them, and those called before the first request to a provider and before the first answer to a client.
 */
import { subscribe } from "node:diagnostics_channel"
import { createServer } from "node:http"
import { Session } from "node:inspector"
import { fileURLToPath } from "node:url"
import { isMainThread } from "node:worker_threads"

/** Channels on which undici and `node:http` report, in the same tick, that a head or an answer has been written. */
const MOMENTS = { request: "undici:client:sendHeaders", answer: "http.server.response.finish" }

if (isMainThread) {
  const session = new Session()
  session.connect()
  session.post("Profiler.enable")
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false })

  let called = new Set()
  let before = {}
  const take = () =>
    session.post("Profiler.takePreciseCoverage", (error, taken) => {
      if (error) throw error
      for (const { functions, url } of taken.result) {
        if (!url.startsWith("file:")) continue
        for (const { functionName, ranges } of functions) {
          const [{ count, startOffset }] = ranges
          // The function without a name at 0 is the module: it runs when the file is imported.
          if (count > 0 && (functionName !== "" || startOffset > 0)) called.add(`${fileURLToPath(url)}:${startOffset}`)
        }
      }
    })

  for (const [name, channel] of Object.entries(MOMENTS))
    subscribe(channel, ({ socket }) => {
      if (name in before || socket?.localPort === port) return
      take()
      before[name] = Array.from(called)
    })

  const port = Number(process.env["HOLDFAST_BENCH_RECORDER"])
  createServer((request, response) => {
    take()
    if (request.url === "/begin") [called, before] = [new Set(), {}]
    response.end(JSON.stringify({ all: Array.from(called), ...before }))
  })
    .listen(port, "127.0.0.1")
    .unref()
}
