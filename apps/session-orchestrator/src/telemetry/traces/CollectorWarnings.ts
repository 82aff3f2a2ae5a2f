/**
 * Logs whether a trace collector accepts the batches that are posted to it.
 *
 * The exporter itself drops batches without a log line.
 *
 * A loss is logged once, with the collector and the cause, and once more when batches are accepted again: no line per batch. A transient
 * failure is logged after `TRIES` failures in a row, when the exporter drops the batch; a permanent failure is logged at once.
 */
import { Duration, Effect, References } from "effect"
import { HttpClient, type HttpClientError } from "effect/http"

/** How often the exporter posts a batch. */
const TRIES = 4

/** The time limit of one post. */
const TIMEOUT = Duration.seconds(10)

/** Adds a time limit and log lines to a client. `name` is the collector's address without secrets. */
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

const causeOf = ({ message, reason: { cause } }: HttpClientError.HttpClientError): string =>
  cause instanceof Error && cause.message !== "" ? cause.message : message

/** Logs without the annotations of the exporter, whose module names do not help an operator. */
const tell = (log: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.provideService(log, References.CurrentLogAnnotations, {})
