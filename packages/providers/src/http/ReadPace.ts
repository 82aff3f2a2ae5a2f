/**
 * Bounds the bytes of one response that are read per turn of the event loop.
 *
 * A provider that sends faster than it can be read always has more for the next read. Without a pause one response, even of
 * keep-alives alone, would block the event loop, and with it every client of the service.
 *
 * ReadPace.P1. A pull returns at most `SLICE_BYTES`, however much a read of the socket had; the next pulls return the rest.
 * ReadPace.P2. Between two slices of that size the fiber yields to the event loop. A response at the pace of a model yields once in
 *     hundreds of deltas; between two yields its reads can be pushed.
 */
import { Push } from "@holdfast/kernel/host"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { BytePull } from "./Http.ts"

/** Bytes that Node reads from a socket at once: some milliseconds of work at most. */
export const SLICE_BYTES = 65_536

/** The same bytes, in slices. */
export const paced = (bytes: BytePull, most = SLICE_BYTES): BytePull => {
  let left: Array<Uint8Array> = []
  let taken = 0

  const slice = (reads: Arr.NonEmptyReadonlyArray<Uint8Array>): Arr.NonEmptyReadonlyArray<Uint8Array> => {
    let room = most
    let index = 0
    for (const read of reads) {
      index++
      if (read.length < room) {
        room -= read.length
        continue
      }
      taken += most
      left = reads.slice(index)
      if (read.length > room) left.unshift(read.subarray(room))
      return Arr.append(reads.slice(0, index - 1), read.subarray(0, room))
    }
    taken += most - room
    left = []
    return reads
  }
  const next: BytePull = Effect.suspend(() =>
    Arr.isArrayNonEmpty(left) ? Effect.succeed(slice(left)) : Effect.map(bytes, slice)
  )

  const pull: BytePull = Effect.suspend(() => {
    if (taken < most) return next
    taken = 0
    return Effect.andThen(Effect.yieldNow, next) // ReadPace.P2
  })
  return Push.attach(pull, () => {
    const push = taken < most && left.length === 0 ? Push.of(bytes) : undefined
    if (push === undefined) return undefined
    return (take, over) =>
      push((reads) => {
        const size = reads.reduce((sum, read) => sum + read.length, 0)
        if (taken + size < most) {
          taken += size
          return take(reads)
        }
        left = [...reads]
        over()
        return false
      }, over)
  })
}
