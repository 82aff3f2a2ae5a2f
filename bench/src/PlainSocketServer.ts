/** The bare limit of sockets: `ws` on node:http. What one client sends, all clients get. Run as a process of its own; prints its port. */
import { type WebSocket, WebSocketServer } from "@effect/platform-node/NodeWS"
import { createServer } from "node:http"

const server = createServer()
const sockets = new WebSocketServer({ server, maxPayload: 1 << 26 })
const all = new Set<WebSocket>()

/** `{"deltas":N,"every":MS}` sends so many deltas, and any other text is sent on as it is. */
sockets.on("connection", (socket) => {
  all.add(socket)
  socket.on("close", () => all.delete(socket))
  socket.on("message", (data) => {
    const text = data.toString()
    const { deltas = 0, every = 0 } = text.startsWith('{"deltas"') ? JSON.parse(text) : {}
    if (deltas === 0) for (const each of all) each.send(text)
    else send(deltas, every)
  })
})

const id = "01a20652-d2ba-7000-bb58-ea3d1a0beb4e"

const send = (left: number, every: number): void => {
  const ids = { conversationId: id, turnId: id }
  const event = left === 0 ? { type: "turn-end", ...ids } : { type: "text-delta", ...ids, delta: ` word${left % 20}` }
  const text = JSON.stringify(event)
  for (const each of all) each.send(text)
  if (left > 0) setTimeout(send, every, left - 1, every)
}

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : "")
})
