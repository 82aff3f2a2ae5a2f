/**
 * Commits the writes of many turns in one transaction.
 *
 * A full sync costs the same for one row as for a thousand. So writes are queued, one fiber commits the queued writes, and the writes
 * that arrive meanwhile go into its next commit. A write never waits for others to arrive.
 *
 * GroupCommit.G1. A caller continues after the commit that holds its write, and fails only if its write is not stored.
 * GroupCommit.G2. A refused write (a constraint, a damaged row) fails alone: its neighbours are committed without it.
 * GroupCommit.G3. An error that concerns all writes (a full disk, a lost connection) fails all writes of the commit, and none is stored;
 *     it also fails the writes that were queued meanwhile, which would each wait as long for the same error.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { identity } from "effect/Function"
import * as DatabaseWait from "./DatabaseWait.ts"

/** Makes the writes of a lane: all inputs at once, inside a transaction, with one result for each, in order. It may run again. */
export type Apply<In, Out, E> = (inputs: Arr.NonEmptyReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, E>

/** Commits the writes of many callers together. */
export interface GroupCommit<E> {
  /**
   * A queue for writes of one kind, which keep their order. Writes of one commit are made lane by lane, in the order in which the lanes were
   * made. So a write may rely on a write of an earlier lane that was queued before it, as long as at most `MAX_WRITES` waited there.
   */
  readonly lane: <In, Out>(apply: Apply<In, Out, E>) => Writes<In, Out, E>
}

/** Queues a write of one kind, and waits for its commit. */
export interface Writes<In, Out, E> {
  (input: In): Effect.Effect<Out, E>
  /** Queues many writes, each with its own outcome; they may be in several commits. */
  readonly all: (inputs: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Exit.Exit<Out, E>>>
}

/** The database's part of a group commit. */
export interface Options<E> {
  /** Runs an effect in a transaction, or in a savepoint of the open transaction. */
  readonly transaction: <A>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** `one`: this write was refused (G2). `all`: no write can be made (G3). `busy`: a retry can succeed. */
  readonly scope: (error: E) => "one" | "all" | "busy"
  /** Abandons a commit without an answer in time; whether it was made is unknown then. Absent: every commit is answered. */
  readonly answered?: <A>(commit: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** The database is a process of its own: a commit does not stop this thread. */
  readonly isServer?: boolean
  /** The error of a write after closing. */
  readonly closed: () => E
  /** The error of a write in a commit that died of a bug. */
  readonly died: (cause: Cause.Cause<never>) => E
}

/** The most writes of one lane in one commit: some ten milliseconds of the thread. With more, a person who reads a stream sees it halt. */
export const MAX_WRITES = 500

/**
 * With more writes than this in a commit, their turns are likely to write again together. Then the writer yields a few times before the
 * next commit, to collect those writes in one: each commit is a sync that stops the thread. Yielding takes microseconds when the process is
 * idle, and a few writes never wait for it.
 */
const CROWD = 4

/** Turns of the event loop from the end of a commit to the next write of its turns: they receive the result, read, and write. */
const CROWD_ROUNDS = 8

/**
 * The longest that the writer yields on a server: longer than the rounds take in an idle process, and short beside what a person notices. In
 * a busy process each turn of the event loop takes milliseconds, and a commit on a server costs the thread little: a write that waits for
 * others is late for nothing.
 */
const GATHERING_NANOS = 2_000_000n

/**
 * Starts the writer. Closing the scope accepts no more writes and commits the queued ones. An interrupted caller's write is made all the
 * same.
 */
export const make = Effect.fnUntraced(function* <E>(
  options: Options<E>
): Effect.fn.Return<GroupCommit<E>, never, Scope.Scope> {
  const { isServer = false } = options
  const clock = yield* Clock.Clock
  const lanes: Array<Lane<E>> = []
  const work = Latch.makeUnsafe(false)
  let closed = false
  let rounds = 1

  const writer = yield* Effect.gen(function* () {
    while (true) {
      if (lanes.every(({ waiting }) => waiting.length === 0)) {
        if (closed) return
        work.closeUnsafe()
        yield* work.await
      }
      // Writes that are queued in this turn of the event loop get into this commit.
      const from = clock.monotonicTimeNanosUnsafe()
      for (let round = 0; round < rounds; round++) {
        yield* Effect.yieldNow
        if (isServer && clock.monotonicTimeNanosUnsafe() - from >= GATHERING_NANOS) break
      }
      const taken = lanes.map(({ apply, waiting }) => ({ apply, writes: waiting.splice(0, MAX_WRITES) }))
      yield* commit(options, taken, lanes)
      rounds = taken.reduce((count, { writes }) => count + writes.length, 0) > CROWD ? CROWD_ROUNDS : 1
    }
  }).pipe(Effect.forkScoped)
  // Added after the fork, so run before it: the writer ends by itself.
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      closed = true
      work.openUnsafe()
      return Fiber.await(writer)
    })
  )

  return {
    lane: <In, Out>(apply: Apply<In, Out, E>) => {
      const waiting: Array<Pending<In, Out, E>> = []
      lanes.push({ apply, waiting } as unknown as Lane<E>) // its inputs and results are its callers'
      const add = (input: In, resume: (outcome: Exit.Exit<Out, E>) => void): void => {
        if (closed) return resume(Exit.fail(options.closed()))
        waiting.push({ input, resume })
        work.openUnsafe()
      }
      const one = (input: In) => Effect.callback<Out, E>((resume) => add(input, resume))
      const all = (inputs: ReadonlyArray<In>) =>
        Effect.callback<ReadonlyArray<Exit.Exit<Out, E>>>((resume) => {
          const outcomes: Array<Exit.Exit<Out, E>> = []
          let left = inputs.length
          if (left === 0) return resume(Effect.succeed(outcomes))
          for (const [i, input] of inputs.entries())
            add(input, (outcome) => {
              outcomes[i] = outcome
              if (--left === 0) resume(Effect.succeed(outcomes))
            })
        })
      return Object.assign(one, { all })
    }
  }
})

// --- internal

interface Pending<In, Out, E> {
  readonly input: In
  readonly resume: (outcome: Exit.Exit<Out, E>) => void
}

/** A lane as the writer sees it, whatever it writes. */
interface Lane<E> {
  readonly apply: Apply<unknown, unknown, E>
  readonly waiting: Array<Pending<unknown, unknown, E>>
}

const commit = <E>(
  { answered = identity, died, scope, transaction }: Options<E>,
  taken: ReadonlyArray<Pick<Lane<E>, "apply"> & { readonly writes: Lane<E>["waiting"] }>,
  lanes: ReadonlyArray<Lane<E>>
): Effect.Effect<void> => {
  const isOfOne = (error: E): boolean => scope(error) === "one"
  const writes = taken.flatMap((of) => of.writes)
  const together = Effect.forEach(taken, (of) => outcomesOf(of.apply, of.writes))
  const oneByOne = Effect.forEach(taken, (of) =>
    Effect.forEach(of.writes, (write) =>
      transaction(outcomesOf(of.apply, [write])).pipe(
        Effect.catchIf(isOfOne, (error) => Effect.succeed([Exit.fail(error)])) // GroupCommit.G2
      )
    ).pipe(Effect.map((outcomes) => outcomes.flat()))
  )
  return transaction(together).pipe(
    Effect.catchIf(isOfOne, () => transaction(oneByOne)),
    // Another process's lock does not stop this one; a silent database is waited for no longer than callers wait.
    DatabaseWait.whileBusy((error) => scope(error) === "busy"),
    answered,
    Effect.matchCause({
      onSuccess: (outcomes) => outcomes.flat().forEach((outcome, i) => writes[i]?.resume(outcome)), // GroupCommit.G1
      onFailure: (cause) => {
        const found = Cause.findError(cause)
        const error = Result.isSuccess(found) ? found.success : died(found.failure)
        // GroupCommit.G3. Taken before the first caller resumes, which may queue another write at once.
        const behind = Result.isSuccess(found) ? lanes.flatMap(({ waiting }) => waiting.splice(0)) : []
        for (const write of [...writes, ...behind]) write.resume(Exit.fail(error))
      }
    })
  )
}

/** The outcome of each write of a lane, in order. */
const outcomesOf = <E>(
  apply: Lane<E>["apply"],
  writes: Lane<E>["waiting"]
): Effect.Effect<ReadonlyArray<Exit.Exit<unknown, E>>, E> => {
  const inputs = writes.map(({ input }) => input)
  if (!Arr.isReadonlyArrayNonEmpty(inputs)) return Effect.succeed([])
  return Effect.map(apply(inputs), (results) =>
    inputs.map((_, i) =>
      i < results.length
        ? Exit.succeed(results[i])
        : Exit.die(new Error("A lane gave fewer results than it had inputs"))
    )
  )
}
