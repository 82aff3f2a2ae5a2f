/**
 * Fakes the endpoints of a scenario by a `fetch` with scripted responses.
 *
 * The real adapters of the wire formats use it. Delays run on the test clock; the runner that advances it is notified.
 */
import type * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import * as Answers from "./Answers.ts"
import * as ReceivedCall from "./ReceivedCall.ts"

/** Time must pass now: until the caller drops a response that never ends, or for a number of milliseconds. */
export type Standstill =
  | { readonly _tag: "Silent"; readonly isLetGo: () => boolean }
  | { readonly _tag: "Slow"; readonly takesMs: number }

export interface Call extends ReceivedCall.Asked {
  /** Epoch milliseconds. */
  readonly at: number
}

export class MemoryEndpoint {
  readonly calls: Array<Call> = []
  private readonly responses: Array<ReturnType<Answers.Answer>> = []
  private readonly tell: (standstill: Standstill) => void
  private readonly now: () => number
  private readonly sleep: (ms: number) => Promise<void>

  constructor(options: {
    readonly tell: (standstill: Standstill) => void
    readonly now: () => number
    readonly sleep: (ms: number) => Promise<void>
  }) {
    this.tell = options.tell
    this.now = options.now
    this.sleep = options.sleep
  }

  respond(responses: ReadonlyArray<ReturnType<Answers.Answer>>): void {
    this.responses.push(...responses)
  }

  /** The responses that no call has received yet. */
  get left(): number {
    return this.responses.length
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const path = new URL(String(input)).pathname
    const body = await new Response(init?.body ?? "").text()
    const headers = Object.fromEntries(new Headers(init?.headers))
    this.calls.push({ ...ReceivedCall.read({ path, headers, body }), at: this.now() })
    const response = this.responses.shift() ?? { status: 400, body: "No response is scripted for this request." }
    const isLetGo = () => init?.signal?.aborted === true
    if (!Answers.isInside(response)) return this.play(response, isLetGo)
    if ("throws" in response) throw response.throws
    this.tell({ _tag: "Slow", takesMs: response.takesMs })
    await this.sleep(response.takesMs)
    return this.play(response.response, isLetGo)
  }

  private play(response: ScriptedServer.ScriptedResponse, isLetGo: () => boolean): Response | Promise<Response> {
    if (response === "reset") throw lost("ECONNRESET", "read ECONNRESET")
    if (response === "never") {
      this.tell({ _tag: "Silent", isLetGo })
      return new Promise(() => {})
    }
    if (!("frames" in response)) {
      const { body = "", headers = {}, status } = response
      return new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers })
    }
    const { status = 200, headers = {} } = response
    return new Response(this.stream(response), { status, headers: { "content-type": "text/event-stream", ...headers } })
  }

  private stream({ frames, cutAfter, stallAfter }: ScriptedServer.StreamedResponse): ReadableStream<Uint8Array> {
    const left = frames.slice()
    let written = 0
    let isCancelled = false
    const source = {
      cancel: () => {
        isCancelled = true
      },
      pull: async (controller: ReadableStreamDefaultController<Uint8Array>) => {
        if (written === cutAfter) return controller.error(lost("UND_ERR_SOCKET", "other side closed"))
        if (written === stallAfter) {
          this.tell({ _tag: "Silent", isLetGo: () => isCancelled })
          return new Promise<void>(() => {})
        }
        let frame = left.shift()
        while (frame !== undefined && typeof frame !== "string") {
          await Effect.runPromise(frame.pass)
          frame = left.shift()
        }
        if (frame === undefined) return controller.close()
        written += 1
        controller.enqueue(new TextEncoder().encode(frame))
      }
    }
    // Nothing is read ahead: a cut would lose the unread bytes.
    return new ReadableStream(source, { highWaterMark: 0 })
  }
}

// --- internal

/** The error of Node's own `fetch`. */
const lost = (code: string, message: string): TypeError =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code }) })
