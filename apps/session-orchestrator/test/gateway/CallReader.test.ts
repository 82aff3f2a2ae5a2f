/** Tests the reading of a call's body, in whichever pieces it comes. */
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { Readable } from "node:stream"
import { gzipSync } from "node:zlib"
import { BodyBudget } from "../../src/base/system/BodyBudget.ts"
import * as CallReader from "../../src/gateway/CallReader.ts"
import * as It from "../It.ts"

const MIB = 1024 * 1024

const read = (pieces: ReadonlyArray<Buffer>, headers: object = {}, most = 8 * MIB, room = most) => {
  const request = Object.assign(Readable.from(pieces), { headers })
  const budget = new BodyBudget(room)
  budget.open().take(1)
  const listeners = () => ["data", "end"].map((event) => request.listenerCount(event)).join()
  const reading = CallReader.read(request as never, most, budget.open())
  return Effect.tap(reading, () => Effect.sync(() => expect(listeners()).toBe("0,0")))
}

It.live("is whole, and read in a thread beyond 2 MiB or 20,000 values", function* () {
  const valuesOf = (count: number) => Buffer.from(`[${"0,".repeat(count - 2)}0]`)
  for (const [bytes, isLarge] of [
    [Buffer.alloc(2 * MIB, "1"), false],
    [Buffer.alloc(2 * MIB + 1, "1"), true],
    [valuesOf(20_000), false],
    [valuesOf(20_001), true]
  ] as const)
    for (const size of [bytes.length, 100_000])
      for (const length of [0, bytes.length, bytes.length + 9]) {
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
          bytes.subarray(n * size, (n + 1) * size)
        )
        const found = Object(yield* read(pieces, length === 0 ? {} : { "content-length": length }))
        expect([found.isLarge, found.isTooLarge, bytes.equals(found.bytes)]).toEqual([isLarge, false, true])
      }
})

It.live("is decoded, kept as it came, or refused where it is too large or has no room", function* () {
  const [bytes, coded, gzip] = [Buffer.from('{"a":1}'), gzipSync('{"a":1}'), { "content-encoding": "gzip" }]
  expect(yield* read([coded], gzip)).toEqual({ bytes, coded, isLarge: false, isTooLarge: false })
  expect(yield* read([bytes], gzip)).toEqual({ unread: bytes })
  expect(yield* read([bytes], { "content-encoding": "x" })).toEqual({ unread: bytes })
  expect(yield* read([bytes], {}, 7, 9)).toEqual({ bytes, isLarge: false, isTooLarge: false })
  const refused = [yield* read([bytes], {}, 6), yield* read([bytes], {}, 7), yield* read([coded], gzip, 9)]
  expect(refused).toEqual(["too-large", "no-room", "too-large"])
})
