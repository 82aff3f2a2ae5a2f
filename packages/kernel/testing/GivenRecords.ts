/** Makes the records of a turn as the kernel writes them, for tests. */
import { type Failure, Ids } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import * as Records from "../src/records/Records.ts"

const record = <A, I>(name: string, schema: Schema.Codec<A, I>, value: A): Records.Stored => ({
  name,
  value: Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(schema)))(value)
})

/** A failure that is retried. */
export const overloaded: Failure.Failure = {
  reason: "overloaded",
  message: "Overloaded",
  retryable: true,
  status: 529
}

/** Attempt `n` has failed before content; `endedAt` in epoch milliseconds. */
export const failed = (n: number, endedAt: number, step = 0, failure = overloaded): Records.Stored =>
  record(`step/${step}/attempt/${n}`, Records.AttemptOutcome, {
    _tag: "Failed",
    content: [],
    endedAt,
    failure,
    contentSeen: false,
    spread: 0
  })

/** Attempt `n` was answered; `endedAt` in epoch milliseconds. */
export const completed = (n: number, endedAt: number, step = 0): Records.Stored =>
  record(`step/${step}/attempt/${n}`, Records.AttemptOutcome, {
    _tag: "Completed",
    content: [{ type: "text", text: "Hello" }],
    endedAt,
    finishReason: "stop"
  })

/** The process died after the first content of attempt `n`; `endedAt` in epoch milliseconds. */
export const lost = (n: number, endedAt: number, step = 0): Records.Stored =>
  record(`step/${step}/attempt/${n}`, Records.AttemptOutcome, { _tag: "Lost", endedAt })

/** The first content of attempt `n` is about to leave. */
export const mark = (n: number, step = 0): Records.Stored =>
  record(`step/${step}/attempt/${n}/content`, Schema.Literal(true), true)

/** Decision `n` begins a wait until `retryAt`, in epoch milliseconds. */
export const retry = (n: number, delayMs: number, retryAt: number, step = 0): Records.Stored =>
  record(`step/${step}/decision/${n}`, Records.Directive, { _tag: "Retry", attempt: n, delayMs, retryAt })

/** Decision `n` ends the retries. */
export const giveUp = (n: number, step = 0): Records.Stored =>
  record(`step/${step}/decision/${n}`, Records.Directive, { _tag: "GiveUp", because: "exhausted" })

/** Wait `n` has ended or was changed; `part` counts its changes. */
export const wake = (n: number, part: number, wake: Records.Wake, step = 0): Records.Stored =>
  record(`step/${step}/sleep/${n}${part === 0 ? "" : `/${part}`}`, Records.Wake, wake)

/** A step begins at the model `m` of a provider. */
export const begins = (provider: string, step = 0): Records.Stored =>
  record(`step/${step}/route`, Records.Beginning, { route: { target: { provider, model: "m" } } })

/** Decision `n` sends the retry to the model `m` of another provider. */
export const sent = (n: number, delayMs: number, retryAt: number, provider: string, step = 0): Records.Stored =>
  record(`step/${step}/decision/${n}`, Records.Directive, {
    _tag: "Retry",
    attempt: n,
    delayMs,
    retryAt,
    route: { target: { provider, model: "m" } }
  })

/** The outcome of compaction `n`. */
export const compaction = (n: number, outcome: Records.CompactionOutcome, step = 0): Records.Stored =>
  record(`step/${step}/compaction/${n}`, Records.CompactionOutcome, outcome)

/** The id of a message. */
export const messageId = Ids.messageIdOf(Ids.TurnId.make("t0"), 0)
