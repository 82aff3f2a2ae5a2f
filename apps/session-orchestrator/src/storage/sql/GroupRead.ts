/**
 * One query for the reads of many turns.
 *
 * Turns come in crowds: those that wake in one tick, and those whose writes were one commit, all want their rows at once. A
 * query for sixty costs little more than one for one. So reads are queued, and what has been queued in one turn of the event
 * loop is read together. No read waits for company.
 *
 * G1. A caller gets what its own read gives. One that is refused (a damaged row) fails alone, its neighbours do not.
 * G4. What concerns all (a lost connection) fails all callers that wait, at once and with the one error: each read by itself would take as
 *     long to fail as the first.
 * G2. Between two queries the thread is free for others.
 * G3. A caller that is interrupted is forgotten.
 */
import { Cause, Effect, Exit, Option } from "effect"

/** Reads what is asked for, with one answer for each, in order. */
export type Apply<In, Out, E> = (inputs: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, E>

/**
 * A queue for reads of one kind, at most `size` of them at a time. Its function hands one in and waits for the answer.
 *
 * @param concernsAll whether an error would meet every other read too (G4)
 */
export const make = Effect.fnUntraced(function* <In, Out, E>(
  size: number,
  apply: Apply<In, Out, E>,
  concernsAll: (error: E) => boolean
): Effect.fn.Return<(input: In) => Effect.Effect<Out, E>> {
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const waiting = new Set<Pending<In, Out, E>>()
  let isReading = false

  const read = Effect.gen(function* () {
    while (waiting.size > 0) {
      // Whoever is about to ask in this turn of the event loop is read along (G2).
      yield* Effect.yieldNow
      const taken = Array.from(take(waiting, size))
      const together = yield* Effect.exit(apply(taken.map(({ input }) => input)))
      if (Exit.isSuccess(together)) {
        taken.forEach(({ resume }, i) => resume(Exit.map(together, (answers) => answers[i] as Out))) // one for each
        continue
      }
      const error = Cause.findErrorOption(together.cause)
      if (Option.isSome(error) && concernsAll(error.value)) {
        for (const { resume } of [...taken, ...take(waiting, waiting.size)]) resume(Exit.fail(error.value)) // G4
      } else if (taken.length === 1) {
        for (const { resume } of taken) resume(Exit.failCause(together.cause))
      } else {
        for (const { input, resume } of taken) {
          resume(Exit.map(yield* Effect.exit(apply([input])), ([answer]) => answer as Out)) // G1
        }
      }
    }
    isReading = false
  })

  return (input) =>
    Effect.callback<Out, E>((resume) => {
      const pending = { input, resume }
      waiting.add(pending)
      if (!isReading) {
        isReading = true
        fork(read)
      }
      return Effect.sync(() => waiting.delete(pending)) // G3
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
