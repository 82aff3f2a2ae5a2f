/** A provider on a socket that follows the scenario's script, one entry a request. It counts what reaches it, and serves the page of a browser. */
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** The answer to one request. */
interface Answer {
  readonly status?: number
  readonly tool?: { readonly id: string; readonly name: string; readonly input: unknown }
  readonly text?: ReadonlyArray<string>
  readonly isCut?: boolean
}

const SCRIPT: ReadonlyArray<Answer> = [
  { status: 503 },
  { isCut: true },
  { tool: { id: "call-1", name: "weather", input: { city: "Bergen" } } },
  { isCut: true },
  { text: ["It ", "rains."] }
]

/** The lines of the scenario's own format. */
const asLines = ({ isCut = false, text = [], tool }: Answer): ReadonlyArray<string> => {
  const parts = [{ start: true }, ...(tool === undefined ? [] : [{ tool }]), ...text.map((text) => ({ text }))]
  const finish = { finish: tool === undefined ? "stop" : "tool-calls" }
  return (isCut ? parts : [...parts, finish]).map((part) => `${JSON.stringify(part)}\n`)
}

/** The frames of a chat completion. */
const asChunks = ({ isCut = false, text = [], tool }: Answer): ReadonlyArray<string> => {
  const { id, input, name } = tool ?? {}
  const call = { index: 0, id, type: "function", function: { name, arguments: JSON.stringify(input) } }
  const deltas = [
    { role: "assistant", content: "" },
    ...(tool === undefined ? [] : [{ tool_calls: [call] }]),
    ...text.map((content) => ({ content }))
  ]
  const choices = deltas.map((delta) => ({ index: 0, delta }))
  const last = { index: 0, delta: {}, finish_reason: tool === undefined ? "stop" : "tool_calls" }
  const frames = (isCut ? choices : [...choices, last]).map((choice) => JSON.stringify({ choices: [choice] }))
  return (isCut ? frames : [...frames, "[DONE]"]).map((frame) => `data: ${frame}\n\n`)
}

export interface Provider {
  /** With a slash at its end. */
  readonly url: string
  /** The calls of the model so far. */
  readonly requests: () => number
  /** The calls of `/cut`, of which each after the first is cut off before its response. */
  readonly cuts: () => number
  /** What a page prints. */
  onPrinted: (line: string) => void
  readonly close: () => void
}

/** Listens on a free port. `page` is the script of `/page`. */
export const listen = async (page = ""): Promise<Provider> => {
  let [requests, cuts] = [0, 0]
  const call = (path: string, response: ServerResponse): void => {
    const answer = SCRIPT[requests++] ?? { status: 500 }
    const { isCut = false, status = 200 } = answer
    const parts = status !== 200 ? [] : path === "/lines" ? asLines(answer) : asChunks(answer)
    response.writeHead(status, { "content-type": path === "/lines" ? "application/x-ndjson" : "text/event-stream" })
    if (isCut) response.write(parts.join(""), () => response.destroy())
    else response.end(parts.join(""))
  }
  const server = createServer((request, response) => {
    const path = request.url?.split("?")[0] ?? ""
    const body: Array<Buffer> = []
    request.on("data", (data: Buffer) => void body.push(data))
    request.on("end", () => {
      if (path === "/page")
        response.setHeader("content-type", "text/html").end('<script type="module" src="/page.js"></script>')
      else if (path === "/page.js") response.setHeader("content-type", "text/javascript").end(page)
      else if (path === "/printed") {
        provider.onPrinted(Buffer.concat(body).toString())
        response.end()
      } else if (path === "/cut") {
        if (cuts++ === 0) response.end("ok")
        else response.destroy()
      } else if (request.method === "POST") call(path, response)
      else response.writeHead(404).end()
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const provider: Provider = {
    url: `http://127.0.0.1:${port}/`,
    requests: () => requests,
    cuts: () => cuts,
    onPrinted: () => {},
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
  return provider
}
