/**
 * The port through which a turn is heard.
 *
 * S1. A turn calls its sink in the order of its events, from one fiber at a time.
 * S2. `live` is one plain call: on the path of a token nothing is encoded, copied or awaited here.
 * S3. A turn that is run again persists the same events at the same positions; a sink keeps the first and drops the rest.
 */
import type { TurnEvent } from "@holdfast/wire"
import { type Array, Context, type Effect } from "effect"
import type { TurnStopped } from "./TurnStopped.ts"

/** Takes the events of a turn: those that pass, and those that stay. */
export class EventSink extends Context.Service<
  EventSink,
  {
    /** Hands a transient event to whoever listens. Must not throw, and must not wait for a slow listener. */
    readonly live: (event: TurnEvent.TransientEvent) => void
    /**
     * Records events, all or none, and hands them on. When it succeeds they are as safe as the sink makes them.
     *
     * **Details**
     *
     * `position` is the place of the first of them among the persisted events of the turn, counted from 0.
     */
    readonly persist: (
      events: Array.NonEmptyReadonlyArray<TurnEvent.PersistedEvent>,
      position: number
    ) => Effect.Effect<void, TurnStopped>
    /**
     * Whether the event at a position was there before this life of the turn, so that an `Observer` does not hear of it again.
     *
     * **Gotchas**
     *
     * Without it every event of a turn that is run again is told as if it were new.
     */
    readonly isPersisted?: (position: number) => boolean
  }
>()("@holdfast/kernel/EventSink") {}
