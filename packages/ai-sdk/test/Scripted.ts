/** A server of OpenAI's chat completions on a real socket that follows a script, one entry a request. */
import { createServer } from "node:http"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { text as read } from "node:stream/consumers"

/** `cut` ends the connection in the middle; `ended` ends the response there, without its terminal event; `stall` sends nothing until the client closes; a number is a status; texts are an answer. */
export type Answer =
  | number
  | { readonly cut: ReadonlyArray<string> }
  | { readonly ended: ReadonlyArray<string> }
  | "stall"
  | { readonly text: ReadonlyArray<string> }
  | { readonly error: string; readonly behind?: string }
  | { readonly tool: { readonly name: string; readonly input: unknown } }

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 0, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

export interface Scripted {
  readonly url: string
  /** Bodies of the requests, in order. */
  readonly requests: ReadonlyArray<{ readonly messages: ReadonlyArray<unknown>; readonly stream?: boolean }>
  readonly close: () => Promise<void>
}

export const listen = async (script: ReadonlyArray<Answer>): Promise<Scripted> => {
  const requests: Array<Scripted["requests"][number]> = []
  const server = createServer(async (request, response): Promise<void> => {
    const body = await read(request).catch(() => undefined)
    // The client left before it had sent everything.
    if (body === undefined) return
    requests.push(JSON.parse(body))
    const answer = script[requests.length - 1] ?? 500
    if (typeof answer === "number") {
      response.writeHead(answer, { "content-type": "application/json" })
      return void response.end(
        JSON.stringify({
          error: { message: `It answered ${answer}`, type: answer === 401 ? "authentication_error" : "server_error" }
        })
      )
    }
    if (answer === "stall") return
    if (requests.at(-1)?.stream !== true) {
      const content = "text" in answer ? answer.text.join("") : ""
      const message = { role: "assistant", content }
      response.writeHead(200, { "content-type": "application/json" })
      return void response.end(
        JSON.stringify({
          id: "c",
          created: 0,
          model: "m",
          choices: [{ index: 0, message, finish_reason: "stop" }],
          usage: {}
        })
      )
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(chunk({ role: "assistant", content: "" }))
    if ("error" in answer) {
      if (answer.behind !== undefined) response.write(chunk({ content: answer.behind }))
      response.write(`data: ${JSON.stringify({ error: { message: answer.error, type: "server_error" } })}\n\n`)
      return void response.end()
    }
    if ("tool" in answer) {
      const call = { name: answer.tool.name, arguments: JSON.stringify(answer.tool.input) }
      response.write(chunk({ tool_calls: [{ index: 0, id: "call-1", type: "function", function: call }] }))
      return void response.end(`${chunk({}, "tool_calls")}data: [DONE]\n\n`)
    }
    const texts = "cut" in answer ? answer.cut : "ended" in answer ? answer.ended : answer.text
    for (const text of texts) response.write(chunk({ content: text }))
    // Once the texts have left this process.
    if ("cut" in answer) return void response.write(": cut\n\n", () => response.destroy())
    if ("ended" in answer) return void response.end()
    response.end(`${chunk({}, "stop")}data: [DONE]\n\n`)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
}
