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
 */
import { Provider } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
import { Classification } from "@holdfast/policy"
import { Failure } from "@holdfast/wire"
import * as Exit from "effect/Exit"
import * as Deadline from "./Deadline.ts"
import * as RequestSize from "./RequestSize.ts"

/** The limits in milliseconds; an absent key means no limit. */
export interface Limits {
  readonly firstContentMs?: number | undefined
  readonly idleMs?: number | undefined
}

/** Wraps a provider: its attempts fail with a `timeout` when they are silent for too long, and without a call when their request is too large. */
export const withLimits = (provider: Provider.Provider["Service"], limits: Limits): Provider.Provider["Service"] => {
  const call = ProviderCall.of(provider)
  return ProviderCall.provider((request, world, listener) => {
    const refused = RequestSize.refusalOf(request) // L7
    if (refused !== undefined) return ProviderCall.refuse(listener, refused)
    const watched = new Watched(makeSilence(limits, world.elapsed), world, listener)
    watched.begin(call(request, world, watched))
    return watched
  })
}

// --- internal

/** A call whose silence is watched. */
class Watched implements ProviderCall.Listener, ProviderCall.Running {
  private readonly silence: Silence
  private readonly world: ProviderCall.World
  private readonly listener: ProviderCall.Listener
  private running: ProviderCall.Running | undefined = undefined
  private isWaiting = true
  private isOver = false
  private stop: (() => void) | undefined = undefined

  constructor(silence: Silence, world: ProviderCall.World, listener: ProviderCall.Listener) {
    this.silence = silence
    this.world = world
    this.listener = listener
    silence.begin()
  }

  begin(running: ProviderCall.Running): void {
    this.running = running
    this.watch()
  }

  readonly events = (events: ProviderCall.Events): boolean => {
    this.silence.end(events)
    this.isWaiting = false
    const goesOn = this.listener.events(events)
    if (goesOn) this.wait()
    return goesOn
  }

  readonly end = (end: ProviderCall.End): void => {
    if (this.settle()) this.listener.end(end)
  }

  readonly progress = (): void => {
    this.silence.progressed()
    this.listener.progress()
  }

  readonly more = (): void => {
    this.wait()
    this.running?.more()
    this.watch()
  }

  readonly cancel = (): void => {
    if (this.settle()) this.running?.cancel()
  }

  private wait(): void {
    this.isWaiting = true
    this.silence.begin()
  }

  /** Limits.L5 */
  private watch(): void {
    if (!this.isWaiting || this.isOver || this.stop !== undefined) return
    this.stop = nothing
    const stop = watching(this.silence, this.world, (over) => {
      if (!this.settle()) return
      this.running?.cancel()
      this.listener.end(Exit.fail(over))
    })
    if (this.isOver) stop()
    else this.stop = stop
  }

  private settle(): boolean {
    if (this.isOver) return false
    this.isOver = true
    this.stop?.()
    return true
  }
}

const nothing = (): void => {}

/** Watches a silence, and calls `act` once with the failure of an exceeded limit. Returns a function that stops it. */
const watching = (
  silence: Silence,
  world: ProviderCall.World,
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
