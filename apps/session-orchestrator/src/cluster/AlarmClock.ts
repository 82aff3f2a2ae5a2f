/**
 * Wakes conversations of this runner's shards that have turns to run and are not in memory.
 *
 * AlarmClock.A1. Every conversation with an unsealed turn in a covered shard is in memory or has an entry here, never both: a conversation
 *     that is woken for a turn that it runs already would never leave memory. An entry has the same size for any conversation.
 * AlarmClock.A2. An entry rings when its time has come, and again every `AGAIN_MS` until the conversation is in memory: the conversation may
 *     be leaving memory when it is woken, or the message may be lost.
 * AlarmClock.A3. When a shard goes to another runner its entries are removed, and the shard does not count as covered any more. When it
 *     comes back, it is read from the database again, however short the time was.
 * AlarmClock.A4. An entry waits at its gate as a parked turn does, and is woken when the gate admits it, before its time (rule X5). The
 *     ticket is for the turn, which calls with it. A ticket that is not used within `PASS_MS` is returned, as is the ticket of a removed
 *     entry. At its time the entry leaves the gate, and the turn asks the gate again from memory.
 * AlarmClock.A5. `moved` is called for a conversation that goes to another runner, from memory or from here. It is not called when this
 *     runner shuts down: the conversation may come back.
 * AlarmClock.A6. At most `AT_ONCE` conversations come into memory at their times at once, and the others follow in the order of their times: a
 *     thousand that are due together would hold up every request. A conversation whose gate has admitted it does not wait for that. A
 *     conversation that is not in memory by its second ring holds up no other.
 */
import type { Timer } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import type { TurnCounts } from "../conversation/Conversations.ts"
import type { GateWait, GateTicket, Sleeper } from "../gate/Gatekeeper.ts"
import { type Place, WakeQueue } from "../pacing/WakeQueue.ts"

/** A conversation that is not in memory. */
export interface Alarm {
  /** The time at which it has to be in memory, in epoch milliseconds. */
  readonly at: number
  /** Its first turn waits for a provider; otherwise that turn was interrupted in a call or a tool. */
  readonly isWaiting: boolean
  /** The first turn has begun nothing since its last record, or since it was accepted: it has not been interrupted. */
  readonly isUnbegun?: boolean
  /** The number of turns behind the first. */
  readonly queued: number
  /** The first turn; absent: it does not wait. */
  readonly turnId?: Ids.TurnId
  /** The gate that the first turn waits for; absent: it waits for its time only. */
  readonly awaited?: GateWait
}

/** The services that an alarm clock uses. */
export interface Dependencies {
  readonly timer: Pick<Timer.Timer["Service"], "at">
  readonly now: () => number
  readonly shardOf: (id: Ids.ConversationId) => number
  /** Whether this runner owns a shard, as far as it knows. */
  readonly owns: (shard: number) => boolean
  /** Brings a conversation into memory, at the runner that owns it. */
  readonly rouse: (id: Ids.ConversationId) => void
  /** Is called for a conversation that another runner continues (A5). */
  readonly moved: (id: Ids.ConversationId) => void
}

/** The time between two rings, in milliseconds: longer than reading a conversation takes, and short beside the 20 seconds of a take-over. */
export const AGAIN_MS = 2_000

/**
 * The time in which a ticket must be used, in milliseconds: as long as a runner may be silent. An unused ticket keeps other turns from the
 * endpoint; a ticket that is returned too early is a probe without a call.
 */
export const PASS_MS = 10_000

/** Half of what is read in one query: a request waits some ten milliseconds for them, and a thousand are in memory within seconds. */
export const AT_ONCE = 32

/** The conversations of this runner's shards that are not in memory. */
export class AlarmClock {
  private readonly entries = new Map<Ids.ConversationId, Entry>()
  private readonly covered = new Set<number>()
  private readonly inMemory = new Map<Ids.ConversationId, object>()
  private readonly queue = new WakeQueue({ atOnce: AT_ONCE, ahead: 0, reading: 0, size: 0 })
  private readonly dependencies: Dependencies
  private isSilent = false

  constructor(dependencies: Dependencies) {
    this.dependencies = dependencies
  }

  isCovered(shard: number): boolean {
    return this.covered.has(shard)
  }

  /** Covers shards, with the conversations that were read from the database (A1). */
  cover(shards: Iterable<number>, found: Iterable<readonly [Ids.ConversationId, Alarm]>): void {
    for (const shard of shards) this.covered.add(shard)
    for (const [id, alarm] of found) {
      // Since this was read the conversation may have arrived in memory, or left it with an entry of its own.
      this.add(id, alarm)
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

  /** The turn of a conversation that arrives in memory is about to ask its gate itself. Returns the gate's ticket for it, if there is one. */
  handOver(id: Ids.ConversationId): GateTicket | undefined {
    const entry = this.entries.get(id)
    if (entry === undefined) return undefined
    entry.leaveGate()
    const { ticket } = entry
    entry.ticket = undefined
    return ticket
  }

  /** A conversation is in memory, and runs its own timers. */
  arrive(id: Ids.ConversationId, resident: object): void {
    this.inMemory.set(id, resident)
    this.remove(id)
  }

  /** A conversation leaves memory; `alarm` is when it has to come back. Ignored when its successor has arrived already. */
  leave(id: Ids.ConversationId, resident: object, alarm: Alarm | undefined): void {
    if (this.inMemory.get(id) !== resident) return
    this.inMemory.delete(id)
    if (!this.isSilent && !this.isOwned(id)) this.dependencies.moved(id)
    if (alarm !== undefined) this.set(id, alarm)
  }

  /** A conversation that is not in memory, and had no turn to run, has one on disk now. */
  add(id: Ids.ConversationId, alarm: Alarm): void {
    if (!this.inMemory.has(id) && !this.entries.has(id)) this.set(id, alarm)
  }

  /** The wait of a conversation that is not in memory has changed on disk; `undefined`: it has no turn to run any more. */
  change(id: Ids.ConversationId, alarm: Alarm | undefined): void {
    if (!this.entries.has(id)) return
    this.remove(id)
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
    this.queue.close()
    for (const id of this.entries.keys()) this.remove(id)
  }

  private ring(id: Ids.ConversationId): void {
    const entry = this.entries.get(id)
    if (entry === undefined) return
    if (!this.isOwned(id)) return
    entry.leaveGate()
    if (this.dependencies.now() >= entry.ticketUntil) giveBack(entry) // AlarmClock.A4
    if (entry.hasRung || entry.ticket !== undefined) return this.rouse(id, entry, undefined)
    entry.hasRung = true
    this.queue.add("due", (place) => {
      if (this.entries.get(id) === entry) this.rouse(id, entry, place)
      else place.leave()
    })
  }

  /** AlarmClock.A6 */
  private rouse(id: Ids.ConversationId, entry: Entry, place: Place | undefined): void {
    const { now, rouse, timer } = this.dependencies
    entry.cancel()
    entry.cancel = timer.at(now() + AGAIN_MS, () => this.ring(id)) // AlarmClock.A2
    const before = entry.place
    entry.place = place
    before?.leave()
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
      // The gate holds only due turns, and this turn is not due.
      held: () => {}
    }
    const cancel = this.dependencies.timer.at(alarm.at, () => this.ring(id))
    const leaveGate = () => sleeper?.gatekeeper.leave(sleeper)
    const shard = this.dependencies.shardOf(id)
    this.entries.set(id, {
      ...alarm,
      shard,
      cancel,
      leaveGate,
      hasRung: false,
      place: undefined,
      ticket: undefined,
      ticketUntil: 0
    })
    sleeper?.gatekeeper.enter(sleeper)
  }

  /** AlarmClock.A4 */
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
    entry.place?.leave()
  }

  /** Whether a conversation is this runner's (AlarmClock.A3). */
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
  hasRung: boolean
  /** Among the conversations that come into memory. */
  place: Place | undefined
  /** Waits no more before its gate, if it has one. */
  readonly leaveGate: () => void
  ticket: GateTicket | undefined
  /** The time at which its ticket is returned, in epoch milliseconds. */
  ticketUntil: number
}

const giveBack = (entry: Entry): void => {
  entry.ticket?.giveBack()
  entry.ticket = undefined
}
