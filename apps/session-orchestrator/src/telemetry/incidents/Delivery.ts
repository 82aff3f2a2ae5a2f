/**
 * Delivers a notice to a webhook, or to a command on its standard input.
 *
 * Delivery.Y1. A failed delivery is classified by the same classifier as turns. It is retried after the longer of the schedule's wait and
 *     the receiver's hint. A permanent failure (a wrong address, a refusal) is not retried.
 * Delivery.Y2. A notice is delivered twice if the service dies between the delivery and its record. Both have the same `id`, which is
 *     also the header `idempotency-key`.
 * Delivery.Y3. Errors never quote the webhook's address or the command's arguments.
 */
import { Backoff, Classification } from "@holdfast/policy"
import type { Failure } from "@holdfast/wire"
import { Clock, Duration, Effect, Redacted, Stream } from "effect"
import type { HttpClient } from "effect/http"
import { HttpClientRequest } from "effect/http"
import type { ChildProcessSpawner } from "effect/process"
import { ChildProcess } from "effect/process"
import type { Values } from "../../config/Config.ts"
import { causeOf } from "../../system/PlatformFailure.ts"
import * as NoticeText from "./NoticeText.ts"
import type { Notice } from "./Notice.ts"

type Webhook = NonNullable<NonNullable<Values["telemetry"]["notifications"]>["webhook"]>

/** Delivers one notice, in one attempt. */
export type Deliver = (notice: Notice) => Effect.Effect<void, Failure.Failure>

/** The waits before retries; the last one repeats. With `MOST_RETRIES` this gives 9 attempts within two hours. */
const WAITS = Backoff.steps([1_000, 5_000, 30_000, 120_000, 600_000, 1_800_000])

/** A notice that is not delivered by then is in the log. */
const MOST_RETRIES = 8

/** The longest wait that a receiver may ask for. A notice is given up rather than delivered later. */
const LONGEST_WAIT_MS = 3_600_000

/** The time limit of one attempt. */
const LIMIT_MS = 10_000

/** Posts the notice as JSON. A status other than 2xx is a failure. */
export const toWebhook =
  ({ headers, url }: Webhook, client: HttpClient.HttpClient): Deliver =>
  (notice) => {
    const body = NoticeText.bodyOf(notice)
    const request = HttpClientRequest.post(Redacted.value(url)).pipe(
      HttpClientRequest.setHeaders(
        Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)] as const)
      ),
      HttpClientRequest.setHeader("idempotency-key", body.id),
      HttpClientRequest.bodyJsonUnsafe(body)
    )
    return Effect.gen(function* () {
      const response = yield* client.execute(request)
      const text = yield* response.text
      if (response.status >= 200 && response.status < 300) return
      const now = yield* Clock.currentTimeMillis
      return yield* Effect.fail(
        Classification.ofResponse({ status: response.status, headers: response.headers, body: text, now })
      )
    }).pipe(
      Effect.catchTag("HttpClientError", (error) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fail(Classification.ofThrown(error.reason, now)))
      ),
      timed
    )
  }

/** Runs a program with the JSON on its standard input. An exit code other than 0 is a failure. */
export const toCommand =
  (
    [program, ...args]: readonly [string, ...ReadonlyArray<string>],
    spawner: ChildProcessSpawner.ChildProcessSpawner["Service"]
  ): Deliver =>
  (notice) => {
    const input = new TextEncoder().encode(`${JSON.stringify(NoticeText.bodyOf(notice))}\n`)
    const command = ChildProcess.make(program, args, { stdin: Stream.make(input), stdout: "ignore", stderr: "ignore" })
    return spawner.exitCode(command).pipe(
      Effect.catchTag("PlatformError", (error) => Effect.fail(failed(`${program} did not run: ${causeOf(error)}.`))),
      Effect.flatMap((code) => (code === 0 ? Effect.void : Effect.fail(failed(`${program} ended with ${code}.`)))),
      timed
    )
  }

/** Retries a delivery (Delivery.Y1). */
export const patiently =
  (deliver: Deliver, sleep: (duration: Duration.Duration) => Effect.Effect<void>): Deliver =>
  (notice) => {
    const go = (retry: number): Effect.Effect<void, Failure.Failure> =>
      Effect.catch(deliver(notice), (failure) => {
        const delayMs = waitBefore(retry, failure)
        return delayMs === undefined
          ? Effect.fail(failure)
          : Effect.andThen(
              sleep(Duration.millis(delayMs)),
              Effect.suspend(() => go(retry + 1))
            )
      })
    return go(0)
  }

// --- internal

const failed = (message: string): Failure.Failure => ({ reason: "unknown", message, retryable: true })

/** Milliseconds before a retry (0-based); `undefined`: there is none (Delivery.Y1). */
const waitBefore = (retry: number, { hint, retryable }: Failure.Failure): number | undefined => {
  if (!retryable || retry >= MOST_RETRIES) return undefined
  const ms = Math.max(Backoff.delayAt(WAITS, retry), hint?.retryAfterMs ?? 0)
  return ms > LONGEST_WAIT_MS ? undefined : ms
}

const timed = (delivery: Effect.Effect<void, Failure.Failure>): Effect.Effect<void, Failure.Failure> =>
  Effect.timeoutOrElse(delivery, {
    duration: Duration.millis(LIMIT_MS),
    orElse: () => Effect.fail(Classification.timedOut("first-content", LIMIT_MS))
  })
