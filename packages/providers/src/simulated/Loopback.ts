/**
 * A real HTTP/1.1 server on a socket whose every byte is its user's: what simulated and scripted servers stand on.
 *
 * Node's own server, because what matters here is what frameworks protect from: answers that never come, frames that
 * stop in the middle, connections that are reset.
 *
 * H1. Every request is counted and recorded before it is answered (C9).
 * H2. A request's fiber ends when its client has gone, and all of them when the scope closes; then no socket is left.
 * H3. A write has left this process when its effect is done, so a cut after it loses nothing that was written.
 */
import { Deferred, Effect, Fiber, FiberSet, Schema, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

/** The server could not listen: its port is taken, or is not for this user. */
export class ListenError extends Schema.TaggedError<ListenError>()("ListenError", {
  message: Schema.String
}) {}

export interface ListenOptions {
  /** Another than loopback's only for those who know why: nothing asks for a key here. */
  readonly host?: string
  /** Otherwise one that is free. */
  readonly port?: number
}

/** A request as it came. */
export interface RecordedRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** In the order in which they came, in lower case: what to look at where values may be secrets. */
  readonly headerNames: ReadonlyArray<string>
  readonly body: string
}

/** One request and the hands on its connection. */
export interface Exchange {
  readonly request: RecordedRequest
  /** Sends status and headers. */
  readonly head: (status: number, headers: Readonly<Record<string, string>>) => Effect.Effect<void>
  /** Sends a piece of the body. */
  readonly write: (text: string) => Effect.Effect<void>
  /** Completes the response. */
  readonly end: Effect.Effect<void>
  /** Closes the connection; of a response that had begun, the end is missing. */
  readonly cut: Effect.Effect<void>
  /** Closes it with a TCP reset. */
  readonly reset: Effect.Effect<void>
}

export interface Listening {
  /** `http://127.0.0.1:PORT`, without a slash at its end. */
  readonly url: string
  readonly port: number
  /** The last requests, oldest first: `MAX_RECORDED` of them, or fewer where they are large. */
  readonly requests: () => ReadonlyArray<RecordedRequest>
  /** Requests of a path since the start, or all of them. */
  readonly count: (path?: string) => number
  /** Waits until this many requests have come since the start. */
  readonly received: (count: number) => Effect.Effect<void>
}

/** Requests that are kept whole; counting goes on beyond. */
export const MAX_RECORDED = 10_000

/** Characters of bodies that are kept, so that a server left running does not fill its process's memory. */
const MAX_RECORDED_LENGTH = 64 * 1024 * 1024

/** Listens until the scope closes. What `handle` does with an exchange is all that its client gets. */
export const listen = (
  options: ListenOptions,
  handle: (exchange: Exchange) => Effect.Effect<void>
): Effect.Effect<Listening, ListenError, Scope.Scope> =>
  Effect.gen(function* () {
    const log = new RequestLog()
    const fork = yield* FiberSet.makeRuntime<never, void, never>()
    const server = createServer((incoming, response) => {
      void readBody(incoming).then((body) => {
        if (body === undefined) {
          incoming.destroy()
          return
        }
        const request = recorded(incoming, body)
        log.add(request) // H1
        const fiber = fork(handle(exchange(request, response)))
        response.once("close", () => void Effect.runFork(Fiber.interrupt(fiber))) // H2
      })
    })
    yield* Effect.acquireRelease(
      Effect.callback<void, ListenError>((resume) => {
        server.once("error", (error) => resume(Effect.fail(new ListenError({ message: error.message }))))
        server.listen(options.port ?? 0, options.host ?? "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const host = options.host ?? "127.0.0.1"
    return {
      url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
      port,
      requests: () => log.requests,
      count: (path) => log.count(path),
      received: (count) => log.received(count)
    }
  })

// --- internal

/** Longer bodies are no request of a test or a demo; their connection is closed. */
const MAX_BODY_BYTES = 64 * 1024 * 1024

const readBody = async (incoming: IncomingMessage): Promise<string | undefined> => {
  const chunks: Array<Buffer> = []
  let length = 0
  try {
    for await (const chunk of incoming) {
      const bytes = Buffer.from(chunk)
      length += bytes.length
      if (length > MAX_BODY_BYTES) return undefined
      chunks.push(bytes)
    }
  } catch {
    // The client went away before it had said what it wanted.
    return undefined
  }
  return Buffer.concat(chunks).toString("utf8")
}

const recorded = (incoming: IncomingMessage, body: string): RecordedRequest => ({
  method: incoming.method ?? "GET",
  path: (incoming.url ?? "/").split("?", 1)[0] ?? "/",
  headers: Object.fromEntries(
    Object.entries(incoming.headersDistinct).map(([name, values]) => [name, (values ?? []).join(", ")])
  ),
  headerNames: incoming.rawHeaders.filter((_, n) => n % 2 === 0).map((name) => name.toLowerCase()),
  body
})

const exchange = (request: RecordedRequest, response: ServerResponse): Exchange => ({
  request,
  head: (status, headers) =>
    Effect.sync(() => {
      response.writeHead(status, headers)
      response.flushHeaders()
    }),
  write: (text) =>
    text === ""
      ? Effect.void
      : Effect.callback<void>((resume) => {
          response.write(text, () => resume(Effect.void)) // H3
        }),
  end: Effect.callback<void>((resume) => {
    response.end(() => resume(Effect.void))
  }),
  cut: Effect.sync(() => {
    response.socket?.destroy()
  }),
  reset: Effect.sync(() => {
    response.socket?.resetAndDestroy()
  })
})

/** What came, and who waits for more. */
class RequestLog {
  readonly requests: Array<RecordedRequest> = []
  private length = 0
  private total = 0
  private readonly counts = new Map<string, number>()
  private readonly waiting = new Set<{ readonly count: number; readonly done: Deferred.Deferred<void> }>()

  add(request: RecordedRequest): void {
    this.requests.push(request)
    this.length += request.body.length
    while (this.requests.length > MAX_RECORDED || this.length > MAX_RECORDED_LENGTH) {
      this.length -= this.requests.shift()?.body.length ?? 0
    }
    this.total += 1
    this.counts.set(request.path, (this.counts.get(request.path) ?? 0) + 1)
    for (const waiter of this.waiting) {
      if (waiter.count <= this.total) {
        this.waiting.delete(waiter)
        Deferred.doneUnsafe(waiter.done, Effect.void)
      }
    }
  }

  count(path?: string): number {
    return path === undefined ? this.total : (this.counts.get(path) ?? 0)
  }

  received(count: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.total >= count) return Effect.void
      const waiter = { count, done: Deferred.makeUnsafe<void>() }
      this.waiting.add(waiter)
      return Effect.ensuring(
        Deferred.await(waiter.done),
        Effect.sync(() => this.waiting.delete(waiter))
      )
    })
  }
}
