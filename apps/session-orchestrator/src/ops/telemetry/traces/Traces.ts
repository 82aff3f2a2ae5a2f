/**
 * Exports spans in batches, as OTLP over HTTP, by Effect's exporter.
 *
 * A collector that does not answer costs spans, never a turn: a refused batch is posted four times, a post that hangs is given up.
 * Then the exporter drops its spans and pauses for a minute. The log has the
 * cause once, and the recovery (`watched`).
 */
import type { Observer } from "@holdfast/kernel"
import { Duration, Effect, Redacted, References, type Scope } from "effect"
import { HttpClient, type HttpClientError } from "effect/http"
import { OtlpExporter, OtlpResource, OtlpSerialization } from "effect/observability"
import * as Spans from "./Spans.ts"

/** The collector, and what is removed from spans. */
interface Options {
  /** The address that traces are posted to. */
  readonly url: string
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  readonly version: string
  readonly addressOf: Spans.AddressOf
  readonly redact: (text: string) => string
}

/** The time between two batches. */
const INTERVAL = "2 seconds"

/** Characters. Longer texts are cut: a model's name may be a whole script. */
const LONGEST_VALUE = 256

/** Starts the exporter and returns the listeners of turns. A last batch is sent when the scope closes, within 2 seconds. */
export const make = Effect.fnUntraced(function* ({
  addressOf,
  headers,
  redact,
  url,
  version
}: Options): Effect.fn.Return<Observer.Listeners, never, HttpClient.HttpClient | Scope.Scope> {
  const resource = OtlpResource.make({ serviceName: "holdfast", serviceVersion: version })
  const client = watched(yield* HttpClient.HttpClient, redact(url))
  const { traces } = yield* Effect.provide(OtlpSerialization.OtlpSerialization, OtlpSerialization.layerProtobuf)
  const exporter = yield* OtlpExporter.make({
    label: "Holdfast",
    url,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)])),
    exportInterval: INTERVAL,
    maxBatchSize: 1_000,
    shutdownTimeout: "2 seconds",
    body: (spans) => [
      traces({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "holdfast", version }, spans }] }] }),
      Effect.void
    ]
  }).pipe(Effect.provideService(HttpClient.HttpClient, client), Effect.provide(OtlpExporter.layerFlusher))
  const clean = (text: string) => cut(redact(text))
  const push = (spans: ReadonlyArray<Spans.Span>) => spans.forEach((span) => exporter.push(encode(span, clean)))
  return {
    attempt: (ended) => push(Spans.ofAttempt(ended, addressOf)),
    compaction: (ended) => push(Spans.ofCompaction(ended)),
    wait: (ended) => push(Spans.ofWait(ended)),
    tool: (ended) => push(Spans.ofTool(ended)),
    seal: (sealed) => push(Spans.ofSeal(sealed))
  }
})

/** How often the exporter posts a batch. */
const TRIES = 4

/** The time limit of one post. */
const TIMEOUT = Duration.seconds(10)

/**
 * Adds a time limit and log lines to a client: the exporter drops batches without one. A loss is logged once, with its cause, and once more when
 * batches are accepted again. A transient failure is logged after `TRIES` failures in a row, a permanent one at once. `name` is the collector's address without secrets. */
export const watched = (client: HttpClient.HttpClient, name: string): HttpClient.HttpClient => {
  let failures = 0
  let isTold = false

  const worked = Effect.suspend(() => {
    failures = 0
    if (!isTold) return Effect.void
    isTold = false
    return tell(Effect.logInfo(`Traces are taken again by ${name}.`))
  })

  const failed = (why: string, isPassing: boolean): Effect.Effect<void> =>
    Effect.suspend(() => {
      failures++
      if (isTold || (isPassing && failures < TRIES)) return Effect.void
      isTold = true
      return tell(Effect.logWarning(`Traces are lost: ${name} has not taken them (${why}). Turns go on.`))
    })

  return HttpClient.transformResponse(client, (response) =>
    response.pipe(
      Effect.timeoutOrElse({
        duration: TIMEOUT,
        // A defect, because the exporter does not retry defects: each retry would wait as long.
        orElse: () =>
          Effect.andThen(
            failed(`no answer within ${Duration.format(TIMEOUT)}`, false),
            Effect.die(new Error("the collector hangs"))
          )
      }),
      Effect.tap((response) =>
        response.status >= 200 && response.status < 300
          ? worked
          : failed(`HTTP ${response.status}`, HttpClient.isTransientResponse(response))
      ),
      Effect.tapError((error) => failed(causeOf(error), HttpClient.isTransientError(error)))
    )
  )
}

// --- internal

/** SpanKind and StatusCode of opentelemetry/proto/trace/v1/trace.proto. */
const KIND = { internal: 1, client: 3 } as const
const STATUS = { unset: 0, error: 2 } as const

/** Names of models and tools, ids of calls and codes of errors come from outside: `clean` redacts and cuts them. */
const encode = (
  { attributes, endedAt, error, kind, name, startedAt, ...ids }: Spans.Span,
  clean: (text: string) => string
) => ({
  ...ids,
  name: clean(name),
  kind: KIND[kind],
  startTimeUnixNano: nanosOf(startedAt),
  endTimeUnixNano: nanosOf(endedAt),
  attributes: OtlpResource.entriesToAttributes(
    Object.entries(attributes).flatMap(([key, value]): ReadonlyArray<[string, Spans.AttributeValue]> =>
      value === undefined ? [] : [[key, typeof value === "string" ? clean(value) : value]]
    )
  ),
  droppedAttributesCount: 0,
  events: [],
  droppedEventsCount: 0,
  links: [],
  droppedLinksCount: 0,
  status: error === undefined ? { code: STATUS.unset } : { code: STATUS.error, message: error }
})

const cut = (text: string): string => (text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text)

const nanosOf = (ms: number): string => String(BigInt(Math.round(ms)) * 1_000_000n)

const causeOf = ({ message, reason: { cause } }: HttpClientError.HttpClientError): string =>
  cause instanceof Error && cause.message !== "" ? cause.message : message

/** Logs without the annotations of the exporter, whose module names do not help an operator. */
const tell = (log: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.provideService(log, References.CurrentLogAnnotations, {})
