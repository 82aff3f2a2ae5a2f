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
  readonly records?: Append | undefined
  readonly statements?: In | undefined
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
      const isHeld = yield* partOf(
        writes.map(({ records }) => records),
        append
      )
      const results = yield* partOf(
        writes.map(({ statements }, i) => (isHeld[i] === false ? undefined : statements)), // A1
        run
      )
      return writes.map((_, i) => (isHeld[i] === false ? Option.none() : Option.some(results[i])))
    })

// --- internal

/** Makes the parts that are there, and returns the result of each in its place. */
const partOf = <Part, Out>(
  parts: ReadonlyArray<Part | undefined>,
  make: (parts: Arr.NonEmptyReadonlyArray<Part>) => Effect.Effect<ReadonlyArray<Out>, TableError>
): Effect.Effect<ReadonlyArray<Out | undefined>, TableError> => {
  const present = parts.filter((part) => part !== undefined)
  if (!Arr.isReadonlyArrayNonEmpty(present)) return Effect.succeed([])
  return Effect.map(make(present), (outs) => {
    let next = 0
    return parts.map((part) => (part === undefined ? undefined : outs[next++]))
  })
}
