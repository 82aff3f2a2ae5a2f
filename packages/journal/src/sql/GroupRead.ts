/**
 * Combines the reads of many turns into one query.
 *
 * Turns read in crowds: the turns that wake in one tick, and the turns of one commit, all read their rows at once. A query for sixty
 * rows costs little more than a query for one. So reads are queued, and all reads that were queued in one turn of the event loop become
 * one query. A read never waits for others to arrive.
 *
 * GroupRead.G1. A caller gets the result of its own read. A refused read (a damaged row) fails alone, its neighbours do not.
 * - Between two queries the thread is free for other work.
 * GroupRead.G3. An interrupted caller is removed from the queue.
 * GroupRead.G4. An error that concerns all reads (a lost connection) fails all waiting callers at once: each read by itself would take as
 *     long to fail as the first.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"

/** Reads what the inputs have; inputs without anything are left out. */
export type Apply<In, Out, E> = (inputs: ReadonlyArray<In>) => Effect.Effect<ReadonlyMap<In, Out>, E>

/**
 * A queue for reads of one kind, at most `size` of them a query. The returned function queues a read and waits for its result; `undefined`:
 * there is nothing.
 *
 * @param concernsAll whether every other read would fail with the same error (GroupRead.G4)
 */
export const make = Effect.fnUntraced(function* <In, Out, E>(
  size: number,
  apply: Apply<In, Out, E>,
  concernsAll: (error: E) => boolean
): Effect.fn.Return<(input: In) => Effect.Effect<Out | undefined, E>> {
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const waiting = new Set<Pending<In, Out | undefined, E>>()
  let isReading = false

  const read = Effect.gen(function* () {
    while (waiting.size > 0) {
      // Callers that read in this turn of the event loop join this query.
      yield* Effect.yieldNow
      const taken = Array.from(take(waiting, size))
      const together = yield* Effect.exit(apply(taken.map(({ input }) => input)))
      if (Exit.isSuccess(together)) {
        for (const { input, resume } of taken) resume(Exit.succeed(together.value.get(input)))
        continue
      }
      const error = Cause.findErrorOption(together.cause)
      if (Option.isSome(error) && concernsAll(error.value)) {
        for (const { resume } of [...taken, ...take(waiting, waiting.size)]) resume(Exit.fail(error.value)) // GroupRead.G4
      } else if (taken.length === 1) {
        for (const { resume } of taken) resume(Exit.failCause(together.cause))
      } else {
        for (const { input, resume } of taken) {
          resume(Exit.map(yield* Effect.exit(apply([input])), (found) => found.get(input))) // GroupRead.G1
        }
      }
    }
    isReading = false
  })

  return (input) =>
    Effect.callback<Out | undefined, E>((resume) => {
      const pending = { input, resume }
      waiting.add(pending)
      if (!isReading) {
        isReading = true
        fork(read)
      }
      return Effect.sync(() => waiting.delete(pending)) // GroupRead.G3
    })
})

// --- internal

interface Pending<In, Out, E> {
  readonly input: In
  readonly resume: (outcome: Exit.Exit<Out, E>) => void
}

function* take<A>(waiting: Set<A>, count: number): Generator<A> {
  for (const one of waiting) {
    if (count-- === 0) return
    waiting.delete(one)
    yield one
  }
}
