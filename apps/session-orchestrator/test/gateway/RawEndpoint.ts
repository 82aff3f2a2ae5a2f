/** An endpoint that records the calls as bytes, and answers each as a test has scripted. */
import { Effect } from "effect"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"

/** A call that has arrived. */
export interface Received {
  readonly method: string
  readonly url: string
  readonly rawHeaders: ReadonlyArray<string>
  readonly request: Http.IncomingMessage
  readonly response: Http.ServerResponse
  /** The whole body. */
  readonly body: Promise<Buffer>
  /** Its connection is closed. */
  readonly closed: Promise<void>
}

/** Writes a body as fast as it is taken. */
export const flood = (response: Http.ServerResponse, bytes: Buffer) => {
  let written = 0
  const more = (): void => {
    while (written < bytes.length) {
      const block = bytes.subarray(written, written + 64 * 1024)
      written += block.length
      if (!response.write(block)) return void response.once("drain", more)
    }
    response.end()
  }
  more()
  return {
    /** How much was taken, once no more is. */
    held: Effect.promise(async () => {
      for (let last = -1; last !== written;) {
        last = written
        for (let i = 0; i < 500; i++) await new Promise(setImmediate)
      }
      return written
    })
  }
}

/** Serves on a free port until the scope closes. */
export const start = (answer: (received: Received, n: number) => void) =>
  Effect.gen(function* () {
    const calls: Array<Received> = []
    const server = Http.createServer((request, response) => {
      const received: Received = {
        method: request.method ?? "",
        url: request.url ?? "",
        rawHeaders: request.rawHeaders,
        request,
        response,
        body: new Promise((resolve) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk))
          request.on("end", () => resolve(Buffer.concat(chunks)))
        }),
        closed: new Promise((resolve) => void response.on("close", () => resolve()))
      }
      calls.push(received)
      answer(received, calls.length)
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
    const { port } = server.address() as AddressInfo
    return { calls, port, url: `http://127.0.0.1:${port}` }
  })
