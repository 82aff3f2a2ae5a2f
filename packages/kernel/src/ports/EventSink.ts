/**
 * The port that receives the events of a turn.
 *
 * - A turn calls its sink in the order of its events, from one fiber at a time.
 * - `live` is one plain call: on the path of a token nothing is encoded, copied or awaited here.
 * - A turn that runs again persists the same events at the same positions; a sink keeps the first and drops the rest.
 */
import type { TurnEvent } from "@holdfast/wire"
import type * as Array from "effect/Array"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { TurnStopped } from "./TurnStopped.ts"

/** Receives the transient and the persisted events of a turn. */
export class EventSink extends Context.Service<
  EventSink,
  {
    /** Emits a transient event to all subscribers. Must not throw, and must not wait for a slow subscriber. */
    readonly live: (event: TurnEvent.TransientEvent) => void
    /**
     * Records events, all or none, and emits them. On success they are as durable as this sink makes them.
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
     * Whether the event at a position was recorded before this life of the turn: an `Observer` then does not receive it again.
     *
     * **Gotchas**
     *
     * Without it an `Observer` receives every event of a turn that runs again as if it were new.
     */
    readonly isPersisted?: (position: number) => boolean
    /**
     * Takes back the content of the step in progress if no client has received any of it; returns whether none has (X7). From then on no
     * client receives it. Synchronous, so that no client comes between the answer and its effect.
     *
     * **Gotchas**
     *
     * Without it all content counts as received: `unseen` is then `fail`.
     */
    readonly withdraw?: () => boolean
  }
>()("@holdfast/kernel/EventSink") {}
