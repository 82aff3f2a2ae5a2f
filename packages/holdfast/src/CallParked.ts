/** Calls that leave memory to wait: what they are made of, and the error that ends them for the time of the wait. */
import type { Store } from "./KeyValueStore.ts"

/** For hosts where nothing may stay in memory. */
export interface ParkOptions {
  /** Keeps what a parked call needs to go on: one value a call, under `call/ID`. */
  readonly store: Store
  /** The longest wait that stays in memory, such as `"10 seconds"`. Default: none does. */
  readonly after?: string
}

/**
 * The call waits, and is no longer in memory. The same call made again at `retryAt` or later goes on; earlier, it ends with this error again.
 *
 * **Gotchas**
 *
 * Two copies of this package have two classes: `error.name === "CallParked"` holds for both.
 */
export class CallParked extends Error {
  override readonly name = "CallParked"
  readonly id: string
  /** When the next attempt is due: set an alarm. */
  readonly retryAt: Date

  constructor(id: string, retryAt: Date) {
    super(`The call waits until ${retryAt.toISOString()}. Make it again then, and it goes on.`)
    this.id = id
    this.retryAt = retryAt
  }
}
