/**
 * Retry decisions in the form that each workflow engine takes: an error of its own class, the result of a hook, or a loop of steps and sleeps.
 *
 * Classes and objects of an engine are arguments: the package imports none of them. A cancellation is always the engine's own, and is
 * returned as it is.
 */
import { Backoff, Classification, RetryPolicy } from "@holdfast/policy"
import type { Failure } from "@holdfast/wire"
import type { RetryChoice } from "holdfast"
import { policyOf } from "holdfast/bridge"

/** The class `ApplicationFailure` of `@temporalio/common`, as far as it is used. */
export interface ApplicationFailures {
  create(options: {
    message: string
    type: string
    nonRetryable: boolean
    nextRetryDelay?: number
    cause?: Error
  }): Error
}

/** What is read of `activityInfo()` of `@temporalio/activity`. */
export interface TemporalAttempt {
  /** From 1. */
  readonly attempt: number
  /** When the first attempt was scheduled. */
  readonly scheduledTimestampMs?: number
}

/**
 * What an activity of [Temporal](https://temporal.io) throws for what a call threw: `nonRetryable`, or with a `nextRetryDelay`.
 *
 * **Gotchas**
 *
 * Give the activity no `maximumAttempts`, and no `scheduleToCloseTimeout` below the budget: both end it before its time.
 */
export const temporal = (ApplicationFailure: ApplicationFailures, options?: DirectiveOptions) => {
  const decide = directives(options)
  return (error: unknown, { attempt, scheduledTimestampMs }: TemporalAttempt): unknown => {
    const directive = decide(error, { retries: attempt - 1, since: scheduledTimestampMs })
    if (isCancellation(directive)) return error
    return ApplicationFailure.create({
      message: sentenceOf(directive),
      type: directive.failure.reason,
      nonRetryable: directive.fatal,
      ...(directive.fatal ? undefined : { nextRetryDelay: directive.retryAfterMs }),
      ...(error instanceof Error ? { cause: error } : undefined)
    })
  }
}

/** The classes of `inngest`. */
export interface InngestErrors {
  readonly NonRetriableError: new (message: string, options?: { cause?: unknown }) => Error
  readonly RetryAfterError: new (message: string, retryAfter: number, options?: { cause?: unknown }) => Error
}

/**
 * What a step of [Inngest](https://www.inngest.com) throws for what a call threw. `attempt` is the number that the function gets, from 0.
 *
 * **Gotchas**
 *
 * Inngest makes 20 retries at most (`retries: 20`), which `overnight` reaches after seven hours.
 */
export const inngest = ({ NonRetriableError, RetryAfterError }: InngestErrors, options?: DirectiveOptions) => {
  const decide = directives(options)
  return (error: unknown, { attempt }: { readonly attempt: number }): unknown => {
    const directive = decide(error, { retries: attempt })
    if (isCancellation(directive)) return error
    return directive.fatal
      ? new NonRetriableError(sentenceOf(directive), { cause: error })
      : new RetryAfterError(sentenceOf(directive), directive.retryAfterMs, { cause: error })
  }
}

/** The classes of `workflow`. */
export interface WorkflowErrors {
  readonly FatalError: new (message: string) => Error
  readonly RetryableError: new (message: string, options?: { retryAfter?: number }) => Error
}

/** What is read of `getStepMetadata()` of `workflow`. */
export interface StepMetadata {
  /** From 1. */
  readonly attempt: number
  /** When the first attempt began. */
  readonly stepStartedAt?: Date
}

/**
 * What a step of Vercel's [Workflow](https://useworkflow.dev) throws for what a call threw.
 *
 * **Gotchas**
 *
 * A step has 3 retries by default: set its `maxRetries` to what the schedule needs, such as 40.
 */
export const workflow = ({ FatalError, RetryableError }: WorkflowErrors, options?: DirectiveOptions) => {
  const decide = directives(options)
  return (error: unknown, { attempt, stepStartedAt }: StepMetadata): unknown => {
    const directive = decide(error, { retries: attempt - 1, since: stepStartedAt?.getTime() })
    if (isCancellation(directive)) return error
    return directive.fatal
      ? new FatalError(sentenceOf(directive))
      : new RetryableError(sentenceOf(directive), { retryAfter: directive.retryAfterMs })
  }
}

/** What is read of the argument of a hook of `@trigger.dev/sdk`. */
export interface Caught {
  readonly error: unknown
  readonly ctx: {
    readonly attempt: { readonly number: number }
    readonly run: { readonly startedAt?: Date }
  }
}

/**
 * The hook `catchError` of a task of [Trigger.dev](https://trigger.dev).
 *
 * **Gotchas**
 *
 * The task's `retry.maxAttempts` ends it before its time: set what the schedule needs, such as 40.
 */
export const trigger = (options?: DirectiveOptions) => {
  const decide = directives(options)
  return ({ ctx, error }: Caught): { skipRetrying: true } | { retryAt: Date } | undefined => {
    const directive = decide(error, { retries: ctx.attempt.number - 1, since: ctx.run.startedAt?.getTime() })
    if (isCancellation(directive)) return undefined
    return directive.fatal ? { skipRetrying: true } : { retryAt: new Date(Date.now() + directive.retryAfterMs) }
  }
}

/** The class `DBOS` of `@dbos-inc/dbos-sdk`, as far as it is used. */
export interface Dbos {
  runStep<A>(work: () => Promise<A>, config?: { name?: string }): Promise<A>
  sleep(ms: number): Promise<void>
  now(): Promise<number>
}

/**
 * Makes calls in a workflow of [DBOS](https://www.dbos.dev): each attempt is a step, and each wait a durable sleep. It throws the last
 * attempt's error, as an `Error` with the reason and the sentence of the provider.
 */
export const dbos = (DBOS: Dbos, options?: DirectiveOptions) => {
  const decide = directives(options)
  return async <A>(name: string, work: () => Promise<A>): Promise<A> => {
    const since = await DBOS.now()
    for (let retries = 0; ; retries++) {
      const attempt = await DBOS.runStep(
        async (): Promise<Attempt<A>> => {
          try {
            return { value: await work() }
          } catch (error) {
            const directive = decide(error, { retries, since })
            if (isCancellation(directive)) throw error
            return directive.fatal ? { fatal: sentenceOf(directive) } : { retryAfterMs: directive.retryAfterMs }
          }
        },
        { name }
      )
      if ("value" in attempt) return attempt.value
      if ("fatal" in attempt) throw new Error(attempt.fatal)
      await DBOS.sleep(attempt.retryAfterMs)
    }
  }
}

// Decides what follows an error of a call: it is final, or the call is made again after some time.
//
// The engine keeps the wait and makes the call; what it lacks is which errors pass and how long they take. Both are those of a turn: the
// classification of `@holdfast/policy` (rules C1 to C10), the provider's own delay (P5), the schedule, its jitter, caps and budget (P2 to P6).

/** What decisions are made from. */
export interface DirectiveOptions {
  /** A profile, or settings over one. Default: `overnight`, which waits for hours. Its routing and its timeouts are not used. */
  readonly retry?: RetryChoice
}

/** One call that failed. */
export interface Failed {
  /** The retries that were made before, from 0. */
  readonly retries: number
  /** When the first attempt began, in milliseconds since 1970: the budget counts from then. Absent: it counts the waits of the schedule. */
  readonly since?: number | undefined
}

/** A decision about an error. */
export type EngineDirective = {
  /** The reason, such as `overloaded`, and the message of the provider. */
  readonly failure: Failure.Failure
} & (
  | {
      readonly fatal: true
      /** The limit that ended it; `not-retryable`: no time mends the error. */
      readonly because: "not-retryable" | RetryPolicy.RefusalReason
    }
  | {
      readonly fatal: false
      /** Milliseconds from now. */
      readonly retryAfterMs: number
    }
)

/** Decides about errors by one policy. */
export type Directives = (error: unknown, failed: Failed) => EngineDirective

/** Reads the options once, for any number of decisions. Throws a `HoldfastError` that names what is wrong. */
export const directives = ({ retry }: DirectiveOptions = {}): Directives => {
  const policy = policyOf(retry)
  return (error, { retries, since }) => {
    const now = Date.now()
    const failure = Classification.ofThrown(error, now)
    if (!isMendable(failure, retries)) return { fatal: true, because: "not-retryable", failure }
    const sleptMs =
      since === undefined
        ? Backoff.sumBefore(policy.schedule, retries, policy.budget.totalMs)
        : Math.max(0, now - since)
    const spent = { sleptMs, elapsedMs: sleptMs, spread: Math.random() }
    const decision = RetryPolicy.decide(policy, retries, failure, spent)
    return decision._tag === "Refused"
      ? { fatal: true, because: decision.because, failure }
      : { fatal: false, retryAfterMs: decision.delayMs, failure }
  }
}

/** What an engine shows of a decision: the reason, the HTTP status, and the message of the provider. */
export const sentenceOf = ({ failure }: EngineDirective): string =>
  `${failure.reason}${failure.status === undefined ? "" : ` (${failure.status})`}: ${failure.message}`

/** Whether an error is a cancellation: it belongs to the engine, which must get it as it is. */
export const isCancellation = ({ failure }: EngineDirective): boolean => failure.reason === "aborted"

// --- internal

/** The result of a step, which is in the engine's database. */
type Attempt<A> = { readonly value: A } | { readonly fatal: string } | { readonly retryAfterMs: number }

/** The retries of a bug of the program (rule C10). */
const RETRIES_OF_A_BUG = 2

/** The same call can never succeed with a context that is too long (P2): nothing here makes it smaller. */
const isMendable = ({ defect, reason, retryable }: Failure.Failure, retries: number): boolean =>
  retryable && reason !== "context-overflow" && (defect !== true || retries < RETRIES_OF_A_BUG)
