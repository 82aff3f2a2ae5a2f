/**
 * Keeps how much of each limit of a credential is used, as the answers of providers have it.
 *
 * A credential is known by a name of the configuration, or by a digest of the client's account or credential: never by itself.
 */
import { LimitWindows } from "@holdfast/policy"
import type { Health } from "@holdfast/wire"
import { BoundedMap } from "../../base/system/BoundedMap.ts"

/** Shares of a limit of which a person is notified. */
const LEVELS = [0.95, 0.8] as const

/** A limit that begins anew sooner is no news to a person: calls wait as long at most. */
const NEWS_MS = 15 * 60_000

/** A limit that names no reset is known for an hour after an answer. */
const KNOWN_MS = 3_600_000

/** More windows than a person looks through: the one without an answer for the longest time goes. */
const MOST = 200

/** A limit of an answer. */
export interface Taken {
  readonly window: Health.WindowReport
  /** The share that it has reached for the first time; absent: no news. */
  readonly level: number | undefined
}

/** The limits of the credentials of one process. */
export class UsedLimits {
  /** In the order of their last answers, with the share that was last notified of. */
  private readonly windows = new BoundedMap<{ readonly window: Health.WindowReport; readonly level: number }>(MOST)

  /** Takes the headers of an answer; returns their limits. `nameOf` names the credential. */
  readonly take = (
    provider: string,
    nameOf: () => string,
    headers: Readonly<Record<string, string>>,
    now: number
  ): ReadonlyArray<Taken> => {
    const read = LimitWindows.read(headers, now)
    if (read.length === 0) return []
    const credential = nameOf()
    return read.map(({ name, ...rest }) => {
      const window = { provider, credential, name, ...rest, at: now }
      const key = JSON.stringify([provider, credential, name])
      const known = this.windows.get(key)
      const before = known !== undefined && isOpen(known.window, now) ? known.level : 0
      const reached = LEVELS.find((level) => window.used >= level) ?? 0
      const isNews = reached > before && (window.resetAt ?? 0) - now >= NEWS_MS
      this.windows.set(key, { window, level: isNews ? reached : before })
      return { window, level: isNews ? reached : undefined }
    })
  }

  /** Forgets the limits that have begun anew, and returns them. */
  readonly ended = (now: number): ReadonlyArray<Health.WindowReport> => {
    const ended = Array.from(this.windows).filter(([, { window }]) => !isOpen(window, now))
    for (const [key] of ended) this.windows.delete(key)
    return ended.map(([, { window }]) => window)
  }

  /** The limits that have not begun anew, those that are used most first. */
  readonly read = (now: number): ReadonlyArray<Health.WindowReport> =>
    Array.from(this.windows.values(), ({ window }) => window)
      .filter((window) => isOpen(window, now))
      .toSorted((a, b) => b.used - a.used)
}

// --- internal

const isOpen = ({ at, resetAt = at + KNOWN_MS }: Health.WindowReport, now: number): boolean => resetAt > now
