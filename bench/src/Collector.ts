/** An OpenTelemetry collector that keeps nothing of what it is posted. Run as a process of its own; prints its port. */
import { createServer } from "node:http"

const server = createServer((incoming, outgoing) => {
  incoming.resume()
  incoming.on("end", () => outgoing.writeHead(200, { "content-type": "application/x-protobuf" }).end())
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : address)
})
