/**
 * Delivers a notice to a webhook, or to a command on its standard input.
 *
 * Delivery.Y1. A failed delivery is classified by the same classifier as turns. It is retried after the longer of the schedule's wait and
 *     the receiver's hint. A permanent failure (a wrong address, a refusal) is not retried.
 * Delivery.Y2. A notice is delivered twice if the service dies between the delivery and its record. Both have the same `id`, which is
 *     also the header `idempotency-key`.
 * Delivery.Y3. Errors never quote the webhook's address or the command's arguments (`Receivers.R2`).
 */
import { Backoff } from "@holdfast/policy"
import type { Failure } from "@holdfast/wire"
import { Duration, Effect } from "effect"
import type { HttpClient } from "effect/http"
import type { ChildProcessSpawner } from "effect/process"
import type { Format } from "../../config/reading/NoticeFormats.ts"
import * as NoticeFormat from "../../delivery/NoticeFormat.ts"
import * as Receivers from "../../delivery/Receivers.ts"
import * as NoticeText from "./NoticeText.ts"
import type { Notice } from "./Notice.ts"

/** The format of a receiver, and what is removed from it once more. */
interface Options {
  readonly format?: Format | undefined
  readonly redact?: (text: string) => string
}

/** Delivers one notice, in one attempt. */
export type Deliver = (notice: Notice) => Effect.Effect<void, Failure.Failure>

/** The waits before retries; the last one repeats. With `MOST_RETRIES` this gives 9 attempts within two hours. */
const WAITS = Backoff.steps([1_000, 5_000, 30_000, 120_000, 600_000, 1_800_000])

/** A notice that is not delivered by then is in the log. */
const MOST_RETRIES = 8

/** The longest wait that a receiver may ask for. A notice is given up rather than delivered later. */
const LONGEST_WAIT_MS = 3_600_000

/** Posts the notice in a format. A status other than 2xx is a failure. */
export const toWebhook = (
  webhook: Receivers.Webhook,
  client: HttpClient.HttpClient,
  { format = "json", redact = String }: Options = {}
): Deliver => {
  const send = Receivers.webhook(webhook, client, redact)
  return (notice) => send(NoticeFormat.write(format, NoticeText.bodyOf(notice)))
}

/** Runs a program with the notice on its standard input. An exit code other than 0 is a failure. */
export const toCommand = (
  command: readonly [string, ...ReadonlyArray<string>],
  spawner: ChildProcessSpawner.ChildProcessSpawner["Service"],
  { format = "json", redact = String }: Options = {}
): Deliver => {
  const send = Receivers.command(command, spawner, redact)
  return (notice) => send(NoticeFormat.write(format, NoticeText.bodyOf(notice)))
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

/** Milliseconds before a retry (0-based); `undefined`: there is none (Delivery.Y1). */
const waitBefore = (retry: number, { hint, retryable }: Failure.Failure): number | undefined => {
  if (!retryable || retry >= MOST_RETRIES) return undefined
  const ms = Math.max(Backoff.delayAt(WAITS, retry), hint?.retryAfterMs ?? 0)
  return ms > LONGEST_WAIT_MS ? undefined : ms
}
