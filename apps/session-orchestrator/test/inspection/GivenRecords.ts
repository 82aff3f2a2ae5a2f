/** A turn's journal, record by record, as the kernel writes it. */
import { Directive, Records, RetryStrategy, Router } from "@holdfast/kernel"
import { type Failure, Ids } from "@holdfast/wire"
import { Schema } from "effect"
import type { Record } from "../../src/durable/Journal.ts"

const record = <A, I>(name: string, schema: Schema.Codec<A, I>, value: A): Record => ({
  name,
  value: Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(schema)))(value)
})

export const overloaded: Failure.Failure = {
  reason: "overloaded",
  message: "Overloaded",
  retryable: true,
  status: 529
}

export const failed = (n: number, endedAt: number, step = 0, failure = overloaded): Record =>
  record(`step/${step}/attempt/${n}`, Records.AttemptOutcome, {
    _tag: "Failed",
    content: [],
    endedAt,
    failure,
    contentSeen: false,
    spread: 0
  })

export const completed = (n: number, endedAt: number, step = 0): Record =>
  record(`step/${step}/attempt/${n}`, Records.AttemptOutcome, {
    _tag: "Completed",
    content: [{ type: "text", text: "Hello" }],
    endedAt,
    finishReason: "stop"
  })

export const lost = (n: number, endedAt: number, step = 0): Record =>
  record(`step/${step}/attempt/${n}`, Records.AttemptOutcome, { _tag: "Lost", endedAt })

export const mark = (n: number, step = 0): Record =>
  record(`step/${step}/attempt/${n}/content`, Schema.Literal(true), true)

export const retry = (n: number, delayMs: number, retryAt: number, step = 0): Record =>
  record(`step/${step}/decision/${n}`, Directive.Directive, { _tag: "Retry", attempt: n, delayMs, retryAt })

export const giveUp = (n: number, step = 0): Record =>
  record(`step/${step}/decision/${n}`, Directive.Directive, { _tag: "GiveUp", because: "exhausted" })

export const wake = (n: number, part: number, wake: RetryStrategy.Wake, step = 0): Record =>
  record(`step/${step}/sleep/${n}${part === 0 ? "" : `/${part}`}`, RetryStrategy.Wake, wake)

/** Where a step begins: the model `m` of a provider. */
export const begins = (provider: string, step = 0): Record =>
  record(`step/${step}/route`, Router.Beginning, { route: { target: { provider, model: "m" } } })

/** A retry that is sent to the model `m` of another provider. */
export const sent = (n: number, delayMs: number, retryAt: number, provider: string, step = 0): Record =>
  record(`step/${step}/decision/${n}`, Directive.Directive, {
    _tag: "Retry",
    attempt: n,
    delayMs,
    retryAt,
    route: { target: { provider, model: "m" } }
  })

export const compaction = (n: number, outcome: Records.CompactionOutcome, step = 0): Record =>
  record(`step/${step}/compaction/${n}`, Records.CompactionOutcome, outcome)

export const messageId = Ids.messageIdOf(Ids.TurnId.make("t0"), 0)
