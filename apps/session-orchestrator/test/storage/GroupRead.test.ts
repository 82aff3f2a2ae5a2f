import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import * as GroupRead from "../../src/storage/GroupRead.ts"

/** Answers in capitals, refuses what begins with a "!", and notes what was asked for together. */
const reader = (size: number) =>
  Effect.gen(function* () {
    const queries: Array<ReadonlyArray<string>> = []
    const read = yield* GroupRead.make(size, (names: ReadonlyArray<string>) => {
      queries.push(names)
      const damaged = names.find((name) => name.startsWith("!"))
      return damaged === undefined
        ? Effect.succeed(names.map((name) => name.toUpperCase()))
        : Effect.fail(`${damaged} is damaged`)
    })
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
