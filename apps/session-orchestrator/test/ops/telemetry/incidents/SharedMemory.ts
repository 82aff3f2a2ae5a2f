/** Incidents and messages in memory, for tests. */
import { StorageError } from "@holdfast/journal"
import { type Ids, Target } from "@holdfast/wire"
import { Effect } from "effect"
import type { FailedTurn, IncidentChange, IncidentRow, IncidentStates } from "../../../../src/storage/IncidentStates.ts"
import type { NewMessage } from "../../../../src/storage/Outbox.ts"

/** A database of incidents: what is in it, and what was added to its outbox. */
export class SharedMemory {
  readonly rows = new Map<string, string>()
  readonly messages: Array<NewMessage> = []
  writes = 0
  /** Where each turn that has not ended is, as `provider/model`. */
  readonly open = new Map<Ids.TurnId, string>()
  /** Turns that failed, and that no change has counted. */
  uncounted: ReadonlyArray<FailedTurn> = []
  private readonly counted = new Set<Ids.TurnId>()
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
    hasOpenTurn: (target) => Effect.sync(() => Array.from(this.open.values()).includes(Target.format(target))),
    uncounted: (from, before) =>
      Effect.sync(() => this.uncounted.filter(({ end }) => end.endedAt >= from && end.endedAt < before)),
    change: (decide, turns) =>
      Effect.suspend(() => {
        if (this.isAway) return Effect.fail(AWAY)
        const counted = new Set(turns.filter((turnId) => !this.counted.has(turnId)))
        for (const turnId of counted) this.counted.add(turnId)
        this.uncounted = this.uncounted.filter(({ end }) => !counted.has(end.turnId))
        return Effect.succeed(this.apply(decide(this.all, counted)))
      })
  }

  /** The notices to a receiver, as JSON. */
  notices(receiver = "webhook") {
    return this.messages
      .filter((message) => message.receiver === receiver)
      .map(({ payload }): Readonly<Record<string, unknown>> => JSON.parse(payload ?? ""))
  }
}

const AWAY = new StorageError({ message: "The database is away." })
