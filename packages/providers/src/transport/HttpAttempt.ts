/**
 * One attempt over HTTP: what comes of its response is decoded as it comes, without a fiber, and passed to the listener read by read.
 *
 * A response that is no stream, and errors in the stream, are emitted as errors; a connection failure fails the attempt (D3). The end of
 * the body before the model has stopped is a failure (C6). A connection failure after that is ignored.
 *
 * HttpAttempt.A2. `finish` waits for the end of the body, for a limited time, to receive late usage and to reuse the connection. A connection whose
 *     body has not ended is closed with the attempt.
 * HttpAttempt.A3. What one read of the socket has brought is decoded together, and its events are emitted as one array. Between two slices of
 *     `SLICE_BYTES` the event loop goes on: a response that always has more, even of keep-alives alone, does not hold up other turns. Bytes that
 *     the listener does not take are held up to `MOST_HELD`; then the socket is paused.
 */
import type { Provider } from "@holdfast/kernel"
import { type ProviderCall, ResponseLimit, TextBuffer } from "@holdfast/kernel/host"
import { Classification } from "@holdfast/policy"
import { defined, Failure } from "@holdfast/wire"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Decoder from "../decoding/Decoder.ts"
import type { Machine } from "../decoding/Protocol.ts"
import type * as Http from "../http/Http.ts"
import * as PlainBody from "../http/PlainBody.ts"
import type * as KeyRedaction from "../KeyRedaction.ts"
import * as Deadline from "../limits/Deadline.ts"
import * as AttemptFailures from "./AttemptFailures.ts"

/** The longest wait for usage after the model has stopped, in milliseconds. Providers send it with the next frame. */
export const AWAIT_USAGE_MS = 1000

/** The longest wait for the body's end after the terminal frame, in milliseconds. Beyond this a new connection is cheaper. */
const AWAIT_END_MS = 250

/** Bytes that Node reads from a socket at once: some milliseconds of work at most. */
export const SLICE_BYTES = 65_536

/** The most bytes of a response that are held. */
const MOST_HELD = 256 * 1024

/** One attempt: its request, its protocol, and its limits. */
export interface Options {
  /** Sends the request. */
  readonly post: (listener: Http.Listener) => Http.Call
  readonly machine: () => Machine
  /** Removes secrets from the endpoint's texts. */
  readonly conceal: KeyRedaction.Conceal
  /** The limit of the response, in characters (C11). */
  readonly most: number
}

/** Makes one attempt. */
export const begin = (
  { post, ...options }: Options,
  world: ProviderCall.World,
  listener: ProviderCall.Listener
): ProviderCall.Running => {
  const attempt = new Attempt(options, world, listener)
  attempt.call = post(attempt)
  return attempt
}

// --- internal

/** How a body is read. */
interface Body {
  readonly take: (reads: ReadonlyArray<Uint8Array>) => void
  /** There is nothing to read now. */
  readonly wait?: () => void
  /** The body has ended; with a failure, its connection has. Is called again while the attempt goes on. */
  readonly end: (failure: Failure.ProviderFailure | undefined) => void
}

class Attempt implements Http.Listener, ProviderCall.Running {
  call: Http.Call | undefined = undefined
  private readonly options: Omit<Options, "post">
  private readonly failures: AttemptFailures.FailureContext
  private readonly world: ProviderCall.World
  private readonly listener: ProviderCall.Listener
  private response: Http.Head = { status: 0, headers: {} }
  private body: Body | undefined = undefined
  /** What has come and is not read. */
  private reads: Array<Uint8Array> = []
  private held = 0
  private isPaused = false
  /** Bytes that may be read before the event loop goes on (HttpAttempt.A3). */
  private room = SLICE_BYTES
  /** How the connection ended; absent: it has not. */
  private ended: { readonly cut?: { readonly cause: unknown } } | undefined = undefined
  private scheduled: Promise<void> | undefined = undefined
  private isReading = false
  /** The listener takes events. */
  private isWanted = true
  /** The end of the attempt, once its last events are out. */
  private last: ProviderCall.End | undefined = undefined
  private isOver = false
  private stopWaiting: (() => void) | undefined = undefined
  private resting: (() => void) | undefined = undefined

  constructor(options: Omit<Options, "post">, world: ProviderCall.World, listener: ProviderCall.Listener) {
    this.options = options
    this.failures = { conceal: options.conceal, now: world.now }
    this.world = world
    this.listener = listener
  }

  readonly head = (response: Http.Head): void => {
    this.response = response
    this.body = response.status >= 200 && response.status < 300 ? this.beginning : this.refusal()
    this.schedule()
  }

  readonly data = (read: Uint8Array): boolean => {
    this.reads.push(read)
    this.held += read.length
    this.isPaused = this.held > MOST_HELD
    this.schedule()
    return !this.isPaused
  }

  readonly end = (): void => this.hasEnded({})

  readonly broken = (cause: unknown): void => this.hasEnded({ cut: { cause } })

  readonly more = (): void => {
    this.isWanted = true
    this.read()
  }

  readonly cancel = (): void => {
    this.isOver = true
    this.close()
  }

  /** A body whose time is over may go on: what is left to read has an end once its connection is closed. */
  private hasEnded(how: NonNullable<typeof this.ended>): void {
    this.ended ??= how
    this.call?.close()
    this.schedule()
  }

  /** One read of the socket brings many chunks. */
  private schedule(): void {
    this.scheduled ??= settled.then(this.read)
  }

  private readonly read = (): void => {
    this.scheduled = undefined
    if (this.isReading) return
    this.isReading = true
    try {
      while (this.isWanted && !this.isOver && this.step());
    } catch (defect) {
      if (this.isOver) throw defect
      this.conclude(Exit.die(defect)) // of the listener, or a bug: there is no fiber here that could fail
    }
    this.isReading = false
  }

  /** Reads on; returns whether there may be more to read now. */
  private step(): boolean {
    const { body, ended, last } = this
    if (last !== undefined) this.conclude(last)
    else if (this.room === 0) this.rest()
    else if (this.reads.length > 0) {
      body?.take(this.taken())
      return true
    } else if (ended === undefined) body?.wait?.()
    else {
      const failure = ended.cut && AttemptFailures.ofBroken(this.failures, ended.cut.cause)
      if (body === undefined) this.over([], failure ?? incomplete)
      else body.end(failure)
      return true
    }
    return false
  }

  /** What has come, up to the end of the slice. */
  private taken(): ReadonlyArray<Uint8Array> {
    const reads: Array<Uint8Array> = []
    for (let next = this.reads.shift(); next !== undefined; next = this.room === 0 ? undefined : this.reads.shift()) {
      const read = next.length > this.room ? next.subarray(0, this.room) : next
      if (read !== next) this.reads.unshift(next.subarray(this.room))
      this.room -= read.length
      this.held -= read.length
      reads.push(read)
    }
    if (this.isPaused && this.reads.length === 0) {
      this.isPaused = false
      this.call?.resume()
    }
    return reads
  }

  private rest(): void {
    this.resting ??= this.world.run(Effect.yieldNow, () => {
      this.resting = undefined
      this.room = SLICE_BYTES
      this.read()
    })
  }

  private emit(events: ReadonlyArray<Provider.ProviderEvent>): void {
    if (!Arr.isReadonlyArrayNonEmpty(events)) return
    this.isWanted = false
    if (this.listener.events(events)) this.isWanted = true
  }

  /** Ends the attempt behind its last events. */
  private over(events: ReadonlyArray<Provider.ProviderEvent>, failure?: Failure.ProviderFailure): void {
    this.last = failure === undefined ? Exit.void : Exit.fail(failure)
    this.close()
    this.emit(events)
  }

  private conclude(end: ProviderCall.End): void {
    this.isOver = true
    this.close()
    this.listener.end(end)
  }

  /** An unfinished connection is closed, with the timers. */
  private close(): void {
    this.call?.close()
    this.stopWaiting?.()
  }

  /** After some time the body counts as ended. No timer is needed for a body that has. */
  private waitAtMost(ms: number): void {
    if (this.ended === undefined) this.stopWaiting = Deadline.after(this.world, ms, this.end)
  }

  /** Checks that a stream begins: a proxy's page and a JSON error may have a 200 and any media type (C3). */
  private readonly beginning: Body = {
    take: (reads) => {
      const kind = PlainBody.kindOf(reads)
      if (kind === "blank") return
      this.body = kind === "page" ? this.refusal() : kind === "json" ? this.document() : this.stream()
      this.body.take(reads)
    },
    end: (failure) => this.over([], failure ?? incomplete)
  }

  /** The endpoint has responded, and not with a stream. A connection failure ends the text. */
  private refusal(): Body {
    const decoder = new TextDecoder()
    let text = ""
    const end = (): void => this.refused(text + decoder.decode())
    let isWaiting = false
    return {
      wait: () => {
        if (!isWaiting) this.waitAtMost(PlainBody.MAX_WAIT_MS)
        isWaiting = true
      },
      take: (reads) => {
        for (const read of reads) text += decoder.decode(read, { stream: true })
        if (text.length >= PlainBody.MAX_BYTES) end()
      },
      end
    }
  }

  private refused(text: string): void {
    this.over([AttemptFailures.ofResponse(this.failures, this.response, text.slice(0, PlainBody.MAX_BYTES))])
  }

  /**
   * A server that ignores `stream: true` sends one document; an error may arrive this way, too (C3). Some servers send blanks to keep a connection
   * alive, which are no progress.
   */
  private document(): Body {
    const text = new TextDecoder()
    const buffer = new TextBuffer.TextBuffer()
    const { most } = this.options
    return {
      take: (reads) => {
        for (const read of reads) buffer.append(text.decode(read, { stream: true }))
        if (PlainBody.kindOf(reads) !== "blank") this.listener.progress()
        if (buffer.length <= Decoder.mostOfFrame(most)) return
        this.over([{ type: "error", failure: ResponseLimit.exceeded(most) }])
      },
      end: (failure) => {
        if (failure !== undefined) return this.over([], failure)
        const document = buffer.text() + text.decode()
        const { decoder, take } = this.decoding()
        if (!decoder.whole(document)) return this.refused(document)
        if (decoder.standing() !== "failed") decoder.finish()
        this.over(take())
      }
    }
  }

  private stream(): Body {
    const { decoder, take } = this.decoding()
    let grown = 0
    let isDraining = false
    let isWhole = false
    /** The model has stopped, or its endpoint has failed. */
    const finish = (): void => {
      if (decoder.standing() !== "failed") decoder.finish()
      this.over(take())
    }
    /** Emits the pending events. */
    const pass = (): void => {
      const standing = decoder.standing()
      if (standing === "failed") return finish()
      const events = take()
      if (events.length === 0 && decoder.held() > grown) {
        grown = decoder.held()
        this.listener.progress()
      }
      isDraining = standing !== "open"
      if (isDraining) this.waitAtMost(standing === "finished" ? AWAIT_END_MS : AWAIT_USAGE_MS)
      this.emit(events)
    }
    return {
      take: (reads) => {
        decoder.feed(reads)
        if (!isDraining) pass()
        else if (decoder.standing() === "failed") finish()
      },
      end: (failure) => {
        const isNew = failure === undefined && !isWhole
        isWhole = true
        if (isNew) decoder.end() // its last frame may lack its blank line
        if (isDraining) finish()
        else if (isNew) pass()
        else this.over(decoder.cut(), failure ?? incomplete) // A12
      }
    }
  }

  /** A decoder of the response, and its events with errors that have no secrets. Both the classifier and the machine make failures. */
  private decoding(): { readonly decoder: Decoder.Decoder; readonly take: () => Array<Provider.ProviderEvent> } {
    const { failures } = this
    const { headers } = this.response
    /** The text of an error frame. */
    let frame = ""
    const classify = (data: string, event: string | undefined) => {
      const { failure, text } = AttemptFailures.classified(failures, data, (data) =>
        Classification.ofStreamError({ data, ...defined({ event }), headers, now: failures.now() })
      )
      frame = text
      return failure
    }
    const decoder = Decoder.make(this.options.machine(), classify, this.options.most)
    const redacted = (event: Provider.ProviderEvent): Provider.ProviderEvent =>
      event.type === "error" ? AttemptFailures.ofEvent(failures, event, frame) : event
    return {
      decoder,
      take: () => {
        const events = decoder.take()
        return decoder.standing() === "failed" ? events.map(redacted) : events
      }
    }
  }
}

/** Callbacks on it are microtasks, without the asynchronous context that `queueMicrotask` creates for each. */
const settled = Promise.resolve()

/** A response that ended before its model had stopped. */
const incomplete = new Failure.ProviderFailure({ failure: Classification.incomplete() })
