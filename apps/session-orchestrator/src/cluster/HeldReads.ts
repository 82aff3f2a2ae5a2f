/**
 * Reads a held call where its client is (rule X13), whatever runner owns its shard.
 *
 * HeldReads.R1. The runner with the client has the turn in memory. The owner of the shard has its records alone, and answers where no runner has the
 *     client.
 * HeldReads.R2. A client may come to another runner than the owner's while the owner's stream is open. So each stream of an owner looks for the client
 *     from time to time, and ends when there is one: its subscriber goes on there (`Owner.followed`).
 */
import type { StorageError } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import { Effect, Schedule, Schema, Stream } from "effect"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import type { HeldRunner } from "./HeldRunner.ts"
import * as Owner from "./Owner.ts"

/** The runner does not have the client of the held call. */
export class Elsewhere extends Schema.TaggedError<Elsewhere>()("Elsewhere", {}) {}

type Locate = HeldRunner["Service"]["locate"]

/**
 * Asks the runner that has the client of a held call, and the owner about any other conversation.
 *
 * @param there asks the runner that owns the shard of an id
 * @param owner asks the owner of the call's shard
 */
export const ask = <A, E, E2>(
  locate: Locate,
  id: Ids.ConversationId,
  there: (at: Ids.ConversationId) => Effect.Effect<A, E | Elsewhere>,
  owner: Effect.Effect<A, E2>
): Effect.Effect<A, E | E2 | StorageError> =>
  HeldCallIds.isHeld(id)
    ? Effect.flatMap(locate(id), (at): Effect.Effect<A, E | E2> =>
        at === undefined
          ? owner
          : Effect.catch(there(at), (error): Effect.Effect<A, E | E2> =>
              isElsewhere(error) ? owner : Effect.fail(error)
            )
      )
    : owner

/** Watches at the same runner; the stream may end at any time, for the next one to be opened. */
export const watch = <A, E, E2>(
  locate: Locate,
  id: Ids.ConversationId,
  there: (at: Ids.ConversationId) => Stream.Stream<A, E | Elsewhere>,
  owner: Stream.Stream<A, E2>
): Stream.Stream<A, E | E2> => {
  if (!HeldCallIds.isHeld(id)) return owner
  // A stream that is open outlives a database that is away.
  const place = Effect.orElseSucceed(locate(id), () => undefined)
  const hasCome = Effect.repeat(Effect.delay(place, Owner.SIGN_INTERVAL), {
    schedule: Schedule.forever,
    until: (at) => at !== undefined
  })
  const unattached = Stream.interruptWhen(owner, hasCome) // HeldReads.R2
  return Stream.unwrap(
    Effect.map(place, (at): Stream.Stream<A, E | E2> =>
      at === undefined
        ? unattached
        : Stream.catch(there(at), (error): Stream.Stream<A, E | E2> =>
            isElsewhere(error) ? unattached : Stream.fail(error)
          )
    )
  )
}

// --- internal

const isElsewhere = <E>(error: E | Elsewhere): error is Elsewhere => error instanceof Elsewhere
