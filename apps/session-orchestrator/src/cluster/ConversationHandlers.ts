/**
 * What a conversation's owner does with the messages for it: it passes them on to the resident.
 *
 * H1. The conversation stays in memory while a turn of it is not sealed or somebody watches: the cluster lets go of one that
 *     nothing is asked of for a minute, and `Stay` asks for as long as there are turns.
 * H2. When a turn was stopped, the entity begins anew from the records (R2), if it is still the owner: the cluster does that
 *     with one that dies, and hands its requests in again.
 */
import { Ids } from "@holdfast/wire"
import { Effect, type Layer, Schedule, Stream } from "effect"
import { Entity, type Sharding } from "effect/cluster"
import type { Frame } from "../conversation/Conversations.ts"
import { ConversationEntity } from "./ConversationEntity.ts"
import * as Frames from "./Frames.ts"
import * as Resident from "./Resident.ts"
import type { Residents } from "./Residents.ts"

/** The entity, on this runner. */
export const layer = (residents: Residents): Layer.Layer<never, never, Resident.Requirements | Sharding.Sharding> =>
  ConversationEntity.toLayer(
    Effect.gen(function* () {
      const { entityId } = yield* Entity.CurrentAddress
      const id = Ids.ConversationId.make(entityId)
      const resident = yield* Effect.orDie(Resident.make(id))
      yield* residents.add(resident)
      const client = (yield* ConversationEntity.client)(entityId)
      const { conversations } = resident
      const stay = Effect.ignore(client.Stay(undefined, { discard: true })) // H1

      return ConversationEntity.of({
        Prompt: ({ payload }) => Effect.tap(conversations.prompt(id, payload), () => stay),
        Retry: ({ payload }) => Effect.tap(conversations.retry(id, payload), () => stay),
        Abort: ({ payload }) => conversations.abort(id, payload.turnId),
        Steer: ({ payload }) => conversations.steer(payload.command, payload.origin, payload.turnId),
        SetAutoRetry: ({ payload }) => conversations.setAutoRetry(id, payload.enabled),
        State: () => conversations.state(id),
        Result: ({ payload }) => conversations.result(payload.turnId),
        Watch: ({ payload }) => batched(conversations.watch(id, payload.after)),
        WatchTurn: ({ payload }) => batched(conversations.watchTurn(payload.turnId)),
        Stay: () => staying(resident)
      })
    }),
    // What is asked of one conversation is sorted out by the resident, which lets nobody wait for a turn to end.
    { concurrency: "unbounded", mailboxCapacity: "unbounded", defectRetryPolicy: Schedule.spaced("1 second") }
  )

// --- internal

/** H2 */
const staying = ({ untilSealed }: Resident.Resident): Effect.Effect<void> =>
  untilSealed.pipe(
    Effect.tapErrorTag("StorageError", ({ message }) => Effect.logError(message)),
    Effect.retry({ schedule: Schedule.spaced("5 seconds"), while: ({ _tag }) => _tag === "StorageError" }),
    Effect.orDie
  )

/** One message for what the owner says within one read of its provider. */
const batched = <E>(frames: Stream.Stream<Frame, E>) =>
  Stream.mapArray(frames, (chunk) => [Frames.toBatch(chunk)] as const)
