/** Clients that open a stream and never read it, as a process of its own: `SlowReaders.ts PORT PATH COUNT`; prints when all are there. */
import { connect } from "node:net"

const [port = "", path = "", count = ""] = process.argv.slice(2)

const open = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(port), "127.0.0.1", () => {
      socket.pause()
      socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\r\n`, () => resolve())
    })
    // The service is free to cut them off.
    socket.on("error", reject)
  })

for (let n = 0; n < Number(count); n += 50) await Promise.all(Array.from({ length: 50 }, open))
console.log("there")
setInterval(() => {}, 60_000)
