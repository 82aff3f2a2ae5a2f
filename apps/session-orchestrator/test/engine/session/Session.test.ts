import { describe, expect, it } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { Ids } from "@holdfast/wire"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { Session, Sessions } from "../../../src/engine/session/Session.ts"
import * as It from "../../It.ts"

const away = new StorageError({ message: "The database is away." })
const taken = new StorageError({ message: "The id is taken.", concerns: "one" })

/** A line with one call in it, and others that wait behind. */
const line = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const session = new Session(Ids.ConversationId.make("c"))
  const made: Array<string> = []
  const first = yield* Deferred.make<string, StorageError>()
  const pass = (name: string, call: Effect.Effect<string, StorageError>) =>
    Effect.forkChild(Effect.exit(session.inOrder(Effect.suspend(() => (made.push(name), call)))), {
      startImmediately: true
    })
  const head = yield* pass("first", Deferred.await(first))
  const behind = yield* Effect.forEach(names, (name) => pass(name, Effect.succeed(name)))
  return { first, head, behind: Effect.forEach(behind, Fiber.join), made, pass }
})

describe("calls of one conversation", () => {
  It.effect("are made one after the other, in the order of their arrival", function* () {
    const { behind, first, head, made } = yield* line(["a", "b"])
    expect(made).toEqual(["first"])
    yield* Deferred.succeed(first, "first")
    expect(yield* Fiber.join(head)).toEqual(Exit.succeed("first"))
    expect(yield* behind).toEqual([Exit.succeed("a"), Exit.succeed("b")])
    expect(made).toEqual(["first", "a", "b"])
  })

  It.effect("an error that concerns all fails the waiting calls, and no later call", function* () {
    const { behind, first, head, made, pass } = yield* line(["a", "b"])
    yield* Deferred.fail(first, away)
    expect([yield* Fiber.join(head), yield* behind]).toEqual([Exit.fail(away), [Exit.fail(away), Exit.fail(away)]])
    expect(made).toEqual(["first"])
    for (const later of ["c", "d"])
      expect(yield* Effect.flatMap(pass(later, Effect.succeed(later)), Fiber.join)).toEqual(Exit.succeed(later))
  })

  It.effect("an error of one call fails that call alone", function* () {
    const { behind, first, head } = yield* line(["a", "b"])
    yield* Deferred.fail(first, taken)
    expect([yield* Fiber.join(head), yield* behind]).toEqual([Exit.fail(taken), [Exit.succeed("a"), Exit.succeed("b")]])
  })

  It.effect("an interrupted call does not block the line", function* () {
    const { behind, head, pass } = yield* line(["a"])
    const gone = yield* pass("gone", Effect.never)
    yield* Fiber.interrupt(gone)
    yield* Fiber.interrupt(head)
    expect(yield* behind).toEqual([Exit.succeed("a")])
  })
})

it("a session is not lost when its predecessor is released again", () => {
  const sessions = new Sessions()
  const id = Ids.ConversationId.make("c")
  const old = sessions.wake(id)
  sessions.release(old)
  const young = sessions.wake(id)
  expect(young).not.toBe(old)
  sessions.release(old)
  expect(sessions.find(id)).toBe(young)
})

it("writes of events begin one after the other, and one that leaves the line delays none", () => {
  const session = new Session(Ids.ConversationId.make("c"))
  const begun: Array<string> = []
  const write = (name: string) => session.write(() => begun.push(name))
  const [first, second, third, fourth] = [write("first"), write("second"), write("third"), write("fourth")]
  const steps = [first, third, first, second, fourth, () => void write("fifth")]
  const counts = steps.map((step) => (step(), begun.length))
  expect(`${counts.join(" ")} ${begun.join(" ")}`).toBe("2 2 2 3 3 4 first second fourth fifth")
})
