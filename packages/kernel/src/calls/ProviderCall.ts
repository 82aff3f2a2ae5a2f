/**
 * A provider call as its listener gets it, without a fiber: the one port inside. `Provider.stream` is the port outside.
 *
 * `fromStream` and `toStream` change one into the other. A provider that is made of a call (`provider`) has both, and a wrapper of a
 * provider wraps its call (`of`), once.
 *
 * ProviderCall.L1. `events` gets the reads in order. After it has returned false nothing is called until `more`, which may be called before
 *     `events` returns.
 * ProviderCall.L2. `end` is called once, and nothing after it. Nothing is called after `cancel`. Both may happen before the call returns.
 * ProviderCall.L3. A call does not throw: what a provider throws is its end, as a defect (C10). So is what `events` throws.
 *
 * A stream may be open for an hour: a call keeps nothing of its request beyond the request's own sending. Closures of one function share what any
 * of them uses.
 */
import type { Failure } from "@holdfast/wire"
import type * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Pull from "effect/Pull"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as CallFailure from "./CallFailure.ts"
import * as Monotonic from "./Monotonic.ts"
import * as Push from "./Push.ts"
import { ResponseProgress } from "./ResponseProgress.ts"
import type { Provider, ProviderEvent, ProviderRequest } from "../ports/Provider.ts"

/** The events of one read. */
export type Events = Arr.NonEmptyReadonlyArray<ProviderEvent>

/** How a call ended: a success is the end of its stream, with `finish` or without. */
export type End = Exit.Exit<void, Failure.ProviderFailure>

/** A failure as one call makes it: the `error` event that it emits, or the failure of its stream. */
export type Refusal = Extract<ProviderEvent, { readonly type: "error" }> | Failure.ProviderFailure

/** Gets what a call brings. */
export interface Listener {
  /** Takes the events of one read; false: no more until `more` (ProviderCall.L1). */
  readonly events: (events: Events) => boolean
  /** The call is over (ProviderCall.L2). */
  readonly end: (end: End) => void
  /** There was progress that is no event yet (`ResponseProgress`). */
  readonly progress: () => void
}

/** A call under way. */
export interface Running {
  readonly more: () => void
  /** Ends the call; its connection closes. */
  readonly cancel: () => void
}

/** The clock, timer and fibers that a call gets from its host. */
export interface World {
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Milliseconds since an arbitrary moment, by a clock that is never set. */
  readonly elapsed: () => number
  /** Calls `act` after some milliseconds; returns a function that cancels it. */
  readonly after: (ms: number, act: () => void) => () => void
  /** Runs an effect, then calls `ended`; returns a function that interrupts it. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>, ended: (exit: Exit.Exit<A, E>) => void) => () => void
}

/** Makes one attempt. */
export type ProviderCall = (request: ProviderRequest, world: World, listener: Listener) => Running

/** The provider of a call. */
export const provider = (call: ProviderCall): Provider["Service"] => {
  const own: ProviderCall = (request, world, listener) => {
    try {
      return call(request, world, listener)
    } catch (defect) {
      listener.end(Exit.die(defect)) // ProviderCall.L3
      return OVER
    }
  }
  return { stream: Object.assign((request: ProviderRequest) => toStream(own, request), { [CALL]: own }) }
}

/** The call of a provider. */
export const of = (provider: Provider["Service"]): ProviderCall => ownOf(provider) ?? fromStream(provider.stream)

/** The call of a provider that is a stream: a fiber of the host reads it. */
export const fromStream =
  (stream: Provider["Service"]["stream"]): ProviderCall =>
  (request, world, listener) =>
    pulled(world, listener, (scope) => pullOf(() => stream(request), scope))

/** A call that reads a pull in a fiber of the host. */
export const pulled = (
  world: World,
  listener: Listener,
  make: (scope: Scope.Scope) => Effect.Effect<Pull.Pull<Events, Failure.ProviderFailure>, Failure.ProviderFailure>
): Running => {
  let isOver = false
  let isWanted: boolean | undefined
  let wake: Deferred.Deferred<void> | undefined
  const take = (events: Events): Effect.Effect<void> | undefined => {
    if (isOver) return Effect.never
    isWanted = false
    if (listener.events(events) || isWanted) return undefined
    wake = Deferred.makeUnsafe()
    return Deferred.await(wake)
  }
  const stop = world.run(
    Effect.scopedWith((scope) => Effect.flatMap(make(scope), (pull) => Push.forEach(pull, take))).pipe(
      Effect.provideService(ResponseProgress, () => isOver || listener.progress())
    ),
    (exit) => {
      if (isOver) return
      isOver = true
      listener.end(endOf(exit))
    }
  )
  return {
    more: () => {
      isWanted = true
      if (wake !== undefined) Deferred.doneUnsafe(wake, Exit.void)
    },
    cancel: () => {
      isOver = true
      stop()
    }
  }
}

/** A call as a stream, which is made when the stream runs. */
export const toStream = (
  call: ProviderCall,
  request: ProviderRequest
): Stream.Stream<ProviderEvent, Failure.ProviderFailure> =>
  Stream.fromChannel(
    Channel.fromTransform((_upstream, scope) =>
      Effect.map(Effect.zip(worldOf(scope), ResponseProgress), ([world, progress]) =>
        new Reading(progress).of(call, request, world, scope)
      )
    )
  )

/** Ends a call with a failure. */
export const refuse = (listener: Listener, refusal: Refusal): Running => {
  let isOver = false
  const end = (): void => {
    if (isOver) return
    isOver = true
    listener.end("_tag" in refusal ? Exit.fail(refusal) : Exit.void)
  }
  if ("_tag" in refusal || listener.events([refusal])) end()
  return { more: end, cancel: () => void (isOver = true) }
}

/** Ends a call. */
export const end = (listener: Listener, how: End): Running => {
  listener.end(how)
  return OVER
}

/** A call that begins later: `wait` calls `go` once, at once or later, and returns a function that ends the waiting. */
export const later = (wait: (go: (begin: () => Running) => void) => () => void): Running => {
  let isOver = false
  let isWanted = false
  let running: Running | undefined
  let leave: (() => void) | undefined
  const stop = wait((begin) => {
    if (isOver) return
    running = begin()
    leave = undefined
    if (isOver) running.cancel()
    else if (isWanted) running.more()
  })
  if (running === undefined) leave = stop
  return {
    more: () => {
      if (running === undefined) isWanted = true
      else running.more()
    },
    cancel: () => {
      isOver = true
      if (running === undefined) leave?.()
      else running.cancel()
    }
  }
}

/** A call that begins when an effect has run; what fails that ends the call. */
export const behind = (
  effect: Effect.Effect<void, Failure.ProviderFailure>,
  world: World,
  listener: Listener,
  begin: () => Running
): Running =>
  later((go) => world.run(effect, (exit) => go(() => (Exit.isSuccess(exit) ? begin() : end(listener, exit)))))

/** The failure of a call that ended before it had finished. */
export const brokenOf = (end: End): CallFailure.Broken =>
  Exit.isSuccess(end) ? { failure: CallFailure.incomplete } : CallFailure.brokenOf<never>(end.cause)

/** The failure of a refusal. */
export const failureOf = (refusal: Refusal): CallFailure.Broken =>
  CallFailure.withBody(CallFailure.emitted(refusal.failure), refusal.body)

/** The world of a fiber, with its context. What it runs ends with the scope. */
export const worldOf = (scope: Scope.Scope): Effect.Effect<World> =>
  Effect.zipWith(
    Scope.provide(FiberSet.makeRuntime<never, unknown, unknown>(), scope),
    Clock.Clock,
    (fork, clock): World => {
      const run: World["run"] = (effect, ended) => {
        const fiber = fork(effect)
        fiber.addObserver(ended)
        return () => fiber.interruptUnsafe()
      }
      return {
        now: () => clock.currentTimeMillisUnsafe(),
        elapsed: () => Monotonic.millis(clock),
        after: (ms, act) => run(Effect.andThen(Effect.sleep(ms), Effect.sync(act)), nothing),
        run
      }
    }
  )

// --- internal

const CALL: unique symbol = Symbol("@holdfast/kernel/ProviderCall")

/** The call that a provider was made of. It is at the function: a provider that was copied with another `stream` has it no more. */
const ownOf = ({ stream }: Provider["Service"]): ProviderCall | undefined =>
  (stream as typeof stream & { readonly [CALL]?: ProviderCall })[CALL]

const nothing = (): void => {}

const OVER: Running = { more: nothing, cancel: nothing }

const pullOf = (stream: () => Stream.Stream<ProviderEvent, Failure.ProviderFailure>, scope: Scope.Scope) =>
  // Suspended: the fiber keeps this effect, and would keep the stream with it.
  Effect.suspend(() => Channel.toPullScoped(Stream.toChannel(stream()), scope))

const endOf = (exit: Exit.Exit<void, Failure.ProviderFailure | Cause.Done<void>>): End => {
  const why = Exit.isSuccess(exit) ? undefined : Pull.filterNoDone(exit.cause)
  return why === undefined || Result.isFailure(why) ? Exit.void : Exit.failCause(why.success)
}

type Next = Pull.Pull<Events, Failure.ProviderFailure>

/** Reads a call in a fiber, which pulls each read. */
class Reading implements Listener {
  readonly progress: () => void
  private running: Running | undefined = undefined
  private isPaused = false
  private next: Next | undefined = undefined
  private wake: Deferred.Deferred<void> | undefined = undefined

  constructor(progress: () => void) {
    this.progress = progress
  }

  readonly events = (events: Events): boolean => {
    this.isPaused = true
    this.settle(Effect.succeed(events))
    return false
  }

  readonly end = (end: End): void => this.settle(Exit.isSuccess(end) ? Cause.done() : Effect.failCause(end.cause))

  /** Gives what is next, each time it runs. The first time makes the call, which ends with the scope at the latest. */
  of(call: ProviderCall, request: ProviderRequest, world: World, scope: Scope.Scope): Next {
    let begin: (() => Running) | undefined = () => call(request, world, this)
    const cancel = Effect.sync(() => this.running?.cancel())
    const begun = Effect.andThen(Scope.addFinalizer(scope, cancel), () => {
      const made = begin
      begin = undefined
      this.running = made?.()
      return this.awaited
    })
    return Effect.suspend(() => {
      if (begin !== undefined) return begun
      if (this.next === undefined && this.isPaused) {
        this.isPaused = false
        this.running?.more()
      }
      return this.awaited
    })
  }

  private readonly taken = (): Next => {
    const { next } = this
    this.next = undefined
    return next ?? Cause.done()
  }

  private readonly awaited: Next = Effect.suspend(() => {
    if (this.next !== undefined) return this.taken()
    this.wake = Deferred.makeUnsafe()
    return Effect.flatMap(Deferred.await(this.wake), this.taken)
  })

  private settle(next: Next): void {
    this.next = next
    if (this.wake !== undefined) Deferred.doneUnsafe(this.wake, Exit.void)
  }
}
