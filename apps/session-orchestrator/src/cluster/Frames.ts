/**
 * Encodes and decodes frames between runners.
 *
 * Frames.F1. The text of an event is made once, by the runner that runs the turn, and is sent to clients unchanged.
 * Frames.F2. The event is parsed from it only when a caller reads it: forwarding a frame needs no parsing.
 */
import { TurnEvent } from "@holdfast/wire"
import { Schema } from "effect"
import type { Frame } from "../conversation/Conversations.ts"
import type { Batch } from "./ConversationEntity.ts"

/** Encodes frames for another runner. */
export const toBatch = (frames: ReadonlyArray<Frame>): Batch => frames.map(({ id, json }) => [json, id ?? null])

/** Decodes frames of another runner. */
export const fromBatch = (batch: Batch): ReadonlyArray<Frame> =>
  batch.map(([json, id]) => new RemoteFrame(json, id ?? undefined))

/** Whether it is the last frame of a turn; only persisted events end one. */
export const isEnd = (frame: Frame): boolean => frame.id !== undefined && frame.event.type === "turn-end"

// --- internal

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(TurnEvent.TurnEvent))

class RemoteFrame implements Frame {
  readonly json: string
  readonly id: number | undefined
  private read: TurnEvent.TurnEvent | undefined = undefined

  constructor(json: string, id: number | undefined) {
    this.json = json
    this.id = id
  }

  /** Frames.F2. Throws on text that no runner of this version writes. */
  get event(): TurnEvent.TurnEvent {
    this.read ??= decode(this.json)
    return this.read
  }
}
