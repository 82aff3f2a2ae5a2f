/** Runs a tool server on a socket (MCP over HTTP); each tool answers "done". */
import { Effect, Schema } from "effect"
import { type IncomingMessage, type ServerResponse, createServer } from "node:http"
import { text } from "node:stream/consumers"

/** Serves until the scope closes; returns its address. */
export const start = Effect.fnUntraced(function* (tools: ReadonlyArray<string>) {
  const server = createServer((request, response) => void answer(tools, request, response))
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => (server.closeAllConnections(), server.close()))
  )
  const address = server.address()
  if (typeof address !== "object" || address === null) return yield* Effect.die("bound to a path")
  return `http://127.0.0.1:${address.port}/mcp`
})

// --- internal

const Call = Schema.Struct({ id: Schema.optionalKey(Schema.Int), method: Schema.String })
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Call))

const answer = async (
  tools: ReadonlyArray<string>,
  request: IncomingMessage,
  response: ServerResponse
): Promise<void> => {
  // It has no stream of notifications, and no sessions to end.
  if (request.method !== "POST") return void response.writeHead(405).end()
  const body = await text(request).catch(() => undefined)
  // The caller left before it had sent everything.
  if (body === undefined) return
  const { id, method } = decode(body)
  if (id === undefined) return void response.writeHead(202).end()
  response.writeHead(200, { "content-type": "application/json" })
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result: resultOf(tools, method) }))
}

const resultOf = (tools: ReadonlyArray<string>, method: string) => {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "scripted", version: "1" }
      }
    case "tools/list":
      return { tools: tools.map((name) => ({ name, inputSchema: { type: "object" } })) }
    case "tools/call":
      return { content: [{ type: "text", text: "done" }] }
    default:
      return {}
  }
}
