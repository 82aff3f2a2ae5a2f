/**
 * Decisions as each engine takes them: an error of its own class, the result of a hook, or a loop of steps and sleeps.
 *
 * Classes and objects of an engine are arguments: the package imports none of them. A cancellation is always the engine's own, and is
 * returned as it is.
 */
import { isCancellation, sentenceOf, directives, type DirectiveOptions } from "./Directives.ts"

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

// --- internal

/** The result of a step, which is in the engine's database. */
type Attempt<A> = { readonly value: A } | { readonly fatal: string } | { readonly retryAfterMs: number }
