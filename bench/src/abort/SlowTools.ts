/** A tool server over standard input and output whose one tool never answers. */
import { createInterface } from "node:readline"

const send = (message: object): void => void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)

for await (const line of createInterface(process.stdin)) {
  const { id, method } = JSON.parse(line)
  if (method === "initialize") {
    const serverInfo = { name: "slow", version: "1" }
    send({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo } })
  } else if (method === "tools/list") {
    send({ id, result: { tools: [{ name: "wait", inputSchema: { type: "object" } }] } })
  } else if (id !== undefined && method !== "tools/call") send({ id, result: {} })
}
