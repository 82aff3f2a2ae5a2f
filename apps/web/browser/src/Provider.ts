/** A provider on a socket that does what a test says: each request to a model takes the next response of its queue. */
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

/** One response. */
export type Reply =
  | {
      readonly status: number
      readonly message: string
      readonly type?: string
      readonly headers?: Record<string, string>
    }
  /** Pieces of text, one every so many milliseconds. */
  | { readonly paced: ReadonlyArray<string>; readonly everyMs: number }
  /** Pieces of text; a promise holds the stream until it resolves. `then` is how the stream ends. */
  | { readonly pieces: ReadonlyArray<string | Promise<unknown>>; readonly then?: "cut" }
  | { readonly tool: { readonly name: string; readonly input: object } }

/** The provider. */
export interface Provider {
  readonly url: string
  /** The next responses of a model. A model without one answers "Here is the answer." */
  readonly plan: (model: string, ...replies: ReadonlyArray<Reply>) => void
  /** The response of a model wherever its queue is empty. */
  readonly answer: (model: string, reply: () => Reply) => void
  /** The body of the last request for a model; empty before the first. */
  readonly received: (model: string) => string
  readonly close: () => void
}

export const start = async (): Promise<Provider> => {
  const plans = new Map<string, Array<Reply>>()
  const answers = new Map<string, () => Reply>()
  const bodies = new Map<string, string>()
  const server = createServer((request, response) => {
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => {
      const body = Buffer.concat(parts).toString()
      const { model } = JSON.parse(body) as { readonly model: string }
      bodies.set(model, body)
      void respond(
        response,
        plans.get(model)?.shift() ?? answers.get(model)?.() ?? { pieces: ["Here is ", "the answer."] }
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    plan: (model, ...replies) => plans.set(model, [...replies]),
    answer: (model, reply) => answers.set(model, reply),
    received: (model) => bodies.get(model) ?? "",
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}

// --- internal

const respond = async (response: ServerResponse, reply: Reply): Promise<void> => {
  if ("status" in reply) {
    response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers })
    response.end(JSON.stringify({ error: { message: reply.message, type: reply.type ?? "overloaded_error" } }))
    return
  }
  const send = (delta: object, finish: string | null = null): void =>
    void response.write(
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
    )
  response.writeHead(200, { "content-type": "text/event-stream" })
  if ("tool" in reply) {
    const { input, name } = reply.tool
    send({
      tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name, arguments: JSON.stringify(input) } }]
    })
    send({}, "tool_calls")
  } else if ("paced" in reply) {
    const beganAt = performance.now()
    for (const [index, piece] of reply.paced.entries()) {
      // By the clock from the beginning: timers alone would be late each time.
      await sleep(Math.max(0, beganAt + index * reply.everyMs - performance.now()))
      send({ content: piece })
    }
    send({}, "stop")
  } else {
    for (const piece of reply.pieces) {
      if (typeof piece === "string") send({ content: piece })
      else await piece
    }
    if (reply.then === "cut") {
      // What was written leaves first.
      setImmediate(() => response.destroy())
      return
    }
    send({}, "stop")
  }
  response.end("data: [DONE]\n\n")
}
