/**
 * Writes records and an application's statements; statements with the records that they follow from.
 *
 * JournalWrites.A1. A write is stored whole or not: when its records collide (`Journal.J2`), its statements do not run.
 * JournalWrites.A2. The writes of a group are made together. When a write is refused, each is made in a savepoint of its own
 *     (`GroupCommit.G2`), so A1 holds for each, and the refused write leaves the others alone.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Append } from "../Journal.ts"
import type * as GroupCommit from "./GroupCommit.ts"
import type { TableError } from "./Tables.ts"

/** One write of a turn. */
export interface JournalWrite<In> {
  readonly records?: Append
  readonly statements?: In
}

/** The result of a write's statements, if it had any; none: another process has written records under its numbers, and nothing was written. */
export type Written<Out> = Option.Option<Out | undefined>

/**
 * Makes the writes of a group.
 *
 * @param append writes records, and returns for each append whether the table holds it now
 * @param run runs the statements of the writes that have some
 */
export const write =
  <In, Out>(
    append: (appends: ReadonlyArray<Append>) => Effect.Effect<ReadonlyArray<boolean>, TableError>,
    run: GroupCommit.Apply<In, Out, TableError>
  ) =>
  (writes: Arr.NonEmptyReadonlyArray<JournalWrite<In>>): Effect.Effect<ReadonlyArray<Written<Out>>, TableError> =>
    Effect.gen(function* () {
      const holding = yield* partOf(writes, ({ records }) => records, append)
      const made = writes.filter((write) => holding.get(write) !== false) // A1
      const results = yield* partOf(made, ({ statements }) => statements, run)
      return writes.map((write) => (holding.get(write) === false ? Option.none() : Option.some(results.get(write))))
    })

// --- internal

/** Writes one part of the writes that have it, and returns the result of each. */
const partOf = <In, Part, Out>(
  writes: ReadonlyArray<JournalWrite<In>>,
  pick: (write: JournalWrite<In>) => Part | undefined,
  make: (parts: Arr.NonEmptyReadonlyArray<Part>) => Effect.Effect<ReadonlyArray<Out>, TableError>
): Effect.Effect<ReadonlyMap<JournalWrite<In>, Out | undefined>, TableError> => {
  const having: Array<JournalWrite<In>> = []
  const parts: Array<Part> = []
  for (const write of writes) {
    const part = pick(write)
    if (part === undefined) continue
    having.push(write)
    parts.push(part)
  }
  if (!Arr.isReadonlyArrayNonEmpty(parts)) return Effect.succeed(new Map())
  return Effect.map(make(parts), (outs) => new Map(having.map((write, i) => [write, outs[i]])))
}
