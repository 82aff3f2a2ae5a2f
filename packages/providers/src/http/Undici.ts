/**
 * Implements the HTTP port on Node, directly over undici's dispatcher.
 *
 * It creates no stream, signal or promise for a request.
 *
 * Undici.U1. Turns that wake together do not queue for each other: over HTTP/1.1 there are as many connections as requests; over
 *     HTTP/2, used where an endpoint offers it, there are enough connections to run all requests at once.
 * Undici.U2. One read of the socket becomes one array of a pull, however many chunks it contains: a waiting reader is woken after the
 *     read, not during it. An error's few bytes have mostly arrived before its status is read.
 * Undici.U3. The buffer for a slow reader is bounded: beyond `MOST_HELD` bytes the socket is paused.
 */
import { Push } from "@holdfast/kernel/host"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { Dispatcher } from "undici"
import * as PlainBody from "./PlainBody.ts"
import * as Deadline from "../limits/Deadline.ts"
import { type HttpResponse, type Begin, Broken, type BytePull, type ResponseListener, Http } from "./Http.ts"
import * as ContentCoding from "./ContentCoding.ts"
import * as Proxy from "./Proxy.ts"

/** The most buffered bytes of a response: several reads of a socket (64 KiB each). */
const MOST_HELD = 256 * 1024

/** Implements the port over a given dispatcher: a proxy's, or one with other limits. */
export const make = (dispatcher: Pick<Dispatcher, "dispatch">): Http["Service"] => ({
  endpoint: (url, headers) => {
    const sent = { ...headers, "content-type": "application/json" }
    let address: Address | undefined
    const send = (body: string, reader: Reader): Broken | undefined => {
      try {
        address ??= addressOf(url)
        dispatcher.dispatch(
          { ...address, method: "POST", headers: sent, body, headersTimeout: 0, bodyTimeout: 0 }, // Http.H4
          reader
        )
        return undefined
      } catch (cause) {
        return new Broken({ cause })
      }
    }
    const post = (body: string, scope: Scope.Scope): Effect.Effect<HttpResponse, Broken> =>
      Effect.suspend(() => {
        const reader = new Reader()
        const broken = send(body, reader)
        if (broken !== undefined) return Effect.fail(broken)
        return Effect.andThen(Scope.addFinalizer(scope, Effect.sync(reader.close)), reader.answer)
      })
    const begin: Begin = (body, world, listener) => {
      const reader = new Reader()
      reader.listen(world, listener)
      const broken = send(body, reader)
      if (broken !== undefined) listener.broken(broken)
      return reader.close
    }
    return Object.assign(post, { begin })
  }
})

/** The port over its own connections, which close with the scope; through proxies, where given. */
export const layerVia = (proxies: Proxy.Proxies | undefined): Layer.Layer<Http> =>
  Layer.effect(Http, Effect.map(Proxy.dispatcher(proxies), make))

/** The port over its own connections, without a proxy. */
export const layer: Layer.Layer<Http> = layerVia(undefined)

/**
 * `fetch` over connections of its own, which close with the scope; through proxies, where given. For libraries that make their requests by `fetch`.
 *
 * **Details**
 *
 * It has no limits of time (Http.H4), and follows no redirect: one call is one request (Http.H1).
 */
export const fetchVia = (proxies: Proxy.Proxies | undefined): Effect.Effect<typeof fetch, never, Scope.Scope> =>
  Effect.gen(function* () {
    const agent = yield* Proxy.dispatcher(proxies)
    const { fetch: plain } = yield* Effect.promise(() => import("undici"))
    const dispatcher = agent.compose(
      (dispatch) => (options, handler) => dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler)
    )
    // The runtime's `fetch` is an older undici: the types differ, and the values do not.
    const send = plain as unknown as (input: unknown, init: object) => Promise<Response>
    return (input, init) => send(input, { redirect: "manual", ...init, dispatcher })
  })

// --- internal

type Address = Pick<Dispatcher.DispatchOptions, "origin" | "path">

const addressOf = (url: string): Address => {
  const { origin, pathname, search } = new URL(url)
  return { origin, path: pathname + search }
}

/** Buffers a response from undici's callbacks until it is pulled. */
class Reader implements Dispatcher.DispatchHandler {
  private head: Pick<HttpResponse, "status" | "headers"> | undefined = undefined
  private reads: Array<Uint8Array> = []
  private held = 0
  private isEnded = false
  private isClosed = false
  private fault: Broken | undefined = undefined
  /** The connection's failure, which counts once the bytes before it are decoded. */
  private cut: Broken | undefined = undefined
  private controller: Dispatcher.DispatchController | undefined = undefined
  private decoding: ContentCoding.Decoding | undefined = undefined
  private wake: (() => void) | undefined = undefined
  private consumer: Consumer | undefined = undefined
  private isPushing = false
  private defect: Effect.Effect<never> | undefined = undefined
  /** Reports progress to a listener that has no fiber. */
  private report: (() => void) | undefined = undefined

  /** Reports the response to a listener without a fiber. A stream is still read by a fiber. */
  listen(world: Parameters<Begin>[1], { answered, broken, refused }: ResponseListener): void {
    let stop: (() => void) | undefined
    const settle = (): void => {
      this.report = undefined
      stop?.()
    }
    const give = ({ headers, status }: Pick<HttpResponse, "status" | "headers">): void => {
      settle()
      if (!this.isEnded) this.close()
      refused({ status, headers }, PlainBody.decoded(this.reads))
    }
    this.report = () => {
      const { fault, head } = this
      if (this.isClosed) return settle()
      if (head === undefined) {
        if (fault === undefined) return
        settle()
        return broken(fault)
      }
      if (head.status >= 200 && head.status < 300) {
        settle()
        return answered(this.answerOf(head), this.close)
      }
      if (this.isEnded || fault !== undefined || this.held >= PlainBody.MAX_BYTES) return give(head)
      stop ??= Deadline.after(world, PlainBody.MAX_WAIT_MS, () => give(head))
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.isClosed) controller.abort(new Error(OVER))
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | Array<string> | undefined>>
  ): void {
    if (status < 200) return // 100 and 103 precede the response
    controller.rawHeaders = null // undici would keep a buffer of each until the end of the response
    const head = { status, headers: flat(headers) }
    const coding = ContentCoding.of(head.headers["content-encoding"], status)
    if (typeof coding === "object") {
      this.over(new Broken({ cause: coding }))
      return controller.abort(new Error(OVER))
    }
    this.decoding = coding?.({
      data: (read) => this.add(read),
      end: () => this.over(this.cut),
      broken: (cause) => this.over(new Broken({ cause })),
      drained: () => controller.resume()
    })
    this.head = head
    this.notify()
  }

  onResponseData(controller: Dispatcher.DispatchController, read: Uint8Array): void {
    if (this.decoding === undefined) this.add(read)
    else if (!this.decoding.write(read)) controller.pause()
  }

  onResponseEnd(): void {
    if (this.decoding === undefined) this.over(undefined)
    else this.decoding.end()
  }

  onResponseError(_controller: unknown, cause: Error): void {
    this.cut = new Broken({ cause })
    if (this.decoding === undefined) this.over(this.cut)
    else this.decoding.end()
  }

  private add(read: Uint8Array): void {
    this.reads.push(read)
    this.held += read.length
    if (this.held > MOST_HELD) (this.decoding ?? this.controller)?.pause()
    this.notify()
  }

  /** The body has ended, or has failed. What comes first counts. */
  private over(fault: Broken | undefined): void {
    if (this.isOver) return
    this.fault = fault
    this.isEnded = fault === undefined
    this.notify()
  }

  /** Http.H3 */
  readonly close = (): void => {
    this.isClosed = true
    this.decoding?.close()
    this.report?.()
    if (!this.isEnded && this.fault === undefined) this.controller?.abort(new Error(OVER))
  }

  // A waiter that was interrupted, or is woken twice, ignores the wake-up.
  private readonly changed = Effect.callback<void>((resume) => {
    this.wake = () => resume(Effect.void)
  })

  readonly answer: Effect.Effect<HttpResponse, Broken> = Effect.suspend(() => {
    if (this.head !== undefined) return Effect.succeed(this.answerOf(this.head))
    return this.fault === undefined ? Effect.andThen(this.changed, this.answer) : Effect.fail(this.fault)
  })

  private answerOf(head: Pick<HttpResponse, "status" | "headers">): HttpResponse {
    return { ...head, bytes: this.bytes, isWhole: () => this.isEnded }
  }

  private readonly bytes: BytePull = Push.attach(
    Effect.suspend(() => {
      if (this.defect !== undefined) return this.defect
      const reads = this.taken()
      if (reads !== undefined) return Effect.succeed(reads)
      if (this.fault !== undefined) return Effect.fail(this.fault)
      return this.isEnded ? Cause.done() : Effect.andThen(this.changed, this.bytes)
    }),
    () => (this.reads.length === 0 && !this.isOver ? this.push : undefined)
  )

  private readonly push: Push.Push<Reads> = (take, over) => {
    const consumer = { take, over }
    this.consumer = consumer
    return () => {
      if (this.consumer === consumer) this.consumer = undefined
    }
  }

  /** Pushes the bytes of one read of the socket. */
  private readonly pushed = (): void => {
    const { consumer } = this
    this.isPushing = false
    if (consumer === undefined) return
    const reads = this.taken()
    const goesOn = reads === undefined || this.isTaken(consumer, reads)
    if (this.consumer !== consumer || (goesOn && !this.isOver)) return
    this.consumer = undefined
    if (goesOn) consumer.over()
  }

  /** An exception of the consumer ends the response: there is no fiber here that could fail. */
  private isTaken(consumer: Consumer, reads: Reads): boolean {
    try {
      return consumer.take(reads)
    } catch (defect) {
      this.defect = Effect.die(defect)
      return true
    }
  }

  private get isOver(): boolean {
    return this.isEnded || this.fault !== undefined || this.defect !== undefined
  }

  /** Takes the bytes that arrived since the last time. */
  private taken(): Reads | undefined {
    const { reads } = this
    if (!Arr.isArrayNonEmpty(reads)) return undefined
    this.reads = []
    this.held = 0
    if (this.decoding !== undefined) this.decoding.resume()
    else if (this.controller?.paused === true) this.controller.resume()
    return reads
  }

  /** Undici.U2 */
  private notify(): void {
    const { report, wake } = this
    if (report !== undefined) return report()
    if (this.consumer !== undefined) {
      if (this.isPushing) return
      this.isPushing = true
      return void settled.then(this.pushed)
    }
    if (wake === undefined) return
    this.wake = undefined
    void settled.then(wake)
  }
}

type Reads = Arr.NonEmptyReadonlyArray<Uint8Array>

/** Takes pushed reads (`Push`). */
interface Consumer {
  readonly take: (reads: Reads) => boolean
  readonly over: () => void
}

/** Callbacks on it are microtasks, without the asynchronous context that `queueMicrotask` creates for each. */
const settled = Promise.resolve()

/** The abort reason. No code reads it, because the attempt has ended. */
const OVER = "The attempt is over."

const flat = (headers: Readonly<Record<string, string | Array<string> | undefined>>): Record<string, string> => {
  const record: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) record[name] = typeof value === "string" ? value : value.join(", ")
  }
  return record
}
