/**
 * Remembers which runners share the database, to name the runner that a take-over is from.
 *
 * It listens to what the cluster reads anyway (`RunnerStorage.getRunners`, each second) and asks nothing itself.
 */
import { Clock, Effect } from "effect"
import type { RunnerStorage } from "effect/cluster"

/** A runner that is gone for so long has nothing left to take over: locks expire within 10 seconds. */
const GONE_MS = 60_000

/** The other runners of the cluster. */
export class Neighbours {
  private readonly own: string
  /** When each was last there. */
  private readonly seenAt = new Map<string, number>()
  /** When this runner first and last looked. */
  private looked: { readonly first: number; readonly last: number } | undefined

  /** @param own the address of this runner, `host:port` */
  constructor(own: string) {
    this.own = own
  }

  /** Takes in which runners there are, and when. */
  see(healthy: Iterable<string>, at: number): void {
    this.looked = { first: this.looked?.first ?? at, last: at }
    for (const address of healthy) if (address !== this.own) this.seenAt.set(address, at)
  }

  /** The runners that are gone, at a moment. */
  gone(now: number): ReadonlyArray<string> {
    return this.named((at) => at !== this.looked?.last && now - at < GONE_MS)
  }

  /** Which runners had what comes to this one at a moment, in words. */
  origin(now: number): string {
    const gone = this.gone(now)
    if (gone.length > 0) return `${runners(gone)}, which ${gone.length === 1 ? "is" : "are"} gone`
    const others = this.named((at) => at === this.looked?.last)
    if (others.length === 0) return "earlier runners"
    // A runner that has just started did not see what ended before: its own earlier process, or a runner that is still listed.
    return now - (this.looked?.first ?? now) < GONE_MS
      ? `earlier runners or ${runners(others)}`
      : `${runners(others)}, which now share${others.length === 1 ? "s" : ""} with this one`
  }

  /** The storage of runners, listened to. */
  overhear(storage: RunnerStorage.RunnerStorage["Service"]): RunnerStorage.RunnerStorage["Service"] {
    return {
      ...storage,
      getRunners: Effect.tap(storage.getRunners, (runners) =>
        Effect.map(Clock.currentTimeMillis, (now) =>
          this.see(
            runners.flatMap(([{ address }, isHealthy]) => (isHealthy ? [`${address.host}:${address.port}`] : [])),
            now
          )
        )
      )
    }
  }

  private named(isMeant: (seenAt: number) => boolean): ReadonlyArray<string> {
    return Array.from(this.seenAt).flatMap(([address, at]) => (isMeant(at) ? [address] : []))
  }
}

// --- internal

const runners = (addresses: ReadonlyArray<string>): string =>
  `runner${addresses.length === 1 ? "" : "s"} ${addresses.toSorted().join(", ")}`
