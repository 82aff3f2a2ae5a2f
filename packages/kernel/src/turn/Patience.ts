/**
 * Gives one call of a model the patience of a turn: its failures before content are retried as a policy decides.
 *
 * For loops that others own, and for responses of any element type: an agent framework, a gateway, a middleware. The call is run as a turn of
 * one step by `Turn.runTurn`, so decisions, waits, routes, records and reports to observers are those of a turn. Its elements go to the
 * consumer as they come; the turn sees only that there was content.
 *
 * - Elements before the first content are held back. Those of an attempt that fails are never given to the consumer (rule D4).
 * - After the first content nothing is retried, whatever the strategy's `midStream` is: a failure reaches the consumer behind
 *   the elements that it has, which cannot be taken back.
 * - A consumer that stops ends the call, or the wait for the next one.
 */
import { defined, type Failure, Ids, type Target, type TurnEvent } from "@holdfast/wire"
import type * as Arr from "effect/Array"
import type * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { Checkpoint } from "../ports/Checkpoint.ts"
import { EventSink } from "../ports/EventSink.ts"
import { type EmittedFailure, Provider, type ProviderEvent } from "../ports/Provider.ts"
import { RetryStrategy } from "../ports/RetryStrategy.ts"
import { Toolbox, noop } from "../ports/Toolbox.ts"
import type { TurnParked } from "../ports/TurnParked.ts"
import type { TurnStopped } from "../ports/TurnStopped.ts"
import * as Turn from "./Turn.ts"

/** Which attempt is made, and where it goes. */
export interface Attempt {
  /** 0-based. */
  readonly attempt: number
  readonly target: Target.Target
  /** The name of one of the provider's credentials; absent: its first. */
  readonly credential?: string
}

/** A call, and how its response is read. */
export interface Call<A, E, R> {
  /** Names the call in records and events; needed where a `Checkpoint` is to find it again. Default: `call`. */
  readonly id?: Ids.TurnId
  readonly target: Target.Target
  /** Makes one attempt. Interruption must close the connection. */
  readonly stream: (attempt: Attempt) => Stream.Stream<A, E, R>
  /** Whether an element is content: from the first one on nothing is retried. */
  readonly isContent: (element: A) => boolean
  /** The failure that an element reports; `undefined`: it reports none. */
  readonly errorOf?: (element: A) => EmittedFailure | undefined
  /** Classifies what a stream failed with. */
  readonly failureOf: (error: E) => Failure.ProviderFailure
  /** Gets the events of waits, switches and their ends, as they happen. It must not throw. */
  readonly emit?: (event: PatienceEvent) => void
  /** Wraps the provider that the turn is run on, such as in limits on silence. Each chunk of content is one event there. */
  readonly through?: (provider: Provider["Service"]) => Provider["Service"]
  /** Succeeds when the call is to end. */
  readonly abort?: Effect.Effect<void>
}

/** What a patient call emits besides its elements. */
export type PatienceEvent = Extract<TurnEvent.TurnEvent, { readonly type: (typeof EVENTS)[number] }>

/** The call has failed for good, or was aborted. */
export class CallEnded<E> extends Data.TaggedError("CallEnded")<{
  readonly status: "failed" | "aborted"
  readonly failure: Failure.Failure
  /** What the last attempt failed with; absent: it reported its failure as an element, or was aborted. */
  readonly cause: E | undefined
}> {
  override get message(): string {
    return this.failure.message
  }
}

/**
 * The elements of the response, after as many attempts as it takes.
 *
 * **Details**
 *
 * `RetryStrategy`, `Router`, `Observer` and `Checkpoint` are taken from the context where they are there. Without a `RetryStrategy` there are no
 * retries.
 */
export const stream = <A, E, R>(call: Call<A, E, R>): Stream.Stream<A, CallEnded<E> | TurnParked | TurnStopped, R> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const services = yield* Effect.context<R>()
      const elements = yield* Queue.bounded<A, Ended<E> | Cause.Done>(CAPACITY)
      const id = call.id ?? Ids.TurnId.make("call")
      let last: E | undefined
      const provider: Provider["Service"] = {
        stream: ({ attempt, credential, target }) => {
          last = undefined
          const attempted = call.stream({ attempt, target, ...defined({ credential }) })
          const failed = Stream.mapError(attempted, (error) => {
            last = error
            return call.failureOf(error)
          })
          return events(Stream.provideContext(failed, services), call, elements)
        }
      }
      const run = Turn.runTurn({
        conversationId: Ids.ConversationId.make(id),
        turnId: id,
        target: call.target,
        history: [],
        prompt: "",
        startedAt: yield* Clock.currentTimeMillis,
        ...defined({ abort: call.abort })
      }).pipe(
        withoutVoids(services),
        Effect.provideContext(
          Context.make(Provider, call.through?.(provider) ?? provider).pipe(
            Context.add(EventSink, sinkOf(call.emit)),
            Context.add(Toolbox, noop),
            Context.add(
              Checkpoint,
              Context.getOrElse(services as Context.Context<never>, Checkpoint, () => IN_MEMORY)
            )
          )
        ),
        Effect.matchCauseEffect({
          onFailure: (cause) => Queue.failCause(elements, cause),
          onSuccess: ({ error, status }) =>
            status === "completed"
              ? Queue.end(elements)
              : Queue.fail(elements, new CallEnded({ status, failure: error ?? ABORTED, cause: last }))
        })
      )
      yield* Effect.forkScoped(run) // a consumer that stops ends the call
      return Stream.fromQueue(elements)
    })
  )

// --- internal

type Ended<E> = CallEnded<E> | TurnParked | TurnStopped

/** So many elements may wait for the consumer before the connection is read no further. */
const CAPACITY = 64

/** The failure of a call that was aborted. */
const ABORTED: Failure.Failure = { reason: "aborted", message: "The call was aborted.", retryable: false }

const EVENTS = [
  "provider-retry",
  "retry-end",
  "retry-fallback-applied",
  "retry-fallback-succeeded",
  "model-change"
] as const

const IN_MEMORY: Checkpoint["Service"] = { run: (_name, _schema, effect) => effect, known: [] }

/** After the first content nothing is retried. */
const withoutVoids = (services: Context.Context<never>) => {
  const strategy = Context.getOrUndefined(services, RetryStrategy)
  return <A, E, R>(run: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    strategy?.midStream === undefined
      ? run
      : Effect.provideService(run, RetryStrategy, { ...strategy, midStream: () => "fail" })
}

const isEvent = (event: TurnEvent.TurnEvent): event is PatienceEvent =>
  (EVENTS as ReadonlyArray<string>).includes(event.type)

const sinkOf = (emit: ((event: PatienceEvent) => void) | undefined): EventSink["Service"] => {
  const pass = (event: TurnEvent.TurnEvent): void => {
    if (emit !== undefined && isEvent(event)) emit(event)
  }
  return { live: pass, persist: (events) => Effect.sync(() => events.forEach(pass)) }
}

/** Content, as the turn sees it: it adds no text to the turn's record. */
const CONTENT: Arr.NonEmptyReadonlyArray<ProviderEvent> = [{ type: "usage", usage: {} }]
const FINISH: Arr.NonEmptyReadonlyArray<ProviderEvent> = [{ type: "finish", finishReason: "stop" }]

type EventPull = Pull.Pull<Arr.NonEmptyReadonlyArray<ProviderEvent>, Failure.ProviderFailure>

/** Hands the elements of one attempt to the consumer, and gives the turn what it has to know of them. */
const events = <A, E>(
  attempt: Stream.Stream<A, Failure.ProviderFailure>,
  { errorOf, isContent }: Pick<Call<A, E, never>, "errorOf" | "isContent">,
  elements: Queue.Queue<A, Ended<E> | Cause.Done>
): Stream.Stream<ProviderEvent, Failure.ProviderFailure> =>
  Stream.fromChannel(
    Channel.fromTransform((_upstream, scope) =>
      Effect.map(Channel.toPullScoped(Stream.toChannel(attempt), scope), (pull) => {
        let held: Array<A> = []
        let isOpen = false
        const handOver = (): Effect.Effect<void> => {
          const ready = held
          held = []
          return Effect.asVoid(Queue.offerAll(elements, ready))
        }
        // Nothing is pulled behind an error or a finish: they end the attempt.
        const next: EventPull = Effect.suspend((): EventPull =>
          Pull.matchEffect(pull, {
            onSuccess: (chunk): EventPull => {
              for (const element of chunk) {
                const failure = errorOf?.(element)
                if (failure !== undefined)
                  return Effect.as(isOpen ? handOver() : Effect.void, [{ type: "error", failure }])
                held.push(element)
                isOpen ||= isContent(element)
              }
              return isOpen ? Effect.as(handOver(), CONTENT) : next // D4
            },
            onFailure: (cause): EventPull => Effect.failCause(cause),
            onDone: (): EventPull => Effect.as(handOver(), FINISH)
          })
        )
        return next
      })
    )
  )
