/** Receivers for tests: an OpenTelemetry collector and a webhook, each on its own socket. */
import root from "@opentelemetry/otlp-transformer/build/src/generated/root.js"
import { Effect, type Scope } from "effect"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import * as Process from "../../service/Process.ts"

interface Decoded {
  readonly resourceSpans?: ReadonlyArray<{
    readonly scopeSpans?: ReadonlyArray<{ readonly spans?: ReadonlyArray<Wire> }>
  }>
}

interface Wire {
  readonly traceId: Uint8Array
  readonly spanId: Uint8Array
  readonly parentSpanId: Uint8Array | null
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: unknown
  readonly endTimeUnixNano: unknown
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: Value }>
  readonly status: { readonly code: number } | null
  readonly droppedAttributesCount: number | null
  readonly droppedEventsCount: number | null
  readonly droppedLinksCount: number | null
}

type Value = Readonly<Record<"stringValue" | "intValue" | "doubleValue" | "boolValue", unknown>>

// Generated from opentelemetry/proto/collector/trace/v1/trace_service.proto, without useful types.
const { ExportTraceServiceRequest } = (
  root as unknown as {
    readonly opentelemetry: {
      readonly proto: {
        readonly collector: {
          readonly trace: { readonly v1: { readonly ExportTraceServiceRequest: { decode(body: Buffer): Decoded } } }
        }
      }
    }
  }
).opentelemetry.proto.collector.trace.v1

export interface Request {
  readonly path: string
  readonly headers: Http.IncomingHttpHeaders
  readonly body: Buffer
}

/** A server that keeps posted bodies. It answers with one status after the other, or never; with 200 when none is left. */
export const receiver = (
  answers: ReadonlyArray<number | "hangs"> = []
): Effect.Effect<{ readonly url: string; readonly requests: ReadonlyArray<Request> }, never, Scope.Scope> => {
  const requests: Array<Request> = []
  const server = Http.createServer((request, response) => {
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => {
      const answer = answers[requests.length] ?? 200
      if (answer !== "hangs") response.writeHead(answer).end()
      requests.push({ path: request.url ?? "", headers: request.headers, body: Buffer.concat(parts) })
    })
  })
  return Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly requests: ReadonlyArray<Request> }>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo // a server on TCP has one
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, requests }))
      })
    }),
    () => Effect.sync(() => (server.closeAllConnections(), server.close()))
  )
}

export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly kind: number
  readonly ms: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: unknown
  /** The number of attributes, events and links that the span has dropped. */
  readonly dropped: number
}

/** The spans that were posted to a collector, decoded by the decoder generated from the protocol's own definition. */
export const spansOf = (requests: ReadonlyArray<Pick<Request, "body">>): ReadonlyArray<Span> =>
  requests
    .flatMap(({ body }) => ExportTraceServiceRequest.decode(body).resourceSpans ?? [])
    .flatMap(({ scopeSpans }) => scopeSpans ?? [])
    .flatMap(({ spans }) => spans ?? [])
    .map((span) => ({
      traceId: hex(span.traceId),
      spanId: hex(span.spanId),
      parentSpanId: hex(span.parentSpanId),
      name: span.name,
      kind: span.kind,
      ms: Number(BigInt(String(span.endTimeUnixNano)) - BigInt(String(span.startTimeUnixNano))) / 1e6,
      attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, valueOf(value)])),
      status: span.status?.code,
      dropped: (span.droppedAttributesCount ?? 0) + (span.droppedEventsCount ?? 0) + (span.droppedLinksCount ?? 0)
    }))

/** Waits until a receiver was sent so many requests; the test asserts what they are, and that there are no more. */
export const sent = (
  { requests }: { readonly requests: ReadonlyArray<Request> },
  n: number
): Effect.Effect<ReadonlyArray<string>, Error> =>
  Process.eventually(
    `${n} requests`,
    Effect.sync(() => requests.map(({ body }) => body.toString())),
    (bodies) => bodies.length >= n
  )

// --- internal

const hex = (bytes: Uint8Array | null): string => (bytes === null ? "" : Buffer.from(bytes).toString("hex"))

const valueOf = ({ boolValue, doubleValue, intValue, stringValue }: Value): unknown =>
  stringValue ??
  doubleValue ??
  boolValue ??
  (intValue === undefined || intValue === null ? undefined : Number(intValue))
