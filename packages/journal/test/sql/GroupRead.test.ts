import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as GroupRead from "../../src/sql/GroupRead.ts"

/** Returns inputs in capitals, refuses inputs that begin with "!", and records each query's inputs. */
const reader = (size: number) =>
  Effect.gen(function* () {
    const queries: Array<ReadonlyArray<string>> = []
    const apply = (names: ReadonlyArray<string>) => {
      queries.push(names)
      if (names.includes("?")) return Effect.delay(Effect.fail("the database is away"), "5 seconds")
      const damaged = names.find((name) => name.startsWith("!"))
      return damaged === undefined
        ? Effect.succeed(new Map(names.map((name) => [name, name.toUpperCase()])))
        : Effect.fail(`${damaged} is damaged`)
    }
    const read = yield* GroupRead.make(size, apply, (error) => error.includes("away"))
    return { queries, read }
  })

const together = <A, E>(effects: ReadonlyArray<Effect.Effect<A, E>>) =>
  Effect.all(effects.map(Effect.exit), { concurrency: "unbounded" })

describe("GroupRead", () => {
  it.effect("reads of one moment become one query up to its size, and each caller gets its own result", () =>
    Effect.gen(function* () {
      const { queries, read } = yield* reader(2)
      assert.deepStrictEqual(yield* together(["a", "b", "c"].map(read)), ["A", "B", "C"].map(Exit.succeed))
      assert.deepStrictEqual(queries, [["a", "b"], ["c"]])
      assert.strictEqual(yield* read("d"), "D")
    })
  )

  it.effect("GroupRead.G1: a read of damaged rows fails alone", () =>
    Effect.gen(function* () {
      const { read } = yield* reader(64)
      assert.deepStrictEqual(yield* together(["a", "!b", "c"].map(read)), [
        Exit.succeed("A"),
        Exit.fail("!b is damaged"),
        Exit.succeed("C")
      ])
    })
  )

  it.effect("GroupRead.G4: an error that concerns all fails all that wait, with one query, and no later caller", () =>
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

  it.effect("GroupRead.G3: an interrupted read is not made", () =>
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
