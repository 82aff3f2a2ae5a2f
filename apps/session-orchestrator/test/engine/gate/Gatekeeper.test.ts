/** Tests a gatekeeper under any order of events, on a clock that is a number. */
import { Gate } from "@holdfast/policy"
import { type Failure, Ids } from "@holdfast/wire"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { ManualClock } from "../conversation/ManualClock.ts"
import { full, overloaded, shut } from "./GateStates.ts"
import {
  type Call,
  Gatekeeper,
  isByGate,
  type GateTicket,
  ticketOf,
  type Sleeper,
  wakeEarly
} from "../../../src/engine/gate/Gatekeeper.ts"
import * as Law from "../../Law.ts"

const unheeded: Failure.Failure = { reason: "bad-request", message: "No", retryable: false, status: 400 }

/** A turn that waits, and notes its wakes and holds. */
class Turn implements Sleeper {
  readonly gatekeeper: Gatekeeper
  readonly turnId: Ids.TurnId
  readonly mayShare: boolean
  readonly since: number
  readonly waitMs: number
  readonly notBefore: number
  readonly isWanted: boolean
  readonly tickets: Array<{ readonly ticket: GateTicket; readonly at: number }> = []
  /** The announced ends of its holds, from the beginning of its wait. */
  readonly holds: Array<number> = []
  call: Call | undefined = undefined
  hasLeft = false
  private readonly clock: ManualClock
  private readonly ring: () => void

  constructor(
    clock: ManualClock,
    gatekeeper: Gatekeeper,
    waitMs: number,
    kind: "plain" | "hinted" | "asked" | "moved" | "last",
    turnId = Ids.TurnId.make(globalThis.crypto.randomUUID())
  ) {
    this.clock = clock
    this.gatekeeper = gatekeeper
    this.turnId = turnId
    this.mayShare = kind !== "last"
    this.since = clock.now()
    this.waitMs = waitMs
    const asked = { plain: 0, last: 0, hinted: waitMs / 2, asked: waitMs, moved: Infinity }
    this.notBefore = this.since + asked[kind]
    this.isWanted = kind === "moved"
    this.ring = clock.at(this.since + waitMs, () => this.isWaiting && gatekeeper.due(this))
    gatekeeper.enter(this)
  }

  get isWaiting(): boolean {
    return this.tickets.length === 0 && !this.hasLeft
  }

  readonly wake = (ticket: GateTicket): void => {
    this.tickets.push({ ticket, at: this.clock.now() })
    this.ring()
  }

  readonly held = (until: number): void => {
    this.holds.push(until - this.since)
    expect(until).toBeGreaterThan(this.clock.now())
    expect(until).toBeLessThanOrEqual(this.clock.now() + Gate.HOLD_LIMIT_MS)
  }

  leave(): void {
    if (!this.isWaiting) return
    this.hasLeft = true
    this.ring()
    this.gatekeeper.leave(this)
  }
}

type Happening =
  | { readonly type: "enter"; readonly waitMs: number; readonly kind: "plain" | "hinted" | "moved" | "last" }
  | {
      readonly type: "leave" | "call" | "give-back" | "answers" | "fails" | "is-refused" | "ends"
      readonly nth: number
    }
  | { readonly type: "first"; readonly isAnswered: boolean }
  | { readonly type: "move"; readonly ms: number }

const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({
    type: fc.constant("enter"),
    waitMs: fc.integer({ min: 0, max: 1_800_000 }),
    kind: fc.constantFrom("plain", "plain", "hinted", "moved", "last")
  }),
  fc.record({
    type: fc.constantFrom("leave", "call", "call", "give-back", "answers", "fails", "is-refused", "ends"),
    nth: fc.nat(30)
  }),
  fc.record({ type: fc.constant("first"), isAnswered: fc.boolean() }),
  fc.record({ type: fc.constant("move"), ms: fc.integer({ min: 1, max: 120_000 }) })
)

/** A gatekeeper, and its clock. */
const begin = (clock = new ManualClock()) => ({ clock, gatekeeper: new Gatekeeper(clock) })

const play = (happenings: ReadonlyArray<Happening>) => {
  const { clock, gatekeeper } = begin()
  const turns: Array<Turn> = []
  for (const happening of happenings)
    switch (happening.type) {
      case "enter":
        turns.push(new Turn(clock, gatekeeper, happening.waitMs, happening.kind))
        break
      case "first": {
        const call = gatekeeper.begin(undefined)
        if (happening.isAnswered) call.answered()
        else call.failed(overloaded)
        call.ended()
        break
      }
      case "move":
        clock.move(happening.ms)
        break
      default:
        act(happening.type, turns[happening.nth])
    }
  return { clock, gatekeeper, turns }
}

const act = (type: Exclude<Happening["type"], "enter" | "first" | "move">, turn: Turn | undefined): void => {
  const ticket = turn?.tickets[0]?.ticket
  switch (type) {
    case "leave":
      return turn?.leave()
    case "give-back":
      return ticket?.giveBack()
    case "call":
      if (ticket?.shared === undefined && ticket?.spend() === true && turn !== undefined)
        turn.call = turn.gatekeeper.begin(turn.turnId, ticket)
      return
    case "answers":
      return turn?.call?.answered()
    case "fails":
      return turn?.call?.failed(overloaded)
    case "is-refused":
      return turn?.call?.failed(unheeded)
    case "ends":
      return turn?.call?.ended()
    default:
      return type satisfies never
  }
}

const HALF_AN_HOUR = 1_800_000

/** A first attempt is refused, and its turn waits. */
const refused = (clock: ManualClock, gatekeeper: Gatekeeper, waitMs = HALF_AN_HOUR): Turn => {
  const turnId = Ids.TurnId.make(globalThis.crypto.randomUUID())
  gatekeeper.begin(turnId).failed(overloaded)
  return new Turn(clock, gatekeeper, waitMs, "plain", turnId)
}

/** The time at which a turn was woken, from the beginning of its wait. */
const wokenAfter = ({ tickets, since }: Turn): number | undefined => tickets[0] && tickets[0].at - since

const ticketsOf = ({ tickets }: Turn) => tickets.map(({ ticket }) => [ticket.isEarly, ticket.isProbe, ticket.heldMs])

const kindsOf = (turns: ReadonlyArray<Turn>) =>
  turns.flatMap(({ tickets }) => tickets.map(({ ticket }) => [ticket.isEarly, ticket.isProbe]))

describe("a gatekeeper", () => {
  it("rule X5: a turn that waits alone keeps its schedule, days after a crowd has given up", () => {
    const { clock, gatekeeper } = begin()
    for (const turn of Array.from({ length: 40 }, () => refused(clock, gatekeeper))) turn.leave()
    clock.move(2 * 86_400_000)
    const alone = refused(clock, gatekeeper)
    clock.move(HALF_AN_HOUR)
    expect([wokenAfter(alone), gatekeeper.view.phase]).toEqual([HALF_AN_HOUR, "open"])
  })

  it("rule X5: a turn is woken early into free room, and one whose time comes at a full endpoint is held until a place is free", () => {
    const { clock, gatekeeper } = begin()
    const early = refused(clock, gatekeeper)
    gatekeeper.begin(undefined).answered()
    expect(ticketsOf(early)).toEqual([[true, false, 0]])
    early.tickets[0]?.ticket.giveBack()
    const [call] = full(gatekeeper, 3)
    const due = new Turn(clock, gatekeeper, 1_000, "plain")
    clock.move(6_000)
    expect(due.tickets).toEqual([])
    const { now, nextTryAt, ...view } = { now: clock.now(), ...gatekeeper.view }
    const last = { failure: overloaded, at: now - 6_000 }
    expect(view).toEqual({ held: 1, waiting: 1, phase: "open", underway: 4, room: 4, last, answeredAt: now - 6_000 })
    expect(nextTryAt).toBe(now - 6_000 + 601_000)
    call?.ended()
    expect(ticketsOf(due)).toEqual([[false, false, 5_000]])
  })

  it("rule X5: a hold counts from its beginning, though the turn leaves in it because a person has extended its budget", () => {
    const { clock, gatekeeper } = begin()
    refused(clock, gatekeeper).leave()
    const [call] = full(gatekeeper, 3)
    const tickets: Array<GateTicket> = []
    const enter = (sleeper: Sleeper) => {
      gatekeeper.enter(sleeper)
      gatekeeper.due(sleeper)
      return sleeper
    }
    const turnId = Ids.TurnId.make("t")
    const wait = { gatekeeper, turnId, mayShare: true, since: 0, waitMs: 1_000, notBefore: Infinity }
    const parts = { isWanted: false, held: () => {}, wake: (ticket: GateTicket) => void tickets.push(ticket) }
    const first = enter({ ...wait, ...parts })
    clock.move(5_000)
    gatekeeper.leave(first)
    clock.move(10)
    enter({ ...wait, ...parts })
    clock.move(3_000)
    call?.ended()
    expect(tickets.map(({ heldMs }) => heldMs)).toEqual([8_010])
  })

  it("rule X5: a report has the phase of an endpoint, and an open one lets a due turn call", () => {
    const { clock, gatekeeper } = begin()
    const other = new Gatekeeper(clock)
    const state = ({ isIdle, isOpen, view: { held, phase, room, waiting } } = gatekeeper) =>
      [phase, room, waiting, held, isOpen, isIdle].join(" ")
    const states = [state()]
    shut(gatekeeper)
    states.push(state())
    other.hear(gatekeeper.news)
    const heard = other.view.last
    const turns = Array.from({ length: 8 }, () => new Turn(clock, gatekeeper, HALF_AN_HOUR, "asked"))
    gatekeeper.begin(undefined).answered()
    states.push(state())
    clock.move(HALF_AN_HOUR)
    states.push(state())
    const alarms = clock.size
    for (const turn of turns) turn.leave()
    states.push(state())
    const moved = new Turn(clock, other, 5, "moved")
    clock.move(5)
    states.push(state(other))
    expect([alarms, clock.size, heard]).toEqual([4, 0, { failure: overloaded, at: 1_000_000 }])
    expect(moved.tickets.map(({ ticket: { isEarly, isProbe } }) => [isEarly, isProbe])).toEqual([[false, false]])
    const ramp = ["ramp 6 8 0 true false", "ramp 6 3 3 false false", "open 6 0 0 true false"]
    const first = ["open Infinity 0 0 true true", "shut 1 0 0 false true"]
    expect(states).toEqual([...first, ...ramp, "open Infinity 0 0 true false"])
  })

  it("rule X5: a view has the last answer, the refusal after it, the room, and a call that is under way", () => {
    const { clock, gatekeeper } = begin()
    const turnId = Ids.TurnId.make("t")
    const ticket = gatekeeper.admit(turnId)
    clock.move(1_000)
    const other = gatekeeper.begin(undefined)
    clock.move(1_000)
    other.answered()
    clock.move(1_000)
    ticket.spend()
    gatekeeper.begin(turnId, ticket).failed(overloaded)
    const { answeredAt, last, room, underway } = gatekeeper.view
    expect([answeredAt, last, room, underway]).toEqual([1_002_000, { failure: overloaded, at: 1_003_000 }, 3, 1])
    // Sleepers.S2: there was no answer since its call began, though there was one since it was admitted.
    const turn = new Turn(clock, gatekeeper, 60_000, "plain", turnId)
    clock.move(60_000)
    expect(wokenAfter(turn)).toBe(60_000)
  })

  it("rule X5: a turn that is woken as a probe is marked as one", () => {
    const { clock, gatekeeper } = begin()
    const turns = Array.from({ length: 50 }, () => refused(clock, gatekeeper))
    for (let minutes = 0; kindsOf(turns).length === 0 && minutes < 29; minutes++) clock.move(60_000)
    expect(kindsOf(turns)).toEqual([[true, true]])
  })

  it("rule X5: only the first answer of a call counts; a second or a late one does not", () => {
    const gatekeeper = new Gatekeeper(new ManualClock())
    const [one, two] = [gatekeeper.begin(undefined), gatekeeper.begin(undefined)]
    two.failed(overloaded)
    one.answered()
    const { room } = gatekeeper.view
    one.answered()
    expect(gatekeeper.view.room).toBe(room)
    one.ended()
    one.answered()
    one.ended()
    two.answered()
    const at = { answeredAt: 1_000_000, nextTryAt: Infinity, last: { failure: overloaded, at: 1_000_000 } }
    expect(gatekeeper.view).toEqual({ ...at, room, underway: 0, phase: "open", held: 0, waiting: 0 })
  })

  it("rule X5: a held turn is announced after 15 s, and then half as often each time; ten minutes after the last answer it calls", () => {
    const { clock, gatekeeper } = begin()
    full(gatekeeper, 3)
    const turn = new Turn(clock, gatekeeper, 0, "plain")
    clock.move(Gate.HOLD_LIMIT_MS - 1)
    expect([turn.tickets, turn.holds]).toEqual([[], [15_000, 30_000, 60_000, 120_000, 240_000, 480_000, 960_000]])
    clock.move(1)
    expect(wokenAfter(turn)).toBe(Gate.HOLD_LIMIT_MS)
    clock.move(Gate.HOLD_LIMIT_MS)
    expect(turn.holds).toHaveLength(7)
  })

  it("rule X5: a refusal of one request changes nothing for the endpoint, for a first attempt and for a retry", () => {
    const gatekeeper = new Gatekeeper(new ManualClock())
    for (let n = 0; n < 50; n++) {
      gatekeeper.begin(undefined).failed(unheeded)
      gatekeeper.begin(undefined, gatekeeper.admit()).failed(unheeded)
    }
    const none = { phase: "open", last: undefined, underway: 0, held: 0, waiting: 0, answeredAt: 0 }
    expect(gatekeeper.view).toEqual({ ...none, nextTryAt: Infinity, room: Infinity })
  })

  it("rule X5: a ticket that is given back takes no place, and its early wake is not paid", () => {
    const { clock, gatekeeper } = begin()
    const turns = Array.from({ length: 12 }, () => refused(clock, gatekeeper))
    gatekeeper.begin(undefined).answered()
    for (let round = 0; round < turns.length; round++) for (const turn of turns) act("give-back", turn)
    expect([turns.every(({ tickets }) => tickets.length === 1), gatekeeper.view.underway]).toEqual([true, 1])
  })

  it("rule X5: an endpoint is kept while a turn will wait for it after its provider's time", () => {
    const { clock, gatekeeper } = begin()
    gatekeeper.begin(undefined).failed(overloaded)
    const turn = new Turn(clock, gatekeeper, HALF_AN_HOUR, "hinted")
    const call = gatekeeper.begin(undefined)
    call.answered()
    call.ended()
    expect(gatekeeper.isIdle).toBe(false)
    clock.move(HALF_AN_HOUR / 2 - 1)
    expect(turn.tickets).toEqual([])
    clock.move(1)
    expect(ticketsOf(turn)).toEqual([[true, false, 0]])
  })

  it("rule X5: at an endpoint that is down a turn whose time comes just after a refusal takes that failure, with the rest of its delay", () => {
    const { clock, gatekeeper } = begin()
    const hint = { retryAfterMs: 90_000, source: "retry-after" }
    const turns = Array.from({ length: 3 }, () => new Turn(clock, gatekeeper, 4_000, "plain"))
    clock.move(3_000)
    shut(gatekeeper)
    gatekeeper.begin(undefined).failed({ ...overloaded, evidence: { body: "of the other's call" }, hint })
    clock.move(1_000)
    const shared = turns.flatMap(({ tickets }) => tickets.flatMap(({ ticket }) => ticket.shared ?? []))
    expect(shared[0]).toEqual({ ...overloaded, hint: { ...hint, retryAfterMs: 89_000 }, shared: true })
    // No call follows a share, so there is nothing to give back.
    for (const { tickets } of turns) for (const { ticket } of tickets) ticket.giveBack()
    for (const { tickets } of turns) for (const { ticket } of tickets) expect(ticket.spend()).toBe(false)
    expect(gatekeeper.view.underway).toBe(0)
  })

  it("rule X5: the record of an early wake names its reason and the gate as its origin", () => {
    const gatekeeper = new Gatekeeper(new ManualClock())
    const [room, probe] = [false, true].map((isProbe) =>
      wakeEarly(ticketOf(gatekeeper, { ...gatekeeper.admit(), isProbe }))
    )
    expect(room).toMatchObject({ type: "now", early: true, by: { origin: "the gate: the endpoint answers again" } })
    expect(probe?.by.origin).toBe("the gate: to see whether the endpoint answers")
    expect(room?.by.commandId).not.toBe(probe?.by.commandId)
    expect([room && isByGate(room), probe && isByGate(probe)]).toEqual([true, true])
    expect([isByGate({ by: { commandId: "c", origin: "http" } }), isByGate({})]).toEqual([false, false])
  })

  it("rule X5: wakes every turn once, not before the provider's time, and at the latest when the limit is over", () => {
    Law.holdsWith(
      { numRuns: 300 },
      [fc.array(happening, { minLength: 1, maxLength: 80, size: "max" })],
      (happenings) => {
        const { turns, clock } = play(happenings)
        clock.move(1_800_000 + Gate.HOLD_LIMIT_MS)
        for (const turn of turns) {
          expect(turn.tickets.length).toBe(turn.hasLeft ? 0 : 1)
          const [woken] = turn.tickets
          if (woken === undefined) continue
          const due = turn.since + turn.waitMs
          expect(woken.at).toBeLessThanOrEqual(due + Gate.HOLD_LIMIT_MS)
          expect(woken.at).toBeGreaterThanOrEqual(Math.min(due, turn.notBefore))
          if (woken.at < due) expect(woken.ticket.isEarly).toBe(true)
          if (woken.at > due) expect(woken.ticket.isEarly).toBe(false)
          expect(woken.ticket.heldMs).toBe(Math.max(0, woken.at - due))
          if (!turn.mayShare) expect(woken.ticket.shared).toBeUndefined() // rule D2
          if (turn.isWanted) expect([woken.at, woken.ticket.shared]).toEqual([due, undefined])
        }
      }
    )
  })

  it("rule X5: after every ticket is used and ended, or given back, no call is counted and no alarm is left", () => {
    Law.holdsWith(
      { numRuns: 300 },
      [fc.array(happening, { minLength: 1, maxLength: 80, size: "max" })],
      (happenings) => {
        const { gatekeeper, turns, clock } = play(happenings)
        // The end of one call admits the next, which has to end too.
        for (let round = 0; round <= turns.length; round++) {
          clock.move(1_800_000 + Gate.HOLD_LIMIT_MS)
          for (const turn of turns) {
            turn.call?.ended()
            turn.tickets[0]?.ticket.giveBack()
          }
        }
        expect([gatekeeper.isIdle, clock.size]).toEqual([true, 0])
      }
    )
  })
})
