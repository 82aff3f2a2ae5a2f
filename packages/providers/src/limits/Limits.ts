/**
 * Limits an attempt's time to first content and between contents (C8).
 *
 * Limits.L1. Content counts, and progress on it (`Progress`). Pings never get here, and empty deltas do not count.
 * Limits.L2. Connecting counts towards the first content.
 * Limits.L3. Only waiting for the provider counts, not the time in which a slow consumer pulls nothing.
 * Limits.L4. A limit is the same for every attempt.
 * Limits.L5. Each attempt that has to wait has one timer; a delta starts no timer and no fiber. When the timer fires, the watchdog reads
 *     the clock and sets the timer again for the remaining time.
 * Limits.L6. Content in the socket counts, even if this process was suspended and has not read it when a limit is over (`Deadline`).
 * Limits.L7. A request that is too large to be sent fails without a call (`RequestSize`).
 *
 * The provider's stream runs in a fiber of its own, which pulls on demand, so the watchdog can interrupt it without interrupting the
 * turn. Events that a native provider pushes (`Push`) bypass that fiber; the watchdog stops the push.
 */
import { Provider } from "@holdfast/kernel"
import { Opening, Push } from "@holdfast/kernel/host"
import { Classification } from "@holdfast/policy"
import { Failure } from "@holdfast/wire"
import type * as Arr from "effect/Array"
import * as Channel from "effect/Channel"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Deadline from "./Deadline.ts"
import * as OpeningStream from "../OpeningStream.ts"
import * as RequestSize from "./RequestSize.ts"
import { ResponseProgress } from "./ResponseProgress.ts"

/** The limits in milliseconds; an absent key means no limit. */
export interface Limits {
  readonly firstContentMs?: number | undefined
  readonly idleMs?: number | undefined
}

/** Wraps a provider: its attempts fail with a `timeout` when they are silent for too long, and without a call when their request is too large. */
export const withLimits = (provider: Provider.Provider["Service"], limits: Limits): Provider.Provider["Service"] => ({
  stream: (request) =>
    Opening.through(
      () => {
        const refused = RequestSize.refusalOf(request) // L7
        return refused === undefined ? provider.stream(request) : Stream.fail(refused)
      },
      (inner) =>
        streamOf((scope) =>
          Effect.flatMap(OpeningStream.worldOf, (world) =>
            guarded(inner(), makeSilence(limits, world.elapsed), world, scope)
          )
        ),
      (opening) => limited(opening, limits)
    )
})

// --- internal

/** The same for a call that begins without a fiber. Its response is guarded as a stream, for the rest of the limit. */
const limited =
  (opening: Opening.Opening, limits: Limits): Opening.Opening =>
  (world, listener) => {
    const silence = makeSilence(limits, world.elapsed)
    let isSettled = false
    let stop: (() => void) | undefined
    const settle = (): boolean => {
      if (isSettled) return false
      isSettled = true
      stop?.()
      return true
    }
    silence.begin()
    const cancel = opening(world, {
      refused: (refusal) => {
        if (settle()) listener.refused(refusal)
      },
      answered: ({ cancel, rest }) => {
        if (!settle()) return cancel()
        silence.end([])
        listener.answered({ cancel, rest: guardedRest(rest, silence, world) })
      }
    })
    if (!isSettled) {
      stop = watching(silence, world, (over) => {
        if (!settle()) return
        cancel()
        listener.refused(over)
      })
    }
    return () => {
      if (settle()) cancel()
    }
  }

/** Opening.O4 */
const guardedRest = (rest: Opening.Events, silence: Silence, world: Opening.World): Opening.Events =>
  streamOf((scope) => guarded(rest, silence, world, scope))

const streamOf = (pull: (scope: Scope.Scope) => Effect.Effect<EventPull>): Opening.Events =>
  Stream.fromChannel(Channel.fromTransform((_upstream, scope) => pull(scope)))

/** Watches a silence, and calls `act` once with the failure of an exceeded limit. Returns a function that stops it. */
const watching = (
  silence: Silence,
  world: Opening.World,
  act: (over: Failure.ProviderFailure) => void
): (() => void) => {
  let stop: (() => void) | undefined
  const watch = (): void => {
    const seen = silence.check()
    if (typeof seen !== "number") act(seen)
    else if (seen < Infinity) stop = Deadline.after(world, seen, watch)
  }
  watch()
  return () => stop?.()
}

type Events = Arr.NonEmptyReadonlyArray<Provider.ProviderEvent>
type EventPull = Pull.Pull<Events, Failure.ProviderFailure>

/** Measures the waiting time since the provider's last content. */
interface Silence {
  /** The consumer starts to wait. */
  readonly begin: () => void
  /** The consumer has received events. */
  readonly end: (events: ReadonlyArray<Provider.ProviderEvent>) => void
  /** Progress without an event. */
  readonly progressed: () => void
  /** The failure of the exceeded limit; otherwise the milliseconds until the next check, `Infinity` without limits. */
  readonly check: () => Failure.ProviderFailure | number
}

const makeSilence = (limits: Limits, now: () => number): Silence => {
  const { firstContentMs = Infinity, idleMs = Infinity } = limits
  let isFirst = true
  let waitedMs = 0
  let since: number | undefined
  const reset = () => {
    isFirst = false
    waitedMs = 0
  }
  return {
    begin: () => {
      since = now()
    },
    end: (events) => {
      if (events.some(isProgress)) reset()
      else waitedMs += since === undefined ? 0 : now() - since
      since = undefined
    },
    progressed: () => {
      reset()
      if (since !== undefined) since = now()
    },
    check: () => {
      const limitMs = isFirst ? firstContentMs : idleMs
      const leftMs = limitMs - waitedMs - (since === undefined ? 0 : now() - since)
      if (leftMs <= 0 && since !== undefined) {
        const failure = Classification.timedOut(isFirst ? "first-content" : "idle", limitMs)
        return new Failure.ProviderFailure({ failure })
      }
      // The first content may arrive while the watchdog sleeps, so it must not sleep past the idle limit that holds from then on.
      return Math.min(leftMs > 0 ? leftMs : limitMs, idleMs)
    }
  }
}

const isProgress = (event: Provider.ProviderEvent): boolean => !Provider.isEmptyDelta(event)

/**
 * Runs `inner` in a fiber that pulls on demand.
 *
 * The two fibers resume each other synchronously, which needs neither a queue nor a turn of the scheduler. At most one of `answer` and
 * `ask` is set: either the consumer waits, or the producer. Events that arrive before the consumer starts to wait are in `pending`;
 * no watchdog is needed then.
 */
const guarded = (
  inner: Opening.Events,
  silence: Silence,
  world: Opening.World,
  scope: Scope.Scope
): Effect.Effect<EventPull> => {
  let answer: ((exit: EventPull) => void) | undefined
  let ask: ((effect: Effect.Effect<void>) => void) | undefined
  let pending: EventPull | undefined
  let stopWatching: (() => void) | undefined
  let push: () => Push.Push<Events> | undefined = () => undefined
  let endPush: (() => void) | undefined

  const deliver = (exit: EventPull) => {
    const waiting = answer
    answer = undefined
    if (waiting !== undefined) return waiting(exit)
    pending = exit
    endPush?.()
  }
  const asked = Effect.callback<void>((resume) => {
    ask = resume
  })
  const handOver = (events: Events) =>
    Effect.callback<void>((resume) => {
      ask = resume
      silence.end(events)
      deliver(Effect.succeed(events))
    })

  // The producer has its own scope: it is interrupted before its resources are released.
  const producer = Effect.scopedWith((held) =>
    Effect.flatMap(Effect.andThen(asked, Channel.toPullScoped(Stream.toChannel(inner), held)), (pull) => {
      push = () => Push.of(pull)
      return Effect.forever(Effect.flatMap(pull, handOver), { disableYield: true })
    })
  ).pipe(Effect.provideService(ResponseProgress, silence.progressed), Effect.forkIn(scope, { startImmediately: true }))

  const taken = (exit: EventPull): EventPull => {
    pending = undefined
    return exit
  }
  const answered: EventPull = Effect.callback((resume) => {
    if (pending === undefined) answer = resume
    else resume(taken(pending)) // a limit of 0 ms
    return Effect.sync(() => {
      answer = undefined
    })
  })
  const pull: EventPull = Effect.suspend(() => {
    if (pending !== undefined) return taken(pending)
    silence.begin()
    const waiting = ask
    ask = undefined
    waiting?.(Effect.void)
    if (pending !== undefined) return taken(pending)
    stopWatching ??= watching(silence, world, (over) => deliver(Effect.fail(over)))
    return answered
  })

  /** The same silence, without the fiber of the producer. */
  const pushed =
    (source: Push.Push<Events>): Push.Push<Events> =>
    (take, over) => {
      let isOn = true
      const end = () => {
        if (!isOn) return
        isOn = false
        endPush = undefined
        silence.end([])
      }
      const ended = () => {
        end()
        over()
      }
      const cut = () => {
        stop()
        ended()
      }
      const taken = (events: Events): boolean => {
        silence.end(events)
        endPush = undefined
        const goesOn = take(events)
        isOn &&= goesOn
        if (isOn) begin()
        return goesOn
      }
      const begin = () => {
        endPush = cut
        silence.begin()
      }
      begin()
      const stop = source(taken, ended)
      return () => {
        end()
        stop()
      }
    }

  return Effect.map(producer, (fiber) => {
    fiber.addObserver((exit) => {
      stopWatching?.()
      deliver(exit)
    })
    return Push.attach(pull, () => {
      // The producer waits for the next demand, and the watchdog runs.
      const source = pending === undefined && ask !== undefined && stopWatching !== undefined ? push() : undefined
      return source && pushed(source)
    })
  })
}
