/**
 * Sends one kind of request again and again, as a process of its own: `RequestFlood.ts PORT KIND`; prints when it begins.
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
  const attack = (): void => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`)
    socket.addEventListener("open", () => socket.send(body))
    socket.addEventListener("close", attack)
  }
  attack()
} else {
  for (let n = 0; ; n++) {
    const sent = kind === "names" ? body.replace("NUMBER", String(n)) : bytes
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body: sent })
    await response.text()
  }
}
