/**
 * The bare limit: node:http in, one request to the provider, its SSE taken apart, NDJSON out. No turns, no retries, no disk.
 * Run as a process of its own with the provider's port; prints its port.
 */
import { Agent, createServer, request } from "node:http"

const provider = Number(process.argv[2])
const agent = new Agent({ keepAlive: true, maxSockets: Infinity })

const server = createServer((incoming, outgoing) => {
  const body: Array<Buffer> = []
  incoming.on("data", (chunk: Buffer) => body.push(chunk))
  incoming.on("end", () => {
    const { prompt } = JSON.parse(Buffer.concat(body).toString())
    const upstream = request(
      { port: provider, host: "127.0.0.1", path: "/v1/chat/completions", method: "POST", agent },
      (response) => {
        outgoing.writeHead(200, { "content-type": "application/x-ndjson" })
        response.setEncoding("utf8")
        let rest = ""
        response.on("data", (chunk: string) => {
          const lines = (rest + chunk).split("\n")
          rest = lines.pop() ?? ""
          let out = ""
          for (const line of lines) {
            if (!line.startsWith("data: ") || line === "data: [DONE]") continue
            const delta = JSON.parse(line.slice(6)).choices[0]?.delta?.content
            if (typeof delta === "string")
              out += `${JSON.stringify({ type: "text-delta", conversationId: "c1", turnId: "t1", delta })}\n`
          }
          if (out !== "") outgoing.write(out)
        })
        response.on("end", () => outgoing.end(`${JSON.stringify({ type: "turn-end", status: "completed" })}\n`))
      }
    )
    upstream.end(JSON.stringify({ stream: true, messages: [{ role: "user", content: prompt }] }))
  })
})
// Other servers are measured between two rounds. With a short limit a connection could close just when it is used again.
server.keepAliveTimeout = 120_000
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : address)
})
