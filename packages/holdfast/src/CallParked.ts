/**
 * Calls that leave memory to wait: the error that ends them for the time of the wait, and their records in a `Store`.
 *
 * A value is written when a call parks, and emptied when the call has content or ends: the next call of that id begins anew.
 */
import type { Records } from "@holdfast/kernel"
import { Durations } from "@holdfast/policy"
import * as Duration from "effect/Duration"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { HoldfastError, invalid, messageOf } from "./HoldfastError.ts"
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

/** One call that may park. */
interface ParkingCall {
  readonly afterMs: number
  readonly records: Array<Records.Stored>
  /** Keeps the records. */
  readonly parked: () => Promise<void>
  /** The call needs its records no more. */
  readonly over: () => Promise<void>
}

/** Reads the options; throws a `HoldfastError` where one is wrong. The function opens a call by its id. */
export const parking = ({ after = "0 millis", store }: ParkOptions): ((id: string) => Promise<ParkingCall>) => {
  const duration = Schema.decodeUnknownResult(Durations.NotNegative)(after)
  if (Result.isFailure(duration))
    throw invalid(`park.after: ${JSON.stringify(after)} is no duration, expected text such as "10 seconds".`)
  const afterMs = Duration.toMillis(duration.success)
  return async (id) => {
    const key = `call/${id}`
    const stored = await kept(id, () => store.get(key))
    const records: Array<Records.Stored> = stored ? JSON.parse(stored) : []
    let isStored = records.length > 0
    return {
      afterMs,
      records,
      parked: async () => void (await kept(id, () => store.put(key, JSON.stringify(records)))),
      over: async () => {
        if (!isStored) return
        isStored = false
        await kept(id, () => store.put(key, ""))
      }
    }
  }
}

// --- internal

const kept = async <A>(id: string, access: () => A): Promise<Awaited<A>> => {
  try {
    return await access()
  } catch (cause) {
    throw new HoldfastError("store-failed", `Call ${id} could not be kept: ${messageOf(cause)}`, { cause })
  }
}
