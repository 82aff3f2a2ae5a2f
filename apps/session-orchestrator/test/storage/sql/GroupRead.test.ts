import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as GroupRead from "../../../src/storage/sql/GroupRead.ts"

/** Answers in capitals, refuses what begins with a "!", and notes what was asked for together. */
const reader = (size: number) =>
  Effect.gen(function* () {
    const queries: Array<ReadonlyArray<string>> = []
    const apply = (names: ReadonlyArray<string>) => {
      queries.push(names)
      if (names.includes("?")) return Effect.delay(Effect.fail("the database is away"), "5 seconds")
      const damaged = names.find((name) => name.startsWith("!"))
      return damaged === undefined
        ? Effect.succeed(names.map((name) => name.toUpperCase()))
        : Effect.fail(`${damaged} is damaged`)
    }
    const read = yield* GroupRead.make(size, apply, (error) => error.includes("away"))
    return { queries, read }
  })

const together = <A, E>(effects: ReadonlyArray<Effect.Effect<A, E>>) =>
  Effect.all(effects.map(Effect.exit), { concurrency: "unbounded" })

describe("GroupRead", () => {
  it.effect("those who ask at once are read at once, and each gets its own, at most so many in one query", () =>
    Effect.gen(function* () {
      const { queries, read } = yield* reader(2)
      assert.deepStrictEqual(yield* together(["a", "b", "c"].map(read)), ["A", "B", "C"].map(Exit.succeed))
      assert.deepStrictEqual(queries, [["a", "b"], ["c"]])
      assert.strictEqual(yield* read("d"), "D")
    })
  )

  it.effect("G1: one whose rows are damaged fails alone", () =>
    Effect.gen(function* () {
      const { read } = yield* reader(64)
      assert.deepStrictEqual(yield* together(["a", "!b", "c"].map(read)), [
        Exit.succeed("A"),
        Exit.fail("!b is damaged"),
        Exit.succeed("C")
      ])
    })
  )

  it.effect("G4: what concerns all fails all who wait, with one query, and nobody who comes later", () =>
    Effect.gen(function* () {
      const { queries, read } = yield* reader(2)
      const asked = yield* Effect.forkChild(together(["?", "b", "c", "d", "e"].map(read)), { startImmediately: true })
      yield* TestClock.adjust("4 seconds")
      const late = yield* Effect.forkChild(together(["f"].map(read)), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      const away = Exit.fail("the database is away")
      assert.deepStrictEqual(yield* Fiber.join(asked), [away, away, away, away, away])
      assert.deepStrictEqual(yield* Fiber.join(late), [away])
      assert.deepStrictEqual(queries, [["?", "b"]])
      assert.strictEqual(yield* read("g"), "G")
    })
  )

  it.effect("G3: one that is interrupted is not read", () =>
    Effect.gen(function* () {
      const { queries, read } = yield* reader(64)
      const [gone, stays] = yield* Effect.forEach(["a", "b"], (name) =>
        Effect.forkChild(read(name), { startImmediately: true })
      )
      assert.isDefined(gone)
      assert.isDefined(stays)
      yield* Fiber.interrupt(gone)
      assert.strictEqual(yield* Fiber.join(stays), "B")
      assert.deepStrictEqual(queries, [["b"]])
    })
  )
})
