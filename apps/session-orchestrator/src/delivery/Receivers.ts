/**
 * Sends a written notice to the operator's webhook, or to a command on its standard input.
 *
 * Receivers.R1. What is sent is redacted once more, whatever its format made of it.
 * Receivers.R2. Errors never quote the webhook's address or the command's arguments.
 */
import type { Failure } from "@holdfast/wire"
import { Effect, Redacted, Stream } from "effect"
import type { HttpClient } from "effect/http"
import type { ChildProcessSpawner } from "effect/process"
import { ChildProcess } from "effect/process"
import { causeOf } from "../system/PlatformFailure.ts"
import type { Content } from "./NoticeFormat.ts"
import * as Posting from "./Posting.ts"

/** A webhook of the configuration. */
export interface Webhook {
  readonly url: Redacted.Redacted
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
}

/** Sends a notice, in one attempt. */
export type SendContent = (content: Content) => Effect.Effect<void, Failure.Failure>

/** Posts the notice. A status other than 2xx is a failure. */
export const webhook = (
  { headers, url }: Webhook,
  client: HttpClient.HttpClient,
  redact: (text: string) => string
): SendContent => {
  const post = Posting.viaClient(client)
  const own = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), Redacted.value(value)])
  )
  return ({ headers, id, text }) =>
    post({
      url: Redacted.value(url),
      headers: { ...headers, "idempotency-key": id, ...own },
      body: redact(text)
    })
}

/** Runs a program with the notice on its standard input. An exit code other than 0 is a failure. */
export const command =
  (
    [program, ...args]: readonly [string, ...ReadonlyArray<string>],
    spawner: ChildProcessSpawner.ChildProcessSpawner["Service"],
    redact: (text: string) => string
  ): SendContent =>
  ({ text }) => {
    const input = new TextEncoder().encode(`${redact(text)}\n`)
    const command = ChildProcess.make(program, args, { stdin: Stream.make(input), stdout: "ignore", stderr: "ignore" })
    return spawner.exitCode(command).pipe(
      Effect.catchTag("PlatformError", (error) => Effect.fail(failed(`${program} did not run: ${causeOf(error)}.`))),
      Effect.flatMap((code) => (code === 0 ? Effect.void : Effect.fail(failed(`${program} ended with ${code}.`)))),
      Posting.timed
    )
  }

// --- internal

const failed = (message: string): Failure.Failure => ({ reason: "unknown", message, retryable: true })
