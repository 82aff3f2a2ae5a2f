/** A provider on a socket that follows the scenario's script, one entry a request. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const LINES: ReadonlyArray<{
  readonly status?: number
  readonly lines?: ReadonlyArray<unknown>
  readonly isCut?: boolean
}> = [
  { status: 503 },
  { lines: [{ start: true }], isCut: true },
  { lines: [{ tool: { id: "call-1", name: "weather", input: { city: "Bergen" } } }, { finish: "tool-calls" }] },
  { lines: [{ start: true }], isCut: true },
  { lines: [{ text: "It " }, { text: "rains." }, { finish: "stop" }] }
]

export interface Provider {
  readonly url: string
  readonly requests: () => number
  readonly close: () => void
}

/** Listens on a free port. */
export const listen = async (): Promise<Provider> => {
  let requests = 0
  const server = createServer((request, response) => {
    request.resume()
    const { isCut = false, lines = [], status = 200 } = LINES[requests++] ?? { status: 500 }
    response.writeHead(status, { "content-type": "application/x-ndjson" })
    const body = lines.map((line) => `${JSON.stringify(line)}\n`).join("")
    if (isCut) response.write(body, () => response.destroy())
    else response.end(body)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    requests: () => requests,
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}
