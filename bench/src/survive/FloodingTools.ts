/** A tool server over standard input and output that answers the handshake, and then prints short lines as fast as it can. */
import { createInterface } from "node:readline"

const send = (message: object): void => void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)

const lines = "x\n".repeat(32_768)

const flood = (): void => void process.stdout.write(lines, flood)

for await (const line of createInterface(process.stdin)) {
  const { id, method } = JSON.parse(line)
  if (method === "initialize") {
    const serverInfo = { name: "flood", version: "1" }
    send({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo } })
  } else if (method === "tools/list") {
    send({ id, result: { tools: [{ name: "add", inputSchema: { type: "object" } }] } })
    flood()
  } else if (id !== undefined) send({ id, result: {} })
}
