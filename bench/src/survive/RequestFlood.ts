/**
 * Sends one kind of request again and again, as a process of its own: `RequestFlood.ts PORT KIND`; prints when it begins, and for each that is
 * refused its status and the time from its first byte to that: `400 12.3`, in milliseconds.
 *
 * Each is of an allowed size, and costs the service much more than its client.
 */
import { request } from "node:http"
import { connect } from "node:net"

const [port = "", kind = ""] = process.argv.slice(2)

const CALL = "/to/hostile/chat/completions"

/** Empty objects, of some megabytes together. */
const objects = (megabytes: number): string => `[${"{},".repeat((megabytes * 1024 * 1024) / 3)}{}]`

const call = (messages: string): string => `{"model":"m","stream":true,"messages":${messages}}`

const KINDS: Readonly<Record<string, () => readonly [path: string, body: string]>> = {
  bodies: () => ["/v1/chat", `{"id":"${"c".repeat(29 * 1024 * 1024)}"`],
  prompt: () => ["/v1/turns", `{"prompt":${objects(30)}}`],
  chat: () => ["/v1/chat", `{"id":"c","messages":${objects(30)}}`],
  socket: () => ["/v1/ws", `{"type":"prompt","conversationId":"c","prompt":${objects(30)}}`],
  large: () => [CALL, call(objects(48))],
  long: () => [CALL, call(`[${'{"role":"user","content":"Go on"},'.repeat(130_000)}{}]`)],
  deep: () => [CALL, call(`${"[".repeat(5_000)}${"]".repeat(5_000)}`)],
  names: () => [CALL, call("[]").replace('"m"', `"NUMBER${"m".repeat(20_000)}"`)],
  answers: () => ["/v1/dry-run", JSON.stringify({ outages: ["ok+tokens-10000"], turns: 1_000 })],
  turns: () => [
    "/v1/dry-run",
    JSON.stringify({
      outages: ["529 for 100h"],
      turns: 1_000,
      hours: 168,
      retry: { schedule: { type: "steps", delays: ["1 millis"] } }
    })
  ]
}

/** Clients of the attacks that hold what they take. */
const AT_ONCE = 400
const AGAIN_MS = 1_000

const [path, body] = KINDS[kind]?.() ?? ["", ""]
/** The head of a text in one frame, with a mask that changes nothing (RFC 6455, section 5.2). */
const frameHead = (length: number): Buffer => {
  const head = Buffer.alloc(14)
  head.set([0x81, 0xff])
  head.writeBigUInt64BE(BigInt(length), 2)
  return head
}
/** The code of a close, 1009. */
const TOO_LARGE = Buffer.from([0x03, 0xf1])

const refused = (status: number, from: number): void => console.log(`${status} ${performance.now() - from}`)

/** One request; ends with its answer. Without one it counts as refused with 0. */
const send = (sent: Buffer): Promise<void> =>
  new Promise((resolve) => {
    const from = performance.now()
    const all = { ...headers, "content-length": sent.length }
    let status = 0
    request({ host: "127.0.0.1", port, path, method: "POST", headers: all, agent: false })
      .on("error", () => {})
      .on("response", (response) => {
        status = response.statusCode ?? 0
        if (status >= 400) refused(status, from)
        response.on("close", resolve).resume()
      })
      .on("close", () => {
        if (status === 0) refused(status, from)
        resolve()
      })
      .end(sent)
  })

const headers = { "content-type": "application/json", authorization: "Bearer sk-of-the-attacker" }
const bytes = Buffer.from(body)
console.log("there")
if (kind === "descriptors") {
  const hold = (): void => {
    connect(Number(port), "127.0.0.1")
      .on("error", () => {})
      .on("close", () => setTimeout(hold, AGAIN_MS))
      .write("GET /v1/turns HTTP/1.1\r\n")
  }
  for (let n = 0; n < AT_ONCE; n++) hold()
} else if (kind === "bodies") {
  const hold = (): void => {
    const all = { ...headers, "content-length": bytes.length + 1 }
    request({ host: "127.0.0.1", port, path, method: "POST", headers: all, agent: false })
      .on("error", () => {})
      .on("response", (response) => response.resume())
      .on("close", () => setTimeout(hold, AGAIN_MS))
      .write(bytes)
  }
  for (let n = 0; n < AT_ONCE; n++) hold()
} else if (kind === "socket") {
  const message = Buffer.concat([frameHead(bytes.length), bytes])
  const attack = (): void => {
    const socket = connect(Number(port), "127.0.0.1")
    let from = 0
    let status = 0
    socket.on("data", (data) => {
      if (from === 0) {
        from = performance.now()
        socket.write(message)
      } else if (status === 0 && data.includes(TOO_LARGE)) {
        status = 400
        refused(status, from)
        socket.destroy()
      }
    })
    socket.on("error", () => {})
    socket.on("close", () => {
      if (status === 0) refused(status, from)
      attack()
    })
    socket.write(
      `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
        "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
  }
  attack()
} else {
  for (let n = 0; ; n++) await send(kind === "names" ? Buffer.from(body.replace("NUMBER", String(n))) : bytes)
}
