/**
 * Reads a held call where its client is (rule X13), whatever runner owns its shard.
 *
 * HeldReads.R1. The runner with the client has the turn in memory. The owner of the shard has its records alone, and answers where no runner has the
 *     client.
 * HeldReads.R2. A client may come to another runner than the owner's while the owner's stream is open. So each stream of an owner looks for the client
 *     from time to time, and ends when there is one: its subscriber goes on there (`Owner.followed`).
 * HeldReads.R3. A client may leave while its turn is on disk alone, which ends no stream by itself. So a runner looks from time to time whether it
 *     has the client, and ends the stream when it has not.
 */
import type { StorageError } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import { Effect, Schema, Stream } from "effect"
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
  // A stream outlives a database that is away, and its first sign waits no longer for one that does not answer (Owner.O6).
  const place = Effect.orElseSucceed(Effect.timeout(locate(id), LOOK_LIMIT), () => undefined)
  const unattached = Stream.interruptWhen(owner, seen(Effect.map(place, (at) => at !== undefined))) // HeldReads.R2
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

/** Frames at the runner that has the client, for as long as it has it (HeldReads.R3). */
export const whileHere = <A, E, R>(isHere: () => boolean, frames: Stream.Stream<A, E, R>): Stream.Stream<A, E, R> =>
  Stream.interruptWhen(frames, seen(Effect.sync(() => !isHere())))

// --- internal

/** Waits until it is so. */
const seen = (isSo: Effect.Effect<boolean>): Effect.Effect<boolean> =>
  Effect.repeat(Effect.delay(isSo, Owner.SIGN_INTERVAL), { until: (isSo) => isSo })

/** A lookup that takes longer has no answer. */
const LOOK_LIMIT = "2 seconds"

const isElsewhere = <E>(error: E | Elsewhere): error is Elsewhere => error instanceof Elsewhere
