/**
 * What becomes of the batches that are posted to a collector, for whoever reads the log: the exporter loses them without a word.
 *
 * W1. That they are lost is told once, with where and why; so is that they are taken again. Not each of them.
 * W2. What may get better is told when it has failed `TRIES` times in a row, which is when the exporter gives a batch up; what will
 *     not, at once.
 */
import { Duration, Effect, References } from "effect"
import { HttpClient, type HttpClientError } from "effect/http"

/** How often the exporter posts a batch. */
const TRIES = 4

/** How long a collector has for a batch. */
const TIMEOUT = Duration.seconds(10)

/** The same client, with an end to its patience, and an eye on what comes of it. `name` stands for the collector's address. */
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
        // A defect, which the exporter does not try again: it would wait as long each time.
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

/** Without the names of the exporter's modules, which tell nobody anything. */
const tell = (log: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.provideService(log, References.CurrentLogAnnotations, {})
