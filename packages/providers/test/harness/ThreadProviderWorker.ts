/**
 * A provider on its own thread, which sends while the client's thread is blocked.
 *
 * It responds to each request with the first content. When `flags[0]` is set to `SEND` it sends the rest, and then sets the flag to
 * `SENT`.
 */
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { parentPort, workerData } from "node:worker_threads"
import { SEND, SENT, type WorkerInput } from "./ThreadProvider.ts"

const { first, flags, rest }: WorkerInput = workerData

const server = Http.createServer((request, response) => {
  request.resume()
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.write(first)
  const order = Atomics.waitAsync(flags, 0, 0)
  void Promise.resolve(order.value).then(() => {
    if (Atomics.load(flags, 0) !== SEND) return
    response.end(rest, () => {
      Atomics.store(flags, 0, SENT)
      Atomics.notify(flags, 0)
    })
  })
})
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin.
  parentPort?.postMessage(port)
})
