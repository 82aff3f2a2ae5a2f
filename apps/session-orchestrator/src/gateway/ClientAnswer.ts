/**
 * Writes the answer to one held call: signs of life while the call waits, then the answer of the endpoint.
 *
 * Nothing of a failed attempt is written, unless the call gives up: then the endpoint's last refusal as it came, head and body.
 *
 * Signs of life keep the client from giving up. A stream gets a head of ours after `HEAD_MS`, and then a heartbeat every `BEAT_MS`; a call
 * for one JSON document gets `102` every `BEAT_MS`, and after `WHOLE_HEAD_MS` a head of ours and white space. All of it at whole seconds: a
 * crowd is written to together, and the process sleeps between. After a head of ours a refusal is written as the format writes it in a
 * stream, or the connection is cut.
 *
 * ClientAnswer.A2. Heartbeats come before the first byte of an answer, so they stand between whole frames.
 */
import { type Dialect, ErrorAnswer, Heartbeats } from "@holdfast/providers/dialects"
import type * as RawCall from "@holdfast/providers/raw"
import { defined, type Failure, Failure as Failures } from "@holdfast/wire"
import type { ServerResponse } from "node:http"
import type { At } from "../base/system/Alarm.ts"
import * as Headers from "./Headers.ts"

/** Milliseconds until a stream gets its head. Clients wait 30 s for it, and longer. */
export const HEAD_MS = 20_000

/** Milliseconds between two heartbeats. */
export const BEAT_MS = 10_000

/** Milliseconds until a call for one document gets its head: clients wait 10 minutes for it. */
export const WHOLE_HEAD_MS = 540_000

/** The answer by which an endpoint refused an attempt. */
export interface Refusal {
  readonly head: RawCall.RawHead
  readonly body: ReadonlyArray<Uint8Array>
  /** The body without its content coding; absent: it has none. */
  readonly decoded?: ReadonlyArray<Uint8Array>
}

/** The parts of Node's response that an answer is written by. */
export type ClientResponse = Pick<
  ServerResponse,
  "destroy" | "destroyed" | "end" | "once" | "sendDate" | "write" | "writeHead" | "writeProcessing"
>

/** One client that waits for its answer. */
export class ClientAnswer {
  private name: Readonly<Record<string, string>> = {}
  private hasBegun = false
  private state: "waiting" | "held" | "answering" | "over" = "waiting"
  private last: Refusal | undefined
  private readonly response: ClientResponse
  private readonly call: Dialect.Call
  private readonly heartbeat: Uint8Array

  constructor(response: ClientResponse, call: Dialect.Call, userAgent: string | undefined) {
    this.response = response
    this.call = call
    this.heartbeat = Heartbeats.of(call.format, call.framing, userAgent)
  }

  /** The call has become a turn, which its head names. */
  named(turnId: string): void {
    this.name = { "x-holdfast-call": turnId }
  }

  /** Whether an answer with content was begun. */
  get hasContent(): boolean {
    return this.hasBegun
  }

  /** Holds the connection until the answer begins, without a fiber. `now` is in epoch milliseconds. Returns a function that ends that. */
  hold({ at, now }: { readonly at: At; readonly now: () => number }): () => void {
    const isDocument = this.call.framing === "document"
    const later = (ms: number): number => Math.floor((now() + ms) / TICK_MS) * TICK_MS
    const headAt = later(isDocument ? WHOLE_HEAD_MS : HEAD_MS)
    const wait = (ms: number): (() => void) =>
      at(later(ms), () => {
        if (this.hasHead || this.response.destroyed) return
        if (now() >= headAt) this.beat()
        else this.response.writeProcessing()
        cancel = wait(BEAT_MS)
      })
    let cancel = wait(isDocument ? BEAT_MS : HEAD_MS)
    return () => cancel()
  }

  /** The answer begins, with the endpoint's head unless ours has left: then `false`. `own` are headers of ours. */
  begin(head: RawCall.RawHead, own: RawCall.RawHeaders): boolean {
    const isAsItCame = this.writeHead(head, true, own)
    this.state = "answering"
    this.hasBegun = true
    return isAsItCame
  }

  /** Writes bytes of the answer. `false`: the client reads slowly, and `onDrain` is called when it has read. */
  write(bytes: Uint8Array, onDrain: () => void): boolean {
    if (this.response.write(bytes)) return true
    this.response.once("drain", onDrain)
    return false
  }

  /** The answer is complete. */
  end(): void {
    this.state = "over"
    this.response.end()
  }

  /** The answer breaks off, as it did at the endpoint. */
  cut(): void {
    this.state = "over"
    this.response.destroy()
  }

  /** The refusal of the last attempt that was made, as far as it is small enough to be kept. */
  get lastRefusal(): Refusal | undefined {
    return this.last
  }

  /** Keeps the refusal of an attempt; `undefined`: a new attempt begins. */
  refused(refusal: Refusal | undefined): void {
    const { body = [], decoded } = refusal ?? {}
    const isSmall = [body, decoded ?? []].every((pieces) => sizeOf(pieces) <= MOST_KEPT)
    this.last =
      refusal && isSmall
        ? { head: refusal.head, body: copied(body), ...defined({ decoded: decoded && copied(decoded) }) }
        : undefined
  }

  /** Passes an endpoint's refusal on, as it came. `false`: a head of ours has left. */
  pass({ body, head }: Refusal): boolean {
    if (!this.writeHead(head, false)) return false
    for (const bytes of body) this.response.write(bytes)
    this.end()
    return true
  }

  /** The call gave up, after `failure` of its last attempt. `why`: a limit of ours ended it. */
  giveUp(failure: Failure.Failure, why?: string): void {
    if (why !== undefined) this.name = { ...this.name, "x-holdfast-gave-up": why }
    const refusal = this.last
    if (refusal === undefined || !isOf(refusal, failure)) return this.fail(failure)
    if (!this.pass(refusal)) this.fail(failure, refusal)
  }

  /** The call has failed for good: `failure` is written, in the words of the refusal if there is one. */
  fail(failure: Failure.Failure, refusal?: Refusal): void {
    const { format, framing } = this.call
    if (this.state === "waiting") {
      const { body, headers, status } = ErrorAnswer.ofFailure(failure, format)
      this.response.writeHead(status, { ...headers, ...this.name })
      this.response.write(body)
      return this.end()
    }
    const frames =
      this.state === "held"
        ? ErrorAnswer.framesOf(
            failure,
            format,
            framing,
            refusal && Buffer.concat(refusal.decoded ?? refusal.body).toString()
          )
        : undefined
    if (frames === undefined) return this.cut()
    this.response.write(frames)
    this.end()
  }

  /** Writes the endpoint's head, unless ours has left: then `false`. */
  private writeHead(
    { headers, status, statusText }: RawCall.RawHead,
    isWhole: boolean,
    own: RawCall.RawHeaders = []
  ): boolean {
    if (this.state !== "waiting") return false
    const named = Object.entries(this.name).flat()
    this.response.sendDate = false // the endpoint's own counts
    this.response.writeHead(status, statusText, [...Headers.ofResponse(headers, isWhole), ...named, ...own])
    return true
  }

  /** Whether the answer itself has begun, or is over. */
  private get hasHead(): boolean {
    return this.state === "answering" || this.state === "over"
  }

  /** Writes a heartbeat, after a head of ours. */
  private beat(): void {
    if (this.state === "waiting") {
      const type = this.call.framing === "events" ? "text/event-stream; charset=utf-8" : "application/json"
      this.response.writeHead(200, { "content-type": type, "cache-control": "no-cache", ...this.name })
      this.state = "held"
    }
    this.response.write(this.heartbeat)
  }
}

// --- internal

/** Heartbeats are at multiples of it. */
const TICK_MS = 1_000

/** Bytes of the largest refusal that is kept while a call waits: all that is read of a refused answer. */
const MOST_KEPT = 64 * 1024

const sizeOf = (pieces: ReadonlyArray<Uint8Array>): number => pieces.reduce((sum, { length }) => sum + length, 0)

/** A copy: a piece of a read would keep the whole read in memory. */
const copied = (pieces: ReadonlyArray<Uint8Array>): ReadonlyArray<Uint8Array> => [
  Uint8Array.from(Buffer.concat(pieces))
]

/** Whether the provider refused an attempt with this answer: a success that is cut, empty or a page is no refusal, and a limit of ours is none of it. */
const isOf = ({ head: { status } }: Refusal, failure: Failure.Failure): boolean =>
  !Failures.isOfSpendLimit(failure) && (status >= 300 || !NO_ERROR.has(failure.reason))

const NO_ERROR: ReadonlySet<Failure.Reason> = new Set(["network", "timeout", "invalid-response"])
