/** A WebSocket client for tests. */
import { WebSocket } from "@effect/platform-node/NodeWS"
import { SocketMessages } from "@holdfast/wire/rpc"
import { Deferred, Effect, Exit, Queue } from "effect"

export interface Closed {
  readonly code: number
  readonly reason: string
}

/** A message, as loosely as tests look at it. */
export interface Message {
  readonly type: string
  readonly [key: string]: unknown
}

export interface Options {
  readonly protocols?: ReadonlyArray<string>
  readonly headers?: Record<string, string>
  readonly path?: string
}

/** Opens a WebSocket. Fails with the status of a refusal. */
export const open = Effect.fnUntraced(function* (
  port: number,
  { headers, path = SocketMessages.PATH, protocols }: Options = {}
) {
  const received = yield* Queue.unbounded<Message>()
  const closed = Deferred.makeUnsafe<Closed>()
  const socket = yield* Effect.acquireRelease(
    Effect.callback<WebSocket, { readonly status: number; readonly text: string }>((resume) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, [...(protocols ?? [SocketMessages.SUBPROTOCOL])], {
        headers: headers ?? {}
      })
      socket.on("message", (data) => Queue.offerUnsafe(received, JSON.parse(data.toString())))
      socket.on("close", (code, reason) =>
        Deferred.doneUnsafe(closed, Exit.succeed({ code, reason: reason.toString() }))
      )
      socket.on("error", () => {})
      socket.on("open", () => resume(Effect.succeed(socket)))
      socket.on("unexpected-response", (_request, response) => {
        let text = ""
        response.on("data", (chunk) => (text += chunk))
        response.on("end", () => resume(Effect.fail({ status: response.statusCode ?? 0, text })))
      })
    }),
    (socket) => Effect.sync(() => socket.terminate())
  )
  /** The next message that is no keep-alive. */
  const next: Effect.Effect<Message> = Effect.flatMap(Queue.take(received), (message) =>
    message.type === "keep-alive" ? next : Effect.succeed(message)
  )
  const untilType = (type: string): Effect.Effect<Message> =>
    Effect.flatMap(Queue.take(received), (message) =>
      message.type === type ? Effect.succeed(message) : untilType(type)
    )
  let asked = 0
  return {
    socket,
    next,
    untilType,
    closed: Deferred.await(closed),
    send: (message: object | string) =>
      Effect.sync(() => socket.send(typeof message === "string" ? message : JSON.stringify(message))),
    /** Sends a command, and returns its response, which has to be the next message. */
    ask: (command: Message) =>
      Effect.gen(function* () {
        const id = ++asked
        socket.send(JSON.stringify({ id, ...command }))
        const { id: answered, type, ...response } = yield* next
        if (type !== "response" || answered !== (command["id"] ?? id)) {
          return yield* Effect.die(new Error(`not the response: ${type} ${String(answered)}`))
        }
        return response
      })
  }
})
