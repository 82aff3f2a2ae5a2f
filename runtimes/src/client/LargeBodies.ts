/** Sends large bodies to the published service: its bundle has the thread that reads them as a file of its own. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { Check } from "../../../tools/src/acceptance/Report.ts"

const MESSAGE = '{"role":"user","content":"Go on"}'

/** Hundreds of thousands of values, as after a long session with tools. */
const CALL = `{"model":"m","messages":[${`${MESSAGE},`.repeat(130_000)}${MESSAGE}]}`

/** More values than a call of the API may have. */
const PROMPT = `{"prompt":[${"{},".repeat(1_000_000)}{}]}`

const ANSWER = JSON.stringify({ choices: [{ message: { role: "assistant", content: "At last" } }] })

/** An endpoint that refuses the first call of each, and answers the others with what it got. */
export const listen = async () => {
  const bodies: Array<string> = []
  const server = createServer((request, response) => {
    const pieces: Array<Buffer> = []
    request.on("data", (piece: Buffer) => pieces.push(piece))
    request.on("end", () => {
      bodies.push(Buffer.concat(pieces).toString())
      const isFirst = bodies.length === 1
      response.writeHead(isFirst ? 529 : 200, { "content-type": "application/json" })
      response.end(isFirst ? '{"error":{"type":"overloaded_error","message":"Overloaded"}}' : ANSWER)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { baseUrl, bodies, close: () => server.close() }
}

/** Calls the service at `url`, whose provider `large` is such an endpoint. */
export const run = async (url: string, token: string, bodies: ReadonlyArray<string>, check: Check): Promise<void> => {
  const post = (path: string, body: string) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` }
    return fetch(`${url}${path}`, { method: "POST", headers, body })
  }
  const held = await post("/to/large/chat/completions", CALL)
  const answer = await held.text()
  const isWhole = bodies.length === 2 && bodies.every((body) => body === CALL)
  check(
    "the published service holds a call of 400,000 values, and sends it again as it came",
    answer.trim() === ANSWER && isWhole ? undefined : `${held.status} ${answer.slice(0, 500)}, ${bodies.length} calls`
  )
  const refused = await post("/v1/turns", PROMPT)
  const problem = await refused.text()
  check(
    "the published service refuses a prompt of a million values, and names the limit",
    refused.status === 400 && problem.includes("more than 10000 values") ? undefined : `${refused.status} ${problem}`
  )
}
