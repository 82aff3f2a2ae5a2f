/** A sink that keeps all events, and detects contradictions when a turn runs again. */
import type { TurnEvent } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import type { EventSink } from "../src/ports/EventSink.ts"

/** Keeps the events of a turn, over all its lives. */
export class RecordingSink {
  /** Everything, in order. A persisted event that comes again is not listed again. */
  readonly events: Array<TurnEvent.TurnEvent> = []
  /** By position. */
  readonly persisted: Array<TurnEvent.PersistedEvent> = []
  /** The types of events of each write, in order. */
  readonly writes: Array<ReadonlyArray<TurnEvent.PersistedEvent["type"]>> = []
  /** Positions at which a turn that ran again persisted another event. */
  readonly contradictions: Array<number> = []

  readonly service: EventSink["Service"] = {
    live: (event) => void this.events.push(event),
    persist: (events, position) =>
      Effect.sync(() => {
        this.writes.push(events.map(({ type }) => type))
        for (const [i, event] of events.entries()) {
          const known = this.persisted[position + i]
          if (known === undefined) {
            this.persisted[position + i] = event
            this.events.push(event)
          } else if (!Equal.equals(known, event)) {
            this.contradictions.push(position + i)
          }
        }
      }),
    isPersisted: (position) => this.persisted[position] !== undefined
  }

  /** The events of one type. */
  of<Type extends TurnEvent.TurnEvent["type"]>(
    type: Type
  ): ReadonlyArray<Extract<TurnEvent.TurnEvent, { type: Type }>> {
    return this.events.filter((event): event is Extract<TurnEvent.TurnEvent, { type: Type }> => event.type === type)
  }

  /** The types in order, with runs of deltas as one. */
  get types(): ReadonlyArray<TurnEvent.TurnEvent["type"]> {
    const types = this.events.map((event) => event.type)
    return types.filter((type, i) => !type.endsWith("-delta") || types[i - 1] !== type)
  }

  /** All text that a client received. */
  get shown(): string {
    return this.of("text-delta")
      .map((event) => event.delta)
      .join("")
  }
}
