/** The laws about a call to a provider at the moment at which it begins: whose it is, that the records allow it, and that it is on time. */
import { type Caller, callerOf } from "./Callers.ts"
import type { Fleet } from "./Fleet.ts"
import type { Laws } from "./Laws.ts"
import type { Call, Network } from "./Network.ts"
import * as Service from "./Service.ts"

/** Due turns start within this time after a start (`Spread.WINDOW_MS`). */
const SPREAD_MS = 30_000

/** After the trouble of a runner its turns run again, and a slow disk may stop one for a moment more. */
const SOON_MS = 4_000

/** After as many deaths a turn may be taken up alone, and the others wait for it (rule X14), no longer than this. */
const SUSPECT = 3
const HOLD_MS = 300_000

/** A write that was refused is made again after so long, and the events of other turns of its conversation stand behind it. */
const AGAIN_MS = 1_000

export class CallLaws {
  private readonly laws: Laws
  private readonly network: Network
  private readonly fleet: Fleet
  private readonly callers: () => ReadonlyArray<Caller>
  /** Calls of each turn. */
  private readonly made = new Map<string, number>()
  /** Calls of each turn whose outcome is on no record. */
  private readonly lost = new Map<string, number>()
  /** The process of each turn's last call, and the lock that it had or believed to have. */
  private readonly last = new Map<string, { readonly by: Call["by"]; readonly session: object | undefined }>()

  constructor(laws: Laws, network: Network, fleet: Fleet, callers: () => ReadonlyArray<Caller>) {
    this.laws = laws
    this.network = network
    this.fleet = fleet
    this.callers = callers
  }

  /** A call begins. */
  called(call: Call): void {
    const caller = this.callers().find(({ plan: { id } }) => id === callerOf(call))
    if (caller === undefined) this.ofTurn(call)
    else this.held(caller, call)
    const { limits } = this.fleet.settings.providers[call.host.split(".")[0] ?? ""] ?? {}
    // Calls with a client's own key are no part of it, and runners share their use by a table of PostgreSQL.
    const open = this.network.open().filter((open) => open.host === call.host && !open.isWhole && isKeyOf(open))
    this.laws.check(
      "A1 no more calls at once than a limit allows",
      this.fleet.isShared || limits === undefined || open.length <= limits.calls,
      () => `${open.length} calls are open at ${call.host}`
    )
  }

  /** The gateway makes a call for a program. */
  private held(caller: Caller, call: Call): void {
    const { laws } = this
    const { id } = caller.plan
    const unsealed = laws.heldTurns(id).filter(({ end }) => end === null)
    laws.check("X13 a wait outlives its client", unsealed.length <= 1, () => `${id} has ${unsealed.length} turns`)
    laws.check("X13 nothing is sent without a client", caller.isWaiting, () => `call ${call.number} of ${id}`)
    laws.check(
      "X13 a key is the client's, or the provider's",
      isKeyOf(call) || (call.host === ADDRESSED && call.key === caller.key), // a person may choose the provider's
      () => `${call.host} got ${call.key} of ${id}`
    )
    const other = this.network.open().find((open) => open !== call && callerOf(open) === id)
    laws.check(
      "C9 a turn makes one call at a time",
      other === undefined,
      () => `call ${other?.number} of ${id} is open`
    )
    const [held] = unsealed
    if (held !== undefined) this.onTime(held.turn, call, caller.connectedAt)
  }

  /** A turn makes a call. */
  private ofTurn(call: Call): void {
    const { fleet, laws } = this
    const turn = laws.turnOfCall(call)
    laws.check(
      "X1 a call is of a turn on disk",
      laws.stateOf(turn) === "unsealed",
      () => `${turn} is ${laws.stateOf(turn)}`
    )
    fleet.lease(call.by, laws.conversationOf(turn))
    laws.check("X1 a key belongs to its provider", isKeyOf(call), () => `${call.host} got ${call.key}`)
    const before = this.made.get(turn) ?? 0
    const holder = { by: call.by, session: fleet.sessionFor(laws.conversationOf(turn)) }
    const last = this.last.get(turn) ?? holder
    // A shard moves to another runner, or leaves one and comes back: the call that was under way there is made again.
    if (last.by !== holder.by || last.session !== holder.session) this.lose(turn)
    this.last.set(turn, holder)
    const known = laws.attemptsOf(turn) + (this.lost.get(turn) ?? 0)
    this.made.set(turn, before + 1)
    laws.check(
      "X1 no call more than the records allow",
      fleet.isShared ? before <= known + (call.at <= fleet.troubleAt ? 1 : 0) : before === known, // one while a runner learns late
      () =>
        `${turn} makes call ${before + 1}, and ${known} of those before have an outcome on record, or none because a process died`
    )
    const other = this.network
      .open()
      .find((open) => open !== call && open.by === call.by && laws.turnOfCall(open) === turn)
    laws.check(
      "C9 a turn makes one call at a time",
      other === undefined,
      () => `call ${other?.number} of ${turn} is open`
    )
    this.onTime(turn, call)
    const [limit] = fleet.settings.spend ?? []
    if (limit !== undefined) laws.spends(turn, limit)
  }

  /** A process is gone: calls whose outcome is on no record are made again. */
  gone(): void {
    const { laws } = this
    for (const turn of this.made.keys()) {
      const lost = this.lose(turn)
      laws.check(
        "X1 a death loses one call of a turn",
        this.fleet.isShared || lost <= 1,
        () => `${turn} has lost ${lost} calls`
      )
    }
  }

  /** The calls of a turn without an outcome on record are lost; returns how many more there are now. */
  private lose(turn: string): number {
    const before = this.lost.get(turn) ?? 0
    const lost = (this.made.get(turn) ?? 0) - this.laws.attemptsOf(turn)
    this.lost.set(turn, Math.max(lost, before))
    return lost - before
  }

  /** A call after a wait begins when that ends; `thereAt`: not before its client is there. */
  private onTime(turn: string, { at }: Call, thereAt = 0): void {
    const { laws } = this
    const { diskTroubleAt, lives, readyAt, troubleAt } = this.fleet
    const wait = laws.waitBefore(turn)
    if (wait === undefined) return
    const { begunAt, by, end, heldMs } = wait
    const late = at - end - heldMs
    if (by !== "elapsed") return
    const isHeld = lives > SUSPECT && at - readyAt < HOLD_MS
    laws.check("D11 no wait ends early", late >= 0, () => `${turn} calls ${-late} ms before its time`)
    const isMoving = this.fleet.isShared && troubleAt > begunAt
    // A slow or refused commit in the wait can delay when the turn is at the gate; so can the seal of a queued turn, made again after a second.
    const isTroubled = diskTroubleAt >= begunAt - AGAIN_MS && readyAt < end
    if (isHeld || thereAt > begunAt || this.fleet.hasLimits || (isTroubled && !isMoving)) return
    if (isMoving) {
      const lateMs = at - heldMs - Math.max(end, troubleAt)
      laws.check("X6 a turn is taken over in time", lateMs <= SOON_MS, () => `${turn} calls ${lateMs} ms late`)
    } else if (readyAt >= end) {
      // The gate holds a turn from when it is there.
      const afterStart = at - readyAt - heldMs
      if (troubleAt > readyAt) return
      laws.check(
        "X1 a due turn starts soon",
        afterStart <= SPREAD_MS,
        () => `${turn} calls ${afterStart} ms after the start`
      )
    } else
      laws.check("D1 a wait ends to the millisecond", late <= this.fleet.lateMs, () => `${turn} calls ${late} ms late`)
  }
}

// --- internal

/** The provider that programs name; at others they have no key. */
const ADDRESSED = "one.test"

const isKeyOf = ({ host, key }: Call): boolean =>
  Object.entries(Service.KEYS).some(
    ([name, value]) => value === key && name.toLowerCase().startsWith(host.split(".")[0] ?? " ")
  )
