/** A provider whose every request is answered by the benchmark, when it likes. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** It answers nothing by itself. */
export interface Endpoint {
  readonly port: number
  /** Waits for the next request, which is answered by the caller. */
  readonly next: () => Promise<ServerResponse>
  readonly close: () => void
}

/** Listens on a free port. */
export const start = async (): Promise<Endpoint> => {
  const requests: Array<ServerResponse> = []
  let arrived = Promise.withResolvers<void>()
  const server = createServer((incoming: IncomingMessage, response) => {
    incoming.resume().on("end", () => {
      requests.push(response)
      arrived.resolve()
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  return {
    port: (server.address() as AddressInfo).port, // it listens on a port
    next: async () => {
      for (;;) {
        const response = requests.shift()
        if (response !== undefined) return response
        arrived = Promise.withResolvers()
        await arrived.promise
      }
    },
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}

/** A frame of a stream: what has come, or the end. */
export const frame = (content: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta: content, finish_reason }] })}\n\n`

/** Answers 429. */
export const refuse = (response: ServerResponse): void => {
  response.writeHead(429, { "content-type": "application/json" })
  response.end(JSON.stringify({ error: { type: "rate_limit_error", message: "Slow down" } }))
}

/** Ends a stream as a model does that is done. */
export const finish = (response: ServerResponse): void => {
  response.end(`${frame({}, "stop")}data: [DONE]\n\n`)
}
