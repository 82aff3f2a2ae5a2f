/**
 * Remembers which runners share the database, to name the runner that a take-over is from.
 *
 * It listens to what the cluster reads anyway (`RunnerStorage.getRunners`, each second) and asks nothing itself.
 */
import { Clock, Effect, Layer } from "effect"
import { RunnerStorage } from "effect/cluster"

/** A runner that is gone for so long has nothing left to take over: locks expire within 10 seconds. */
const GONE_MS = 60_000

/** The runners of the cluster, as this one last read them. */
export class Neighbours {
  private present: ReadonlySet<string> = new Set()
  private readonly goneAt = new Map<string, number>()
  private readonly own: string
  /** When this runner first read them. */
  private since: number | undefined

  /** @param own the address of this runner, `host:port` */
  constructor(own: string) {
    this.own = own
  }

  /** Takes in which runners there are, and when. */
  readonly see = (healthy: ReadonlySet<string>, at: number): void => {
    this.since ??= at
    for (const address of this.present) if (!healthy.has(address)) this.goneAt.set(address, at)
    for (const address of healthy) this.goneAt.delete(address)
    this.present = healthy
  }

  /** The runners that are gone, at a moment. */
  readonly gone = (now: number): ReadonlyArray<string> =>
    Array.from(this.goneAt)
      .filter(([address, at]) => address !== this.own && now - at < GONE_MS)
      .map(([address]) => address)

  /** Which runners had what comes to this one at a moment, in words. */
  readonly origin = (now: number): string => {
    const gone = this.gone(now)
    if (gone.length > 0) return `${named(gone)}, which ${gone.length === 1 ? "is" : "are"} gone`
    const others = Array.from(this.present).filter((address) => address !== this.own)
    if (others.length === 0) return "earlier runners"
    // A runner that has just started did not see what ended before: its own earlier process, or a runner that is still listed.
    return now - (this.since ?? now) < GONE_MS
      ? `earlier runners or ${named(others)}`
      : `${named(others)}, which now share${others.length === 1 ? "s" : ""} with this one`
  }
}

/** The storage of runners, listened to. */
export const overheard = (
  neighbours: Neighbours
): Layer.Layer<RunnerStorage.RunnerStorage, never, RunnerStorage.RunnerStorage> =>
  Layer.effect(
    RunnerStorage.RunnerStorage,
    RunnerStorage.RunnerStorage.useSync((storage) =>
      RunnerStorage.RunnerStorage.of({
        ...storage,
        getRunners: Effect.tap(storage.getRunners, (runners) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            const healthy = runners.filter(([, isHealthy]) => isHealthy).map(([{ address }]) => address)
            neighbours.see(new Set(healthy.map(({ host, port }) => `${host}:${port}`)), now)
          })
        )
      })
    )
  )

// --- internal

const named = (addresses: ReadonlyArray<string>): string =>
  `runner${addresses.length === 1 ? "" : "s"} ${addresses.toSorted().join(", ")}`
