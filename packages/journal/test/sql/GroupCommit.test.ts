import { assert, describe, expect, it } from "@effect/vitest"
import { Cause, Clock, Duration, Effect, Exit, Fiber, Latch, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as GroupCommit from "../../src/sql/GroupCommit.ts"
import * as DatabaseWait from "../../src/sql/DatabaseWait.ts"

interface Refusal {
  readonly scope: "one" | "all" | "busy"
  readonly why: string
}

/** A database of strings: a failed transaction, also an inner one, removes its writes. */
const database = () => {
  let rows: ReadonlyArray<string> = []
  let depth = 0
  const commits: Array<ReadonlyArray<string>> = []
  const transaction = <A>(effect: Effect.Effect<A, Refusal>): Effect.Effect<A, Refusal> =>
    Effect.suspend(() => {
      const before = rows
      depth++
      return Effect.onExit(effect, (exit) =>
        Effect.sync(() => {
          depth--
          if (Exit.isFailure(exit)) rows = before
          else if (depth === 0) commits.push(rows.slice(commits.flat().length))
        })
      )
    })
  return {
    options: {
      transaction,
      scope: (error: Refusal) => error.scope,
      closed: (): Refusal => ({ scope: "all", why: "closed" }),
      died: (cause: Cause.Cause<never>): Refusal => ({ scope: "all", why: String(Cause.squash(cause)) })
    },
    insert: (inputs: ReadonlyArray<string>) =>
      Effect.sync(() => {
        rows = [...rows, ...inputs]
        return inputs.map((input) => input.toUpperCase())
      }),
    rows: () => rows,
    /** The strings that each commit added. */
    commits
  }
}

const start = (
  insert: (inputs: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, Refusal>,
  options: GroupCommit.Options<Refusal>
): Effect.Effect<(input: string) => Effect.Effect<string, Refusal>, never, Scope.Scope> =>
  Effect.map(GroupCommit.make(options), (group) => group.lane(insert))

const together = <A, E>(effects: ReadonlyArray<Effect.Effect<A, E>>) =>
  Effect.all(effects.map(Effect.exit), { concurrency: "unbounded" })

describe("GroupCommit", () => {
  it.effect("writes that are queued during a commit go into the next one, complete and in order", () =>
    Effect.gen(function* () {
      const { commits, insert, options } = database()
      const [begun, go] = [yield* Latch.make(), yield* Latch.make()]
      const slow = (inputs: ReadonlyArray<string>) =>
        Effect.andThen(Effect.andThen(begun.open, go.await), insert(inputs))
      const write = yield* start(slow, options)
      const first = yield* Effect.forkChild(write("a"))
      yield* begun.await
      const rest = yield* Effect.forkChild(together(["b", "c", "d"].map(write)), { startImmediately: true })
      yield* go.open
      expect(yield* Fiber.join(first)).toBe("A")
      expect(yield* Fiber.join(rest)).toEqual(["B", "C", "D"].map(Exit.succeed))
      expect(commits).toEqual([["a"], ["b", "c", "d"]])
    })
  )

  it.effect("GroupCommit.G1: a caller continues only after the commit", () =>
    Effect.gen(function* () {
      const { insert, options, rows } = database()
      const [written, go] = [yield* Latch.make(), yield* Latch.make()]
      const write = yield* start(
        (inputs) => Effect.tap(insert(inputs), () => Effect.andThen(written.open, go.await)),
        options
      )
      const fiber = yield* Effect.forkChild(write("a"))
      yield* written.await
      expect(rows()).toEqual(["a"])
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* go.open
      expect(yield* Fiber.join(fiber)).toBe("A")
    })
  )

  it.effect("GroupCommit.G2: a refused write fails alone", () =>
    Effect.gen(function* () {
      const { insert, options, rows } = database()
      const refusal: Refusal = { scope: "one", why: "taken" }
      const picky = (inputs: ReadonlyArray<string>) =>
        Effect.andThen(insert(inputs), inputs.includes("bad") ? Effect.fail(refusal) : insert([]))
      const answering = (inputs: ReadonlyArray<string>) => Effect.as(picky(inputs), inputs)
      const write = yield* start(answering, options)
      expect(yield* together(["a", "bad", "c"].map(write))).toEqual([
        Exit.succeed("a"),
        Exit.fail(refusal),
        Exit.succeed("c")
      ])
      expect(rows()).toEqual(["a", "c"])
    })
  )

  it.effect("GroupCommit.G3: an error that concerns all fails every write, leaves nothing, stops no later one", () =>
    Effect.gen(function* () {
      const { insert, options, rows } = database()
      const full: Refusal = { scope: "all", why: "disk full" }
      let isFull = true
      const write = yield* start(
        (inputs) => Effect.flatMap(insert(inputs), (out) => (isFull ? Effect.fail(full) : Effect.succeed(out))),
        options
      )
      expect(yield* together(["a", "b"].map(write))).toEqual([Exit.fail(full), Exit.fail(full)])
      expect(rows()).toEqual([])
      isFull = false
      expect(yield* write("c")).toBe("C")
    })
  )

  it.effect("GroupCommit.G3: an error that concerns all also fails the writes queued meanwhile, no later one", () =>
    Effect.gen(function* () {
      const { insert, options, rows } = database()
      const away: Refusal = { scope: "busy", why: "away" }
      let tries = 0
      let isAway = true
      const [one, other] = yield* Effect.map(GroupCommit.make(options), (group) => {
        const apply = (inputs: ReadonlyArray<string>) =>
          Effect.suspend(() => (tries++, isAway ? Effect.fail(away) : insert(inputs)))
        return [group.lane(apply), group.lane(apply)] as const
      })
      const first = yield* Effect.forkChild(together([one("a")]))
      yield* TestClock.adjust("4 seconds")
      const late = yield* Effect.forkChild(together([one("b"), other("c"), other("d")]), { startImmediately: true })
      const before = tries
      yield* TestClock.adjust(DatabaseWait.BUSY_LIMIT)
      expect(yield* Fiber.join(first)).toEqual([Exit.fail(away)])
      expect(yield* Fiber.join(late)).toEqual([Exit.fail(away), Exit.fail(away), Exit.fail(away)])
      // No commit was tried for the writes queued meanwhile.
      expect(tries - before).toBeLessThanOrEqual(11)
      isAway = false
      expect(yield* one("e")).toBe("E")
      expect(rows()).toEqual(["e"])
    })
  )

  it.effect("a commit without an answer is abandoned, and the next is made", () =>
    Effect.gen(function* () {
      const { insert, options, rows } = database()
      const silent: Refusal = { scope: "busy", why: "silent" }
      let isFrozen = true
      const apply = (inputs: ReadonlyArray<string>) =>
        Effect.suspend(() => (isFrozen ? Effect.uninterruptible(Effect.never) : insert(inputs)))
      const write = yield* start(apply, {
        ...options,
        answered: DatabaseWait.within(DatabaseWait.SILENCE_LIMIT, () => silent)
      })
      const first = yield* Effect.forkChild(Effect.exit(write("a")))
      yield* TestClock.adjust(Duration.toMillis(DatabaseWait.SILENCE_LIMIT) - 1)
      expect(first.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 milli")
      expect(yield* Fiber.join(first)).toEqual(Exit.fail(silent))
      isFrozen = false
      expect(yield* write("b")).toBe("B")
      expect(rows()).toEqual(["b"])
    })
  )

  it.effect("a commit waits for a lock, up to a limit", () =>
    Effect.gen(function* () {
      const { insert, options, rows } = database()
      const locked: Refusal = { scope: "busy", why: "locked" }
      let tries = 0
      let lockedFor = 3
      const write = yield* start(
        (inputs) => Effect.suspend(() => (tries++ < lockedFor ? Effect.fail(locked) : insert(inputs))),
        options
      )
      const first = yield* Effect.forkChild(write("a"))
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(first)).toBe("A")
      lockedFor = Number.POSITIVE_INFINITY
      const second = yield* Effect.forkChild(Effect.flip(write("b")))
      yield* TestClock.adjust("1 minute")
      expect(yield* Fiber.join(second)).toEqual(locked)
      expect(rows()).toEqual(["a"])
    })
  )

  it.effect("closing commits the queued writes, and accepts no more", () =>
    Effect.gen(function* () {
      const { insert, options, rows } = database()
      const { queued, write } = yield* Effect.scoped(
        Effect.gen(function* () {
          const write = yield* start(insert, options)
          const queued = yield* Effect.forkDetach(together(["a", "b"].map(write)), { startImmediately: true })
          return { queued, write }
        })
      )
      expect(rows()).toEqual(["a", "b"])
      expect(yield* Fiber.join(queued)).toEqual([Exit.succeed("A"), Exit.succeed("B")])
      expect((yield* Effect.flip(write("c"))).why).toBe("closed")
    })
  )

  it.effect("the write of an interrupted caller is made all the same", () =>
    Effect.gen(function* () {
      const { insert, options, rows } = database()
      const write = yield* start(insert, options)
      const gone = yield* Effect.forkChild(write("a"), { startImmediately: true })
      yield* Fiber.interrupt(gone)
      yield* write("b")
      expect(rows()).toEqual(["a", "b"])
    })
  )

  it.effect("rule C10: a bug in a write fails its commit, and the writer lives", () =>
    Effect.gen(function* () {
      const { insert, options } = database()
      const write = yield* start(
        (inputs) => (inputs.includes("bug") ? Effect.die("undefined is not a function") : insert(inputs)),
        options
      )
      expect((yield* Effect.flip(write("bug"))).why).toContain("undefined is not a function")
      expect(yield* write("a")).toBe("A")
    })
  )

  it.effect("a commit takes at most its limit of writes, and leaves the others to the next", () =>
    Effect.gen(function* () {
      const { commits, insert, options } = database()
      const write = yield* start(insert, options)
      const inputs = Array.from({ length: GroupCommit.MAX_WRITES + 1 }, (_, n) => `${n}`)
      expect(yield* together(inputs.map(write))).toEqual(inputs.map(Exit.succeed))
      expect(commits.map((commit) => commit.length)).toEqual([GroupCommit.MAX_WRITES, 1])
    })
  )

  /** Six callers that write together, and again one after another; each reading of the clock is a millisecond after the one before. */
  const crowd = (isServer: boolean) =>
    Effect.gen(function* () {
      const { commits, insert, options } = database()
      const write = yield* start((inputs) => insert(inputs), { ...options, isServer })
      yield* Effect.forEach(
        Array.from({ length: 6 }, (_, n) => n),
        (n) =>
          Effect.andThen(write(`a${n}`), Effect.andThen(Effect.repeat(Effect.yieldNow, { times: n }), write(`b${n}`))),
        { concurrency: "unbounded" }
      )
      return commits.map((commit) => commit.length)
    }).pipe(
      Effect.scoped,
      Effect.updateService(Clock.Clock, (clock) => {
        let now = 0n
        return Object.assign(Object.create(clock), { monotonicTimeNanosUnsafe: () => (now += 1_000_000n) })
      })
    )

  it.effect("many callers that write again one after another after their commit are in one commit again", () =>
    Effect.map(crowd(false), (commits) => assert.deepStrictEqual(commits, [6, 6]))
  )

  it.effect("on a server the first of these callers do not wait for the last where the process is busy", () =>
    Effect.map(crowd(true), ([first, second = 0, ...more]) => {
      assert.strictEqual(first, 6)
      assert.isBelow(second, 6)
      assert.strictEqual(
        more.reduce((sum, length) => sum + length, second),
        6
      )
    })
  )
})
