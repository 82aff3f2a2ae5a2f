/**
 * The records of parked calls in a `Store`.
 *
 * A value is written when a call parks, and emptied when the call has content or ends: the next call of that id begins anew.
 */
import type { Records } from "@holdfast/kernel"
import { Durations } from "@holdfast/policy"
import * as Duration from "effect/Duration"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ParkOptions } from "../CallParked.ts"
import { HoldfastError } from "../HoldfastError.ts"

/** One call that may park. */
export interface ParkingCall {
  readonly afterMs: number
  readonly records: Array<Records.Stored>
  /** Keeps the records. */
  readonly parked: () => Promise<void>
  /** The call needs its records no more. */
  readonly over: () => Promise<void>
}

/** Reads the options; throws a `HoldfastError` where one is wrong. The function opens a call by its id. */
export const make = ({ after = "0 millis", store }: ParkOptions): ((id: string) => Promise<ParkingCall>) => {
  const duration = Schema.decodeUnknownResult(Durations.NotNegative)(after)
  if (Result.isFailure(duration))
    throw new HoldfastError(
      "invalid-options",
      `park.after: ${JSON.stringify(after)} is no duration, expected text such as "10 seconds".`
    )
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
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new HoldfastError("store-failed", `Call ${id} could not be kept: ${why}`, { cause })
  }
}
