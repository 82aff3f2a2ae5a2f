/** Tests the laws of every `Interruptions` (rules C10, X14). */
import { Interruption, Interruptions, type StorageError } from "@holdfast/journal"
import { expect } from "@effect/vitest"
import { Effect, type Layer, Option } from "effect"
import type { Storage } from "../../src/storage/sql/SqlStore.ts"
import * as NumberedData from "./NumberedData.ts"
import * as Logged from "./Logged.ts"
import { TurnLog } from "../../src/storage/TurnLog.ts"
import * as It from "../It.ts"

/** Runs the suite on a database. */
export const suite = (name: string, layer: Layer.Layer<Storage, StorageError>): void => {
  const id = NumberedData.turnId(1)
  const one: Interruption.Interruption = { ...Interruption.none("one"), deaths: 2, seen: 3, isAlone: true }

  const test = It.suite(name, layer)

  const accepted = Effect.gen(function* () {
    yield* NumberedData.oneTurn
    return yield* Interruptions.Interruptions
  })

  test("rule X14: the process that takes up a turn reads its interruptions", function* () {
    const { find, takeUp } = yield* accepted
    expect(yield* find(id)).toEqual(Option.none())
    yield* takeUp(id, one)
    expect(yield* find(id)).toEqual(Option.some(one))
    expect((yield* Logged.tail()).map(({ interruption }) => interruption)).toEqual([one])
    const two = { ...one, life: "two", isAlone: false, isOrderly: true, defects: 1 }
    yield* takeUp(id, two)
    expect(yield* find(id)).toEqual(Option.some(two))
  })

  test("rule X6: a process's note about a turn that another process has taken up changes nothing", function* () {
    const { find, note, takeUp } = yield* accepted
    yield* note(id, one)
    yield* note(id, { ...one, deaths: 0 })
    expect(yield* find(id)).toEqual(Option.some({ ...one, deaths: 0 }))
    const two = { ...one, life: "two" }
    yield* takeUp(id, two)
    yield* note(id, { ...one, deaths: 0, isOrderly: true })
    expect(yield* find(id)).toEqual(Option.some(two))
  })

  test("rule C10: a count of defects never shrinks", function* () {
    const { find, note, takeUp } = yield* accepted
    yield* takeUp(id, { ...one, defects: 2 })
    yield* note(id, { ...one, defects: 0 })
    expect(Option.map(yield* find(id), ({ defects }) => defects)).toEqual(Option.some(2))
  })

  test("a turn's interruptions are deleted with its records, long after its seal", function* () {
    const { find, takeUp } = yield* accepted
    yield* takeUp(id, one)
    yield* Logged.append(id, 0, [{ name: "step/0/attempt/0", value: "{}" }])
    yield* Logged.events(id, [NumberedData.end(1, 1)], 0)
    yield* Effect.flatMap(TurnLog, (log) => log.forget(Number.MAX_SAFE_INTEGER, undefined))
    expect(yield* find(id)).toEqual(Option.none())
  })
}
