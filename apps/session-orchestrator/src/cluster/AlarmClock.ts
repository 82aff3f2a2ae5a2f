/**
 * Wakes the conversations of this runner's shards that have something left to run and are not in memory.
 *
 * A1. Of a shard that is covered, every conversation with an unsealed turn is in memory or stands here, and never both: one
 *     that is called for what it does already would never leave. Here it costs an entry and no more, however long it is.
 * A2. An entry rings when its time has come, and again every `AGAIN_MS` until the conversation is there: whoever is roused may be
 *     on its way out, or its message may be lost.
 * A3. What has gone to another runner is let go of, and its shard does not count as covered any more. It is read from the
 *     database again when it comes back, however short the time was.
 * A4. An entry stands before its gate as a parked turn does, and is roused when that lets it in, before its time (X5). The ticket is
 *     for the turn, which calls with it; one that nobody has come for within `PASS_MS` goes back, as does that of an entry which
 *     is let go of. At its time it leaves the gate, and asks again from memory.
 * A5. What goes to another runner is told, from memory or from here; what stops because this one goes down is not: it may come back.
 */
import type { Timer } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import type { TurnCounts } from "../conversation/Conversations.ts"
import type { Awaited, GateTicket, Sleeper } from "../gate/Gatekeeper.ts"

/** A conversation that is not in memory. */
export interface Alarm {
  /** When it has to be; epoch milliseconds. */
  readonly at: number
  /** Whether the turn at its head waits for a provider; otherwise it was in the middle of something. */
  readonly isWaiting: boolean
  /** How many turns are behind that one. */
  readonly queued: number
  /** What that turn waits for; absent: its time alone. */
  readonly awaited?: Awaited
}

export interface Dependencies {
  readonly timer: Pick<Timer.Timer["Service"], "at">
  readonly now: () => number
  readonly shardOf: (id: Ids.ConversationId) => number
  /** Whether a shard is this runner's, as far as it knows. */
  readonly owns: (shard: number) => boolean
  /** Brings a conversation into memory, at whichever runner it belongs to. */
  readonly rouse: (id: Ids.ConversationId) => void
  /** Hears of a conversation that another runner goes on with (A5). */
  readonly moved: (id: Ids.ConversationId) => void
}

/** Longer than it takes to read a conversation; short beside the 20 seconds that a take-over may last. */
export const AGAIN_MS = 2_000

/**
 * As long as a runner may be silent. A ticket that is not used keeps others from the endpoint; one that goes back too early is a probe
 * that nobody made.
 */
export const PASS_MS = 10_000

export class AlarmClock {
  private readonly entries = new Map<Ids.ConversationId, Entry>()
  private readonly covered = new Set<number>()
  private readonly inMemory = new Map<Ids.ConversationId, object>()
  private readonly dependencies: Dependencies
  private isSilent = false

  constructor(dependencies: Dependencies) {
    this.dependencies = dependencies
  }

  isCovered(shard: number): boolean {
    return this.covered.has(shard)
  }

  /** Covers shards, with what was found of them (A1). */
  cover(shards: Iterable<number>, found: Iterable<readonly [Ids.ConversationId, Alarm]>): void {
    for (const shard of shards) this.covered.add(shard)
    for (const [id, alarm] of found) {
      // It has come, or left and said what it wants, since this was read.
      if (!this.inMemory.has(id) && !this.entries.has(id)) this.set(id, alarm)
    }
  }

  /** Lets go of shards (A3). */
  uncover(shards: ReadonlySet<number>): void {
    for (const shard of shards) this.covered.delete(shard)
    for (const [id, { shard }] of this.entries) {
      if (!shards.has(shard)) continue
      this.remove(id)
      this.dependencies.moved(id)
    }
  }

  find(id: Ids.ConversationId): Alarm | undefined {
    return this.entries.get(id)
  }

  /** The turn of a conversation that comes into memory is about to ask its gate itself. What that has told it so far, if it has. */
  handOver(id: Ids.ConversationId): GateTicket | undefined {
    const entry = this.entries.get(id)
    if (entry === undefined) return undefined
    entry.leaveGate()
    const { ticket } = entry
    entry.ticket = undefined
    return ticket
  }

  /** A conversation is in memory, and sees to itself. */
  arrive(id: Ids.ConversationId, resident: object): void {
    this.inMemory.set(id, resident)
    this.remove(id)
  }

  /** A conversation leaves memory; says what it wants to be called for. Nobody hears one whose successor has arrived. */
  leave(id: Ids.ConversationId, resident: object, alarm: Alarm | undefined): void {
    if (this.inMemory.get(id) !== resident) return
    this.inMemory.delete(id)
    if (!this.isSilent && !this.isOwned(id)) this.dependencies.moved(id)
    if (alarm !== undefined) this.set(id, alarm)
  }

  /** The turns that are looked after here. */
  get counts(): TurnCounts {
    const counts = { running: 0, retrying: 0, queued: 0 }
    for (const { isWaiting, queued } of this.entries.values()) {
      counts[isWaiting ? "retrying" : "running"]++
      counts.queued += queued
    }
    return counts
  }

  /** Rings no more: the runner goes down. */
  silence(): void {
    this.isSilent = true
    for (const id of this.entries.keys()) this.remove(id)
  }

  private ring(id: Ids.ConversationId): void {
    const entry = this.entries.get(id)
    if (entry === undefined) return
    if (!this.isOwned(id)) return
    const { now, rouse, timer } = this.dependencies
    entry.leaveGate()
    if (now() >= entry.ticketUntil) giveBack(entry) // A4
    entry.cancel = timer.at(now() + AGAIN_MS, () => this.ring(id)) // A2
    rouse(id)
  }

  private set(id: Ids.ConversationId, alarm: Alarm): void {
    if (this.isSilent) return
    // Its next owner may have looked for it before it did its last.
    if (!this.isOwned(id)) return this.dependencies.rouse(id)
    const { awaited } = alarm
    const sleeper: Sleeper | undefined = awaited && {
      ...awaited,
      wake: (ticket) => this.letIn(id, ticket),
      // Only who is due is held: here nobody is.
      held: () => {}
    }
    const cancel = this.dependencies.timer.at(alarm.at, () => this.ring(id))
    const leaveGate = () => sleeper?.gatekeeper.leave(sleeper)
    const shard = this.dependencies.shardOf(id)
    this.entries.set(id, { ...alarm, shard, cancel, leaveGate, ticket: undefined, ticketUntil: 0 })
    sleeper?.gatekeeper.enter(sleeper)
  }

  /** A4 */
  private letIn(id: Ids.ConversationId, ticket: GateTicket): void {
    const entry = this.entries.get(id)
    if (entry === undefined || this.isSilent) return ticket.giveBack()
    entry.ticket = ticket
    entry.ticketUntil = this.dependencies.now() + PASS_MS
    entry.cancel()
    this.ring(id)
  }

  private remove(id: Ids.ConversationId): void {
    const entry = this.entries.get(id)
    if (entry === undefined) return
    this.entries.delete(id)
    entry.cancel()
    entry.leaveGate()
    giveBack(entry)
  }

  /** Whether a conversation is this runner's (A3). */
  private isOwned(id: Ids.ConversationId): boolean {
    const { owns, shardOf } = this.dependencies
    const shard = shardOf(id)
    if (owns(shard)) return true
    this.uncover(new Set([shard]))
    return false
  }
}

// --- internal

interface Entry extends Alarm {
  readonly shard: number
  /** Takes it out of the timer. */
  cancel: () => void
  /** Waits no more before its gate, if it has one. */
  readonly leaveGate: () => void
  ticket: GateTicket | undefined
  /** When its ticket goes back, in epoch milliseconds. */
  ticketUntil: number
}

const giveBack = (entry: Entry): void => {
  entry.ticket?.giveBack()
  entry.ticket = undefined
}
