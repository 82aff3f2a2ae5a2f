/**
 * One attempt of a held call, as the kernel's port has it: the client's bytes go up, and the answer's bytes go down past the kernel.
 *
 * Relay.R1. Before content the answer is held back (`ContentGate`): an attempt that fails has written nothing. After content a failure is
 *     a cut for the client, and fails the attempt.
 * Relay.R2. Content is reported as the usage that is known by then. The kernel asks for more when its mark is on disk, and only then a byte
 *     goes down (rule X2).
 *
 * A compressed answer is judged by what it decodes to (rule C13). It passes as it came, or decoded behind a head of ours, which names no
 * coding.
 */
import type { Provider } from "@holdfast/kernel"
import type { ProviderCall } from "@holdfast/kernel/host"
import { ContentGate, Dialect } from "@holdfast/providers/dialects"
import type * as RawCall from "@holdfast/providers/raw"
import { ContentCoding } from "@holdfast/providers/raw"
import { Failure } from "@holdfast/wire"
import { Exit } from "effect"
import type { ClientAnswer, Refusal } from "./ClientAnswer.ts"
import * as Headers from "./Headers.ts"

/** What an attempt is made with. */
interface Options {
  readonly send: RawCall.Send
  readonly request: RawCall.Request
  readonly dialect: Dialect.Dialect
  readonly call: Dialect.Call
  /** Removes secrets from the endpoint's texts. */
  readonly conceal: (text: string) => string
  readonly client: ClientAnswer
  /** Headers of ours, where the endpoint's head is written. */
  readonly own: () => RawCall.RawHeaders
  /** Receives the headers of every answer, by lower-case name. */
  readonly answered: (headers: Readonly<Record<string, string>>) => void
  /** Receives the endpoint's answer of an attempt that failed before content. */
  readonly refused: (refusal: Refusal) => void
}

/** Makes one attempt. */
export const begin = (
  options: Options,
  { now }: Pick<ProviderCall.World, "now">,
  listener: ProviderCall.Listener
): ProviderCall.Running => new Attempt(options, now, listener)

// --- internal

/**
 * An attempt, by its `state`:
 *
 * ```
 *   held ── content ──▶ reached ── its mark is on disk ──▶ passing ── end, cut ──▶ over
 *     └──────────────────────── failed ─────────────────────────────────────────────┘
 * ```
 */
class Attempt implements ProviderCall.Running {
  private readonly options: Options
  private readonly now: () => number
  private readonly listener: ProviderCall.Listener
  private readonly call: RawCall.Call
  private state: "held" | "reached" | "passing" | "over" = "held"
  private head: RawCall.RawHead | undefined
  private gate: ContentGate.ContentGate | undefined
  private answer: Dialect.AnswerHead | undefined
  /** Bytes that may go down, until the mark is on disk. */
  private ready: Array<Uint8Array> = []
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
  /** The connection is over, and how; absent: it is not. */
  private last: { readonly failed: Dialect.Failed | undefined } | undefined
  /** How the call ended, until its listener has asked for more. */
  private end: ProviderCall.End | undefined

  constructor(options: Options, now: () => number, listener: ProviderCall.Listener) {
    this.options = options
    this.now = now
    this.listener = listener
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

  readonly more = (): void => {
    const { end } = this
    this.end = undefined
    if (end !== undefined) this.listener.end(end)
    else if (this.state === "reached") this.pass()
  }

  /** Frees the endpoint's connection. An answer that is given up in the middle breaks off. */
  readonly cancel = (): void => {
    this.close()
    if (this.state === "passing") this.options.client.cut()
    this.state = "over"
    this.end = undefined
  }

  private close(): void {
    this.call.close()
    this.decoding?.close()
  }

  private write(bytes: Uint8Array): void {
    this.isFull.client = !this.options.client.write(bytes, this.onDrain)
  }

  private readonly onDrain = (): void => {
    this.isFull.client = false
    this.proceed()
  }

  /** Whether more may come: not while the client is behind, and not between content and its mark. */
  private get isOpen(): boolean {
    return !this.isFull.client && this.state !== "reached"
  }

  private proceed(): void {
    if (!this.isOpen) return
    this.decoding?.resume()
    if (!this.isFull.decoder) this.call.resume()
  }

  private begin(head: RawCall.RawHead): void {
    const { call, conceal, dialect } = this.options
    this.head = head
    const { status } = head
    const headers = Headers.record(head.headers)
    this.options.answered(headers)
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
    else if (this.state !== "passing") {
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
    if (this.state === "passing") {
      const { dialect } = this.options
      if (this.answer === undefined || ContentGate.isProgress(dialect, bytes, this.answer)) this.listener.progress()
      if (this.isCoded) return true
      for (const each of passed) this.write(each)
    } else {
      this.ready.push(...passed)
      this.judge()
    }
    return this.isOpen
  }

  private ended(onEnd: () => void): void {
    this.onEnd = onEnd
    if (this.decoding === undefined) onEnd()
    else this.decoding.end()
  }

  private finish(): void {
    this.ready.push(...(this.gate?.end() ?? []))
    if (this.state === "passing" && !this.isCoded) for (const bytes of this.ready) this.write(bytes)
    this.over()
  }

  private broken(cause: unknown): void {
    this.gate?.broken(cause)
    if (this.gate !== undefined) return this.over()
    const failed = Dialect.ofBroken(cause, { now: this.now, conceal: this.options.conceal })
    if (this.state === "held") this.fail(failed)
    else this.concluded(failed)
  }

  /** The connection is over. */
  private over(): void {
    this.judge()
    const standing = this.gate?.standing()
    this.concluded(standing?.kind === "failed" ? standing : undefined)
  }

  private judge(): void {
    const standing = this.gate?.standing()
    if (this.state !== "held" || standing === undefined || standing.kind === "held") return
    if (standing.kind !== "failed" || standing.hasPassed) {
      this.state = "reached"
      if (this.listener.events([{ type: "usage", usage: this.gate?.usage() ?? {} }])) this.more() // Relay.R2
      return
    }
    const { body, failure } = standing
    if (this.head !== undefined) this.options.refused(this.refusal(this.head, this.gate?.received() ?? []))
    this.fail(body === undefined ? { failure } : { failure, body })
  }

  /** A compressed refusal that has not come whole is passed decoded: no client could read the rest. */
  private refusal(head: RawCall.RawHead, body: ReadonlyArray<Uint8Array>): Refusal {
    if (this.decoding === undefined) return { head, body }
    if (this.isWhole) return { head, body: this.coded, decoded: body }
    return { head: { ...head, headers: Headers.without(head.headers, ["content-encoding"]) }, body }
  }

  private fail(failed: Dialect.Failed): void {
    this.state = "over"
    this.close()
    this.emit([{ type: "error", ...failed }], Exit.void)
  }

  /** A client that knows a length leaves with the last byte: a compressed answer is not yet decoded then, and would be recorded as left. */
  private headFor(head: RawCall.RawHead): RawCall.RawHead {
    return this.decoding === undefined ? head : { ...head, headers: Headers.without(head.headers, ["content-length"]) }
  }

  /** Its mark is on disk. */
  private pass(): void {
    const { client, own } = this.options
    const isAsItCame = this.head === undefined || client.begin(this.headFor(this.head), own())
    this.isCoded = isAsItCame && this.decoding !== undefined
    for (const bytes of this.isCoded ? this.coded : this.ready) this.write(bytes)
    this.ready = []
    this.coded = []
    this.state = "passing"
    if (this.last === undefined) this.proceed()
    else this.concluded(this.last.failed)
  }

  private concluded(failed: Dialect.Failed | undefined): void {
    this.last = { failed }
    if (this.state !== "passing") return
    this.state = "over"
    const usage: Provider.ProviderEvent = { type: "usage", usage: this.gate?.usage() ?? {} }
    if (failed === undefined) {
      this.options.client.end()
      this.emit([usage, { type: "finish", finishReason: "stop" }], Exit.void)
    } else {
      this.options.client.cut()
      this.emit([usage], Exit.fail(new Failure.ProviderFailure({ failure: failed.failure })))
    }
  }

  private emit(events: ProviderCall.Events, end: ProviderCall.End): void {
    this.end = end
    if (this.listener.events(events)) this.more()
  }
}

const TOO_LARGE = new Failure.ProviderFailure({
  failure: {
    reason: "invalid-response",
    message: `A compressed answer may have ${ContentGate.MOST_HELD} bytes at most, decoded or before its content.`,
    retryable: false
  }
})
