/**
 * Limits an attempt's time to first content and between contents (C8).
 *
 * Content counts, and progress on it (`Progress`). Pings never get here, and empty deltas do not count. Connecting counts towards the first
 * content. A limit is the same for every attempt. A request that is too large to be sent fails without a call (`RequestSize`).
 *
 * Limits.L3. Only waiting for the provider counts, not the time in which a slow consumer pulls nothing.
 * Limits.L5. Each attempt that has to wait has one timer; a delta starts no timer and no fiber. When the timer fires, the watchdog reads
 *     the clock and sets the timer again for the remaining time.
 * Limits.L6. Content in the socket counts, even if this process was suspended and has not read it when a limit is over (`Deadline`).
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
    const refused = RequestSize.refusalOf(request)
    if (refused !== undefined) return ProviderCall.refuse(listener, refused)
    const watched = new Watched(limits, world, listener)
    watched.begin(call(request, world, watched))
    return watched
  })
}

// --- internal

/** A call whose silence is watched. */
class Watched implements ProviderCall.Listener, ProviderCall.Running {
  private readonly limits: Limits
  private readonly world: ProviderCall.World
  private readonly listener: ProviderCall.Listener
  private running: ProviderCall.Running | undefined = undefined
  /** When the consumer began to wait; absent: it does not. */
  private since: number | undefined
  /** What it has waited since the last content, before that. */
  private waitedMs = 0
  private isFirst = true
  private isOver = false
  private stop: (() => void) | undefined = undefined

  constructor(limits: Limits, world: ProviderCall.World, listener: ProviderCall.Listener) {
    this.limits = limits
    this.world = world
    this.listener = listener
    this.since = world.elapsed()
  }

  begin(running: ProviderCall.Running): void {
    this.running = running
    this.watch()
  }

  readonly events = (events: ProviderCall.Events): boolean => {
    if (events.some(isProgress)) this.reset()
    else this.waitedMs += this.waitingMs()
    this.since = undefined
    const goesOn = this.listener.events(events)
    if (goesOn) this.since = this.world.elapsed()
    return goesOn
  }

  readonly end = (end: ProviderCall.End): void => {
    if (this.settle()) this.listener.end(end)
  }

  readonly progress = (): void => {
    this.reset()
    if (this.since !== undefined) this.since = this.world.elapsed()
    this.listener.progress()
  }

  readonly more = (): void => {
    this.since = this.world.elapsed()
    this.running?.more()
    this.watch()
  }

  readonly cancel = (): void => {
    if (this.settle()) this.running?.cancel()
  }

  private reset(): void {
    this.isFirst = false
    this.waitedMs = 0
  }

  private waitingMs(): number {
    return this.since === undefined ? 0 : this.world.elapsed() - this.since
  }

  /** Limits.L5 */
  private watch(): void {
    if (this.since !== undefined && !this.isOver && this.stop === undefined) this.check()
  }

  private readonly check = (): void => {
    const { firstContentMs = Infinity, idleMs = Infinity } = this.limits
    const limitMs = this.isFirst ? firstContentMs : idleMs
    const leftMs = limitMs - this.waitedMs - this.waitingMs()
    if (leftMs <= 0 && this.since !== undefined) {
      if (!this.settle()) return
      this.running?.cancel()
      const failure = Classification.timedOut(this.isFirst ? "first-content" : "idle", limitMs)
      return this.listener.end(Exit.fail(new Failure.ProviderFailure({ failure })))
    }
    // The first content may arrive while the watchdog sleeps, so it must not sleep past the idle limit that holds from then on.
    const nextMs = Math.min(leftMs > 0 ? leftMs : limitMs, idleMs)
    this.stop = nextMs < Infinity ? Deadline.after(this.world, nextMs, this.check) : nothing
  }

  private settle(): boolean {
    if (this.isOver) return false
    this.isOver = true
    this.stop?.()
    return true
  }
}

const nothing = (): void => {}

const isProgress = (event: Provider.ProviderEvent): boolean => !Provider.isEmptyDelta(event)
