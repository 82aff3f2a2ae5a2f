/** A turn as its store or its engine keeps it. */
import type { Checkpoint, EventSink, RetryStrategy } from "@holdfast/kernel"
import type { Message, TurnEvent } from "@holdfast/wire"
import type { Facts, Readers } from "./TurnStorage.ts"

/** What a turn runs on besides the ports of its program. */
export interface KeptTurn {
  /** `undefined`: the turn is not there. */
  readonly facts: Facts | undefined
  /** The events that earlier processes persisted. */
  readonly events: ReadonlyArray<TurnEvent.PersistedEvent>
  /** The messages before the turn's own. */
  readonly history: ReadonlyArray<Message.Message>
  readonly checkpoint: Checkpoint.Checkpoint["Service"]
  readonly sink: EventSink.EventSink["Service"]
  readonly sleep: RetryStrategy.RetryStrategy["Service"]["sleep"]
  /** Called when the turn is sealed. */
  readonly close: () => Promise<unknown>
}

/** What a turn gives to what keeps it. */
export interface KeptBy extends Readers {
  /** Sleeps in this process, open to commands. */
  readonly sleep: KeptTurn["sleep"]
  readonly abort: () => void
  /** Rejects when the turn is stopped. */
  readonly stopped: Promise<never>
}
