/** A turn as its store or its engine keeps it. */
import type { Checkpoint, EventSink, RetryStrategy } from "@holdfast/kernel"
import type { Message, Prompt, TurnEvent } from "@holdfast/wire"

/** A turn as it was accepted. */
export interface Facts {
  readonly conversationId: string
  readonly prompt: Prompt.Prompt
  readonly system?: string
  /** `provider/model`. */
  readonly model: string
  /** Epoch milliseconds. */
  readonly startedAt: number
}

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

/** The readers of a turn's events. */
export interface Readers {
  /** Gets each event, once it is in the store where it has to be. */
  readonly emit: (event: TurnEvent.TurnEvent) => void
  /** As in `EventSink`. */
  readonly withdraw: () => boolean
}

/** What a turn gives to what keeps it. */
export interface KeptBy extends Readers {
  /** Sleeps in this process, open to commands. */
  readonly sleep: KeptTurn["sleep"]
  readonly abort: () => void
  /** Rejects when the turn is stopped. */
  readonly stopped: Promise<never>
}
