/** A provider that brings each turn into a state and leaves it there, and sees when the turn lets its socket go. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** What the provider does with every request. */
export type Behaviour = "says nothing" | "streams" | "is overloaded" | "asks for a tool"

/** A request that is open, by the prompt of its turn. */
interface Exchange {
  /** It is where the benchmark wants it. */
  readonly reached: Promise<void>
  /** Its socket is free. */
  readonly closed: Promise<void>
}

export interface Endpoint {
  readonly port: number
  behaviour: Behaviour
  /** Waits for the request of a turn. */
  readonly exchange: (prompt: string) => Promise<Exchange>
  readonly close: () => void
}

export const start = async (): Promise<Endpoint> => {
  const exchanges = new Map<string, PromiseWithResolvers<Exchange>>()
  const slot = (prompt: string) => {
    const known = exchanges.get(prompt) ?? Promise.withResolvers<Exchange>()
    exchanges.set(prompt, known)
    return known
  }
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const prompt = /turn-\d+/.exec(body)?.[0] ?? ""
      const closed = new Promise<void>((resolve) => void response.on("close", resolve))
      const reached = act(endpoint.behaviour, response)
      slot(prompt).resolve({ reached, closed })
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const endpoint: Endpoint = {
    port: (server.address() as AddressInfo).port, // it listens on a port
    behaviour: "says nothing",
    exchange: (prompt) => slot(prompt).promise,
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  }
  return endpoint
}

// --- internal

const act = (behaviour: Behaviour, response: ServerResponse): Promise<void> => {
  switch (behaviour) {
    case "says nothing":
      return Promise.resolve()
    case "streams":
      response.writeHead(200, { "content-type": "text/event-stream" })
      return new Promise((resolve) => void response.write(frame({ content: "Some words " }), () => resolve()))
    case "is overloaded":
      response.writeHead(529, { "content-type": "application/json" })
      response.end(JSON.stringify({ error: { type: "overloaded_error", message: "Overloaded" } }))
      return Promise.resolve()
    case "asks for a tool": {
      response.writeHead(200, { "content-type": "text/event-stream" })
      const call = { index: 0, id: "call", type: "function", function: { name: "wait", arguments: "{}" } }
      response.end(`${frame({ tool_calls: [call] })}${frame({}, "tool_calls")}data: [DONE]\n\n`)
      return Promise.resolve()
    }
    default:
      return behaviour satisfies never
  }
}

const frame = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let body = ""
  for await (const part of request.setEncoding("utf8")) body += part
  return body
}
