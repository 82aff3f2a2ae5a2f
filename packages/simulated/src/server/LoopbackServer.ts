/**
 * An HTTP/1.1 server whose user controls every byte; base of both servers.
 *
 * It uses Node's own server, because frameworks prevent the cases that matter here: responses that never arrive, frames that stop in the
 * middle, connections that are reset.
 *
 * Every request is counted and recorded before it gets a response (C9). A request's fiber ends when its client disconnects, and all
 * fibers end with the scope; no socket is left then. A write has left this process when its effect is done, so a cut after it loses no
 * written data.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Schema from "effect/Schema"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

/** The server could not listen: its port is in use, or this user may not use it. */
export class ListenError extends Schema.TaggedError<ListenError>()("ListenError", {
  message: Schema.String
}) {}

/** The address to listen on. */
export interface ListenOptions {
  /** Default: `127.0.0.1`. The server requires no key, so expose it elsewhere only deliberately. */
  readonly host?: string
  /** Default: a free port. */
  readonly port?: number
}

/** A request as received. */
export interface RecordedRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** In order of arrival, in lower case; for tests that must not read values, which may be secrets. */
  readonly headerNames: ReadonlyArray<string>
  readonly body: string
}

/** One request, and the control of its connection. */
export type Exchange = ReturnType<typeof exchange>

/** A server that listens. */
export type RunningServer = Effect.Success<ReturnType<typeof listen>>

/** The most requests that are kept; later ones replace older ones, and all are counted. */
const MAX_RECORDED = 10_000

/** The most characters of bodies that are kept, so a long-running server does not fill its process's memory. */
const MAX_RECORDED_LENGTH = 64 * 1024 * 1024

/** Listens until the scope closes. The client receives only the bytes that `handle` sends. */
export const listen = (options: ListenOptions, handle: (exchange: Exchange) => Effect.Effect<void>) =>
  Effect.gen(function* () {
    const log = new RequestLog()
    const fork = yield* FiberSet.makeRuntime<never, void, never>()
    const server = createServer((incoming, response) => {
      void readBody(incoming).then((body) => {
        if (body === undefined) return void incoming.destroy()
        const request = recorded(incoming, body)
        log.add(request)
        const fiber = fork(handle(exchange(request, response)))
        response.once("close", () => void Effect.runFork(Fiber.interrupt(fiber)))
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
      /** `http://127.0.0.1:PORT`, without a slash at its end. */
      url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
      port,
      /** The last requests, oldest first: `MAX_RECORDED` of them, or fewer where they are large. */
      requests: (): ReadonlyArray<RecordedRequest> => log.requests,
      /** The number of requests since the start, of one path or of all. */
      count: (path?: string) => log.count(path),
      /** Waits until this many requests have arrived since the start. */
      received: (count: number) => log.received(count)
    }
  })

// --- internal

/** The longest request body, above any real one; a longer request's connection is closed. */
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
    // The client disconnected before the end of its request.
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

const exchange = (request: RecordedRequest, response: ServerResponse) => ({
  request,
  /** Sends status and headers. */
  head: (status: number, headers: Readonly<Record<string, string>>) =>
    Effect.sync(() => {
      response.writeHead(status, headers)
      response.flushHeaders()
    }),
  /** Sends a piece of the body. */
  write: (text: string) =>
    text === "" ? Effect.void : Effect.callback<void>((resume) => void response.write(text, () => resume(Effect.void))),
  /** Completes the response. */
  end: Effect.callback<void>((resume) => void response.end(() => resume(Effect.void))),
  /** Closes the connection; a response that had begun is incomplete. */
  cut: Effect.sync(() => void response.socket?.destroy()),
  /** Closes it with a TCP reset. */
  reset: Effect.sync(() => void response.socket?.resetAndDestroy())
})

/** Records requests, and wakes those that wait for a number of them. */
class RequestLog {
  readonly requests: Array<RecordedRequest> = []
  private length = 0
  private total = 0
  private readonly counts = new Map<string, number>()
  /** Completed by the next request. */
  private next = Deferred.makeUnsafe<void>()

  add(request: RecordedRequest): void {
    this.requests.push(request)
    this.length += request.body.length
    while (this.requests.length > MAX_RECORDED || this.length > MAX_RECORDED_LENGTH) {
      this.length -= this.requests.shift()?.body.length ?? 0
    }
    this.total += 1
    this.counts.set(request.path, (this.counts.get(request.path) ?? 0) + 1)
    Deferred.doneUnsafe(this.next, Effect.void)
    this.next = Deferred.makeUnsafe()
  }

  count(path?: string): number {
    return path === undefined ? this.total : (this.counts.get(path) ?? 0)
  }

  received(count: number): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.total >= count ? Effect.void : Effect.andThen(Deferred.await(this.next), this.received(count))
    )
  }
}
