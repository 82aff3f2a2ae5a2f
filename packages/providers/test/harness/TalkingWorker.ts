/**
 * A provider on its own thread, which sends while the client's thread is blocked.
 *
 * It responds to each request with the first content. When `flags[0]` is set to `SPEAK` it sends the rest, and then sets the flag to
 * `SPOKEN`.
 */
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { parentPort, workerData } from "node:worker_threads"
import { SPEAK, SPOKEN, type Talk } from "./Talking.ts"

const { first, flags, rest }: Talk = workerData

const server = Http.createServer((request, response) => {
  request.resume()
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.write(first)
  const speak = Atomics.waitAsync(flags, 0, 0)
  void Promise.resolve(speak.value).then(() => {
    if (Atomics.load(flags, 0) !== SPEAK) return
    response.end(rest, () => {
      Atomics.store(flags, 0, SPOKEN)
      Atomics.notify(flags, 0)
    })
  })
})
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin.
  parentPort?.postMessage(port)
})
