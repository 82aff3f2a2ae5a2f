/**
 * One attempt of a held call, as the kernel's port has it: the client's bytes go up, and the answer's bytes go down past the kernel.
 *
 * Attempt.R1. Before content the answer is held back (`ContentGate`): an attempt that fails has written nothing.
 * Attempt.R2. Content is reported as usage of nothing. The kernel asks for the next event when its mark is on disk, and only then a byte goes
 *     down (rule X2).
 * Attempt.R3. After content a failure is a cut for the client, and fails the attempt.
 * Attempt.R4. Interruption frees the endpoint's connection.
 *
 * A compressed answer is judged by what it decodes to (rule C13). It passes as it came, or decoded behind a head of ours, which names no coding.
 */
import type { Provider } from "@holdfast/kernel"
import { ResponseProgress } from "@holdfast/kernel/host"
import { ContentGate, Dialect, Progress } from "@holdfast/providers/dialects"
import { ContentCoding } from "@holdfast/providers/raw"
import type * as RawCall from "@holdfast/providers/raw"
import { Failure } from "@holdfast/wire"
import { Clock, Effect, Stream } from "effect"
import type { ClientAnswer, Refusal } from "./ClientAnswer.ts"
import * as Headers from "./Headers.ts"

/** What an attempt is made with. */
export interface Options {
  readonly send: RawCall.Send
  readonly request: RawCall.Request
  readonly dialect: Dialect.Dialect
  readonly call: Dialect.Call
  /** Removes secrets from the endpoint's texts. */
  readonly conceal: (text: string) => string
  readonly client: ClientAnswer
  /** Headers of ours, where the endpoint's head is written. */
  readonly own: () => RawCall.RawHeaders
  /** Receives the endpoint's answer of an attempt that failed before content. */
  readonly refused: (refusal: Refusal) => void
}

/** The events of one attempt. */
export const stream = (options: Options): ReturnType<Provider.Provider["Service"]["stream"]> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const progress = yield* ResponseProgress.ResponseProgress
      const attempt = yield* Effect.acquireRelease(
        Effect.sync(() => new Attempt(options, () => clock.currentTimeMillisUnsafe(), progress)),
        (attempt) => Effect.sync(() => attempt.close())
      )
      const failed = yield* attempt.content
      if (failed !== undefined) return Stream.make<[Provider.ProviderEvent]>({ type: "error", ...failed })
      return Stream.concat(Stream.make<[Provider.ProviderEvent]>(REACHED), passing(attempt))
    })
  )

// --- internal

/** Attempt.R2 */
const REACHED: Provider.ProviderEvent = { type: "usage", usage: {} }

const passing = (attempt: Attempt): ReturnType<typeof stream> =>
  Stream.unwrap(
    Effect.map(attempt.rest, (failed) => {
      const usage: Provider.ProviderEvent = { type: "usage", usage: attempt.usage() }
      return failed === undefined
        ? Stream.make<[Provider.ProviderEvent, Provider.ProviderEvent]>(usage, { type: "finish", finishReason: "stop" })
        : Stream.concat(
            Stream.make<[Provider.ProviderEvent]>(usage),
            Stream.fail(new Failure.ProviderFailure({ failure: failed.failure }))
          )
    })
  )

type Outcome = Dialect.Failed | undefined

class Attempt {
  private readonly options: Options
  private readonly now: () => number
  private readonly progress: () => void
  private readonly call: RawCall.Call
  private head: RawCall.Head | undefined
  private gate: ContentGate.ContentGate | undefined
  private answer: Dialect.Head | undefined
  /** Bytes that may go down, until the mark is on disk. */
  private ready: Array<Uint8Array> = []
  private isPassing = false
  /** Of a compressed answer. */
  private decoding: ContentCoding.Decoding | undefined
  /** What came of a compressed answer, until it passes. */
  private coded: Array<Uint8Array> = []
  /** What passes is what came, and not what the gate reads. */
  private isCoded = false
  /** Of a compressed answer: bytes as they came before it passed, and all that they decoded to. */
  private bytes = { coded: 0, decoded: 0 }
  private isFull = { client: false, decoder: false }
  private isWhole = false
  /** What follows the connection's end, once all that came is decoded. */
  private onEnd: (() => void) | undefined
  /** The answer has content, or has failed. */
  private first: { readonly failed: Outcome } | undefined
  private last: { readonly failed: Outcome } | undefined
  private onFirst: (() => void) | undefined
  private onLast: (() => void) | undefined

  constructor(options: Options, now: () => number, progress: () => void) {
    this.options = options
    this.now = now
    this.progress = progress
    this.call = options.send(options.request, {
      head: (head) => this.begin(head),
      data: (bytes) => (this.decoding === undefined ? this.take(bytes) : this.decode(bytes, this.decoding)),
      end: () => {
        this.isWhole = true
        this.ended(() => this.finish())
      },
      broken: (cause) => this.ended(() => this.broken(cause))
    })
  }

  /** Waits for content; returns the failure of an attempt that has none. */
  readonly content: Effect.Effect<Outcome> = Effect.callback((resume) => {
    this.onFirst = () => resume(Effect.succeed(this.first?.failed))
    if (this.first !== undefined) this.onFirst()
  })

  /** Lets the answer pass to its end; returns the failure of an answer that broke off. */
  readonly rest: Effect.Effect<Outcome> = Effect.callback((resume) => {
    const { client, own } = this.options
    this.onLast = () => {
      const failed = this.last?.failed
      if (failed === undefined) client.end()
      else client.cut()
      resume(Effect.succeed(failed))
    }
    const isAsItCame = this.head === undefined || client.begin(this.head, own())
    this.isCoded = isAsItCame && this.decoding !== undefined
    for (const bytes of this.isCoded ? this.coded : this.ready) this.write(bytes)
    this.ready = []
    this.coded = []
    this.isPassing = true
    if (this.last !== undefined) this.onLast()
    else this.proceed()
  })

  usage() {
    return this.gate?.usage() ?? {}
  }

  /** Attempt.R4. An answer that is given up in the middle breaks off. */
  close(): void {
    this.call.close()
    this.decoding?.close()
    if (this.isPassing && this.last === undefined) this.options.client.cut()
  }

  private write(bytes: Uint8Array): boolean {
    this.isFull.client = !this.options.client.write(bytes, this.onDrain)
    return !this.isFull.client
  }

  private readonly onDrain = (): void => {
    this.isFull.client = false
    this.proceed()
  }

  /** Whether more may come: not while the client is behind, and not between content and its mark. */
  private get isOpen(): boolean {
    return !this.isFull.client && (this.first === undefined || this.isPassing)
  }

  private proceed(): void {
    if (!this.isOpen) return
    this.decoding?.resume()
    if (!this.isFull.decoder) this.call.resume()
  }

  private begin(head: RawCall.Head): void {
    const { call, conceal, dialect } = this.options
    this.head = head
    const { status } = head
    const headers = Headers.record(head.headers)
    const coding = ContentCoding.of(headers["content-encoding"], status)
    if (typeof coding === "object") return this.broken(coding)
    this.answer = { status, headers, now: this.now, conceal }
    this.gate = ContentGate.make({ dialect, framing: call.framing, head: this.answer })
    this.decoding = coding?.({
      data: (bytes) => {
        this.count("decoded", bytes)
        if (!this.take(bytes)) this.decoding?.pause()
      },
      end: () => this.onEnd?.(),
      broken: (cause) => this.broken(cause),
      drained: () => {
        this.isFull.decoder = false
        this.proceed()
      }
    })
  }

  /** Takes bytes of a compressed answer. */
  private decode(bytes: Uint8Array, decoding: ContentCoding.Decoding): boolean {
    if (this.isCoded) this.write(bytes)
    else if (!this.isPassing) {
      this.coded.push(bytes)
      this.count("coded", bytes)
    }
    this.isFull.decoder = !decoding.write(bytes)
    return this.isOpen && !this.isFull.decoder
  }

  /** Few bytes can decode to very many, and very many to none. */
  private count(kind: "coded" | "decoded", { length }: Uint8Array): void {
    this.bytes[kind] += length
    if (this.bytes[kind] <= ContentGate.MOST_HELD) return
    this.decoding?.close()
    this.gate = undefined // no part of it is a refusal
    this.broken(TOO_LARGE)
  }

  /** Takes bytes that can be read. */
  private take(bytes: Uint8Array): boolean {
    const passed = this.gate?.feed(bytes) ?? []
    if (this.isPassing) {
      const { dialect } = this.options
      if (this.answer === undefined || Progress.isProgress(dialect, bytes, this.answer)) this.progress()
      if (this.isCoded) return true
      let isRead = true
      for (const each of passed) isRead = this.write(each)
      return isRead
    }
    this.ready.push(...passed)
    this.judge()
    // The answer may have begun to pass meanwhile: a fiber continues where it is resumed.
    return this.first === undefined || this.isPassing
  }

  private ended(onEnd: () => void): void {
    this.onEnd = onEnd
    if (this.decoding === undefined) onEnd()
    else this.decoding.end()
  }

  private finish(): void {
    this.ready.push(...(this.gate?.end() ?? []))
    if (this.isPassing) {
      if (!this.isCoded) for (const bytes of this.ready) this.options.client.write(bytes, () => {})
      this.ready = []
    }
    this.over()
  }

  private broken(cause: unknown): void {
    const { conceal } = this.options
    this.gate?.broken(cause)
    if (this.gate !== undefined) return this.over()
    const failed = Dialect.ofBroken(cause, { now: this.now, conceal })
    this.settle({ failed })
    this.last = { failed }
    this.onLast?.()
  }

  /** The connection is over. */
  private over(): void {
    const standing = this.gate?.standing()
    this.judge()
    this.last = { failed: standing?.kind === "failed" ? standing : undefined }
    this.onLast?.()
  }

  private judge(): void {
    const standing = this.gate?.standing()
    if (this.first !== undefined || standing === undefined || standing.kind === "held") return
    if (standing.kind !== "failed" || standing.hasPassed) return this.settle({ failed: undefined })
    const { body, failure } = standing
    if (this.head !== undefined) this.options.refused(this.refusal(this.head, this.gate?.received() ?? []))
    this.settle({ failed: body === undefined ? { failure } : { failure, body } })
  }

  /** A compressed refusal that has not come whole is passed decoded: no client could read the rest. */
  private refusal(head: RawCall.Head, body: ReadonlyArray<Uint8Array>): Refusal {
    if (this.decoding === undefined) return { head, body }
    if (this.isWhole) return { head, body: this.coded, decoded: body }
    return { head: { ...head, headers: Headers.without(head.headers, ["content-encoding"]) }, body }
  }

  private settle(first: { readonly failed: Outcome }): void {
    if (this.first !== undefined) return
    this.first = first
    this.onFirst?.()
  }
}

const TOO_LARGE = new Failure.ProviderFailure({
  failure: {
    reason: "invalid-response",
    message: `A compressed answer may have ${ContentGate.MOST_HELD} bytes at most, decoded or before its content.`,
    retryable: false
  }
})
