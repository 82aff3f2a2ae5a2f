/** Incidents and messages in memory, for tests. */
import { StorageError } from "@holdfast/journal"
import { Effect } from "effect"
import type { IncidentChange, IncidentRow, IncidentStates } from "../../../src/storage/IncidentStates.ts"
import type { NewMessage } from "../../../src/storage/Outbox.ts"

/** A database of incidents: what is in it, and what was added to its outbox. */
export class SharedMemory {
  readonly rows = new Map<string, string>()
  readonly messages: Array<NewMessage> = []
  writes = 0
  /** A turn has not ended. */
  hasOpenTurn = true
  /** Reads and writes fail. */
  isAway = false

  get all(): ReadonlyArray<IncidentRow> {
    return Array.from(this.rows, ([endpoint, state]) => ({ endpoint, state }))
  }

  apply({ messages, removed, rows }: IncidentChange): void {
    this.writes++
    for (const endpoint of removed) this.rows.delete(endpoint)
    for (const { endpoint, state } of rows) this.rows.set(endpoint, state)
    this.messages.push(...messages.filter(({ id }) => this.messages.every((one) => one.id !== id)))
  }

  readonly storage: IncidentStates["Service"] = {
    load: Effect.suspend(() => (this.isAway ? Effect.fail(AWAY) : Effect.succeed(this.all))),
    hasOpenTurn: () => Effect.sync(() => this.hasOpenTurn),
    change: (decide) =>
      Effect.suspend(() => (this.isAway ? Effect.fail(AWAY) : Effect.succeed(this.apply(decide(this.all)))))
  }

  /** The notices to a receiver, as JSON. */
  notices(receiver = "webhook") {
    return this.messages
      .filter((message) => message.receiver === receiver)
      .map(({ payload }): Readonly<Record<string, unknown>> => JSON.parse(payload))
  }
}

const AWAY = new StorageError({ message: "The database is away." })
