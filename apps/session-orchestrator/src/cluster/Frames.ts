/**
 * Frames on their way to another runner, as messages.
 *
 * The text of an event is made once, by the runner that runs the turn, and is sent to clients unchanged. The event is parsed from it only when a
 * caller reads it: forwarding a frame needs no parsing.
 */
import { TurnEvent } from "@holdfast/wire"
import { Schema, Stream } from "effect"
import type { Frame } from "../engine/conversation/Conversations.ts"

/** Frames of one conversation in one message: each event's text, and its id where it is persisted. */
export const Batch = Schema.Array(Schema.Tuple([Schema.String, Schema.NullOr(Schema.Int)]))
export type Batch = typeof Batch.Type

/** Between two signs of an owner with nothing else to send. */
export const SIGN_INTERVAL = "10 seconds"

/** One message for the frames that have come since the last one, and empty ones, at once and from time to time (`Owner.O6`). */
export const batches = <E>(frames: Stream.Stream<Frame, E>): Stream.Stream<Batch, E> =>
  Stream.merge(
    Stream.map(Stream.tick(SIGN_INTERVAL), (): Batch => []),
    Stream.map(Stream.chunks(frames), toBatch),
    { haltStrategy: "right" }
  )

/** Encodes frames for another runner. */
export const toBatch = (frames: ReadonlyArray<Frame>): Batch => frames.map(({ id, json }) => [json, id ?? null])

/** Decodes frames of another runner. An event throws where its text is none that a runner of this version writes. */
export const fromBatch = (batch: Batch): ReadonlyArray<Frame> =>
  batch.map(([json, id]) => {
    let read: TurnEvent.TurnEvent | undefined
    return {
      json,
      id: id ?? undefined,
      get event() {
        return (read ??= decode(json))
      }
    }
  })

/** Whether it is the last frame of a turn; only persisted events end one. */
export const isEnd = (frame: Frame): boolean => frame.id !== undefined && frame.event.type === "turn-end"

// --- internal

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(TurnEvent.TurnEvent))
