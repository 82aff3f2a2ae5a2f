/** Tests a gatekeeper under any order of events, on a clock that is a number. */
import { News } from "@holdfast/policy"
import type { Failure } from "@holdfast/wire"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { ManualClock } from "../conversation/ManualClock.ts"
import {
  type Call,
  Gatekeeper,
  HOLD_LIMIT_MS,
  isByGate,
  GateTicket,
  type Sleeper,
  wakeEarly
} from "../../src/gate/Gatekeeper.ts"

const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }
const unheeded: Failure.Failure = { reason: "bad-request", message: "No", retryable: false, status: 400 }

/** A turn that waits, and notes its wakes and holds. */
class Turn implements Sleeper {
  readonly gatekeeper: Gatekeeper
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
    kind: "plain" | "hinted" | "asked" | "moved"
  ) {
    this.clock = clock
    this.gatekeeper = gatekeeper
    this.since = clock.now()
    this.waitMs = waitMs
    const asked = { plain: 0, hinted: waitMs / 2, asked: waitMs, moved: Infinity }
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
    expect(until).toBeLessThanOrEqual(this.since + this.waitMs + HOLD_LIMIT_MS)
  }

  leave(): void {
    if (!this.isWaiting) return
    this.hasLeft = true
    this.ring()
    this.gatekeeper.leave(this)
  }
}

type Happening =
  | { readonly type: "enter"; readonly waitMs: number; readonly kind: "plain" | "hinted" | "moved" }
  | {
      readonly type: "leave" | "call" | "give-back" | "answers" | "fails" | "is-refused" | "ends"
      readonly nth: number
    }
  | { readonly type: "first"; readonly isAnswered: boolean }
  | { readonly type: "move"; readonly ms: number }

const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({
    type: fc.constant("enter" as const),
    waitMs: fc.integer({ min: 0, max: 1_800_000 }),
    kind: fc.constantFrom("plain" as const, "plain" as const, "hinted" as const, "moved" as const)
  }),
  fc.record({
    type: fc.constantFrom(
      "leave" as const,
      "call" as const,
      "call" as const,
      "give-back" as const,
      "answers" as const,
      "fails" as const,
      "is-refused" as const,
      "ends" as const
    ),
    nth: fc.nat(30)
  }),
  fc.record({ type: fc.constant("first" as const), isAnswered: fc.boolean() }),
  fc.record({ type: fc.constant("move" as const), ms: fc.integer({ min: 1, max: 120_000 }) })
)

const play = (happenings: ReadonlyArray<Happening>) => {
  const clock = new ManualClock()
  const gatekeeper = new Gatekeeper(clock)
  const turns: Array<Turn> = []
  for (const happening of happenings) {
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
        turn.call = turn.gatekeeper.begin(true)
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

/** A clock whose alarms ring a millisecond before their time, once. */
class EarlyClock extends ManualClock {
  private readonly rung = new Set<number>()
  override readonly at = (endMs: number, act: () => void): (() => void) => {
    const isFirst = !this.rung.has(endMs) && endMs - this.ms > 1
    this.rung.add(endMs)
    return this.add(isFirst ? endMs - 1 : endMs, act)
  }
}

/** A first attempt is refused, and its turn waits. */
const refused = (clock: ManualClock, gatekeeper: Gatekeeper): Turn => {
  gatekeeper.begin(undefined).failed(overloaded)
  return new Turn(clock, gatekeeper, HALF_AN_HOUR, "plain")
}

/** The endpoint answers a first attempt, and then refuses waiting turns: it has no more room. */
const turnedAway = (gatekeeper: Gatekeeper, turns: ReadonlyArray<Turn>): void => {
  gatekeeper.begin(undefined).answered()
  for (const turn of turns) {
    act("call", turn)
    act("fails", turn)
  }
}

/** The time at which a turn was woken, from the beginning of its wait. */
const wokenAfter = ({ tickets, since }: Turn): number | undefined => tickets[0] && tickets[0].at - since

describe("a gatekeeper", () => {
  it("X5: a turn that waits alone keeps its schedule, days after a crowd has given up", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    const crowd = Array.from({ length: 20 }, () => refused(clock, gatekeeper))
    turnedAway(gatekeeper, crowd)
    for (const turn of crowd) turn.leave()
    clock.move(2 * 86_400_000)
    const alone = refused(clock, gatekeeper)
    clock.move(HALF_AN_HOUR)
    expect(wokenAfter(alone)).toBe(HALF_AN_HOUR)
  })

  it("X5: a turn that is admitted alone, days after the last wait, inherits nothing from the last crowd", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    const before = refused(clock, gatekeeper)
    turnedAway(gatekeeper, [before])
    clock.move(2 * 86_400_000)
    const ticket = gatekeeper.admit()
    expect([ticket.isEarly, ticket.isProbe, ticket.heldMs, ticket.shared]).toEqual([false, false, 0, undefined])
    ticket.spend()
    gatekeeper.begin(true).failed(overloaded)
    const alone = new Turn(clock, gatekeeper, HALF_AN_HOUR, "plain")
    clock.move(HALF_AN_HOUR)
    expect(wokenAfter(alone)).toBe(HALF_AN_HOUR)
  })

  it("X5: a turn that was refused while others are answered remembers it through all its waits, and tries again alone", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    let turn = refused(clock, gatekeeper)
    turnedAway(gatekeeper, [turn])
    for (let wait = 0; wait < 8; wait++) {
      turn = new Turn(clock, gatekeeper, HALF_AN_HOUR, "plain")
      clock.move(HALF_AN_HOUR)
      act("call", turn)
      clock.move(1)
      act("fails", turn)
    }
    turn = new Turn(clock, gatekeeper, HALF_AN_HOUR, "plain")
    clock.move(1_000)
    const now = clock.now()
    const elsewhere: News.News = { triedAt: now, answeredAt: now, failedAt: 0, failure: undefined }
    gatekeeper.update((gate) => News.apply(gate, elsewhere))
    expect(turn.tickets).toEqual([])
  })

  it("X5: a waiting turn is woken early before its time, and not early at its time", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    const [early, due] = [refused(clock, gatekeeper), refused(clock, gatekeeper)]
    gatekeeper.begin(undefined).answered()
    expect(early.tickets.map(({ ticket }) => [ticket.isEarly, ticket.isProbe, ticket.heldMs])).toEqual([
      [true, false, 0]
    ])
    clock.move(HALF_AN_HOUR + 5_000)
    early.tickets[0]?.ticket.giveBack()
    expect(due.tickets.map(({ ticket }) => [ticket.isEarly, ticket.isProbe, ticket.heldMs])).toEqual([
      [false, false, 5_000]
    ])
  })

  it("X5: a turn that is woken as a probe is marked as one", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    const turns = Array.from({ length: 50 }, () => refused(clock, gatekeeper))
    for (let minutes = 0; turns.every(({ tickets }) => tickets.length === 0) && minutes < 29; minutes++)
      clock.move(60_000)
    const woken = turns.flatMap(({ tickets }) => tickets)
    expect(woken.map(({ ticket }) => [ticket.isEarly, ticket.isProbe])).toEqual([[true, true]])
  })

  it("X5: only the first answer of a call makes room; a second or a late one does not", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    const turns = Array.from({ length: 9 }, () => refused(clock, gatekeeper))
    const woken = () => turns.filter(({ tickets }) => tickets.length > 0).length
    const first = gatekeeper.begin(undefined)
    first.answered()
    expect(woken()).toBe(1)
    const [turn] = turns
    act("call", turn)
    act("answers", turn)
    expect(woken()).toBe(2)
    act("answers", turn)
    first.answered()
    expect(woken()).toBe(2)
    act("ends", turn)
    expect(woken()).toBe(3)
    act("answers", turn)
    act("ends", turn)
    expect(woken()).toBe(3)
  })

  it("X5: a call that fails after its first content takes back exactly its own room", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    const turns = Array.from({ length: 9 }, () => refused(clock, gatekeeper))
    gatekeeper.begin(undefined).answered()
    const [one, two, three] = turns
    for (const type of ["call", "answers"] as const) act(type, one)
    for (const turn of [two, three]) for (const type of ["call", "answers"] as const) act(type, turn)
    const before = turns.filter(({ tickets }) => tickets.length > 0)
    expect(before).toHaveLength(4)
    for (const { tickets } of before.slice(3)) tickets[0]?.ticket.giveBack()
    expect(gatekeeper.isOpen).toBe(false)
    for (const turn of [one, two, three]) act("fails", turn)
    for (const { tickets } of turns) tickets[0]?.ticket.giveBack()
    for (const turn of turns) turn.leave()
    expect(gatekeeper.isIdle).toBe(true)
  })

  it("X5: a held turn is announced after 15 s, and then half as often each time, up to the limit", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    gatekeeper.begin(undefined).failed(overloaded)
    gatekeeper.admit()
    const turn = new Turn(clock, gatekeeper, 0, "plain")
    clock.move(HOLD_LIMIT_MS - 1)
    expect(turn.tickets).toEqual([])
    expect(turn.holds).toEqual([15_000, 30_000, 60_000, 120_000, 240_000, 480_000, 600_000])
    clock.move(1)
    expect(wokenAfter(turn)).toBe(HOLD_LIMIT_MS)
    clock.move(HOLD_LIMIT_MS)
    expect(turn.holds).toHaveLength(7)
  })

  it("X5: a refusal of one request changes nothing for the endpoint, for a first attempt and for a retry", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    gatekeeper.begin(undefined).failed(unheeded)
    expect(gatekeeper.isOpen).toBe(true)
    const [one, two] = [refused(clock, gatekeeper), refused(clock, gatekeeper)]
    gatekeeper.begin(undefined).answered()
    act("call", one)
    act("is-refused", one)
    expect(two.tickets).toHaveLength(1)
  })

  it("X5: a first attempt whose answer breaks off changes nothing for the endpoint", () => {
    const gatekeeper = new Gatekeeper(new ManualClock())
    const call = gatekeeper.begin(undefined)
    call.answered()
    call.failed(overloaded)
    expect(gatekeeper.isOpen).toBe(true)
  })

  it("X5: its news contains the last answer and the last failure", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    gatekeeper.begin(undefined).answered()
    const answeredAt = clock.now()
    clock.move(1_000)
    gatekeeper.begin(undefined).failed(overloaded)
    expect(gatekeeper.news).toMatchObject({ answeredAt, failedAt: clock.now(), failure: overloaded })
  })

  it("X5: a ticket that is given back does not remove an answer", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    const [one, two, three, four] = [0, 1, 2, 3].map(() => refused(clock, gatekeeper))
    gatekeeper.begin(undefined).answered()
    for (const type of ["call", "answers"] as const) act(type, one)
    act("give-back", two)
    act("call", three)
    act("fails", three)
    expect(four?.tickets).toEqual([])
    // One call was answering when another was refused: there is room for one.
    act("ends", one)
    expect(four?.tickets.map(({ ticket }) => ticket.isProbe)).toEqual([false])
  })

  it("X5: probes cost a share of the calls that the waiting turns would have made", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    const turns = Array.from({ length: 100 }, () => refused(clock, gatekeeper))
    for (const turn of turns.slice(0, 40)) turn.leave()
    // 30 minutes / (60 turns * 3 %)
    clock.move(1_000_000 - 1)
    expect(turns.flatMap(({ tickets }) => tickets)).toEqual([])
    clock.move(1)
    expect(turns.flatMap(({ tickets }) => tickets.map(({ ticket }) => ticket.isProbe))).toEqual([true])
  })

  it("X5: a turn that waits for its provider's time leaves no alarm behind", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    const turn = new Turn(clock, gatekeeper, HALF_AN_HOUR, "hinted")
    expect(clock.size).toBeGreaterThan(0)
    turn.leave()
    expect(clock.size).toBe(0)
  })

  it("X5: turns that wait over a restart have a probe, though this process has seen no failure", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    const turns = Array.from({ length: 50 }, () => new Turn(clock, gatekeeper, HALF_AN_HOUR, "plain"))
    clock.move(HALF_AN_HOUR - 1)
    expect(turns.flatMap(({ tickets }) => tickets.map(({ ticket }) => ticket.isProbe))).toEqual([true])
  })

  it("X5: an endpoint is kept while a turn will wait for it after its provider's time", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    gatekeeper.begin(undefined).failed(overloaded)
    const turn = new Turn(clock, gatekeeper, HALF_AN_HOUR, "hinted")
    gatekeeper.begin(undefined).answered()
    expect([gatekeeper.isOpen, gatekeeper.isIdle]).toEqual([false, false])
    clock.move(HALF_AN_HOUR / 2 - 1)
    expect(turn.tickets).toEqual([])
    clock.move(1)
    expect(turn.tickets.map(({ ticket }) => [ticket.isEarly, ticket.isProbe])).toEqual([[true, false]])
  })

  it("A15: a turn whose provider asked for the whole wait is not considered before", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    const turn = new Turn(clock, gatekeeper, HALF_AN_HOUR, "asked")
    expect(clock.size).toBe(1)
    clock.move(HALF_AN_HOUR)
    expect(wokenAfter(turn)).toBe(HALF_AN_HOUR)
  })

  it("X5: a turn whose time comes just after a refusal takes that failure, with the rest of its delay", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    const turn = refused(clock, gatekeeper)
    clock.move(HALF_AN_HOUR - 1_000)
    const hint = { retryAfterMs: 90_000, source: "retry-after" }
    gatekeeper.begin(undefined).failed({ ...overloaded, evidence: { body: "of the other's call" }, hint })
    clock.move(1_000)
    expect(turn.tickets.map(({ ticket }) => ticket.shared)).toEqual([
      { ...overloaded, hint: { ...hint, retryAfterMs: 89_000 }, shared: true }
    ])
    // No call follows, so there is nothing to give back.
    const other = gatekeeper.admit()
    turn.tickets[0]?.ticket.giveBack()
    turn.leave()
    expect(gatekeeper.isIdle).toBe(false)
    other.giveBack()
    other.giveBack()
    expect([other.spend(), gatekeeper.isIdle]).toEqual([false, true])
  })

  it("X5: a failure without a delay is shared as it is", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    const turn = refused(clock, gatekeeper)
    clock.move(HALF_AN_HOUR - 1_000)
    gatekeeper.begin(undefined).failed(overloaded)
    clock.move(1_000)
    expect(turn.tickets.map(({ ticket }) => ticket.shared)).toEqual([{ ...overloaded, shared: true }])
  })

  it("X5: the record of an early wake names its reason and the gate as its origin", () => {
    const gatekeeper = new Gatekeeper(new ManualClock())
    const [room, probe] = [false, true].map((isProbe) => wakeEarly(new GateTicket(gatekeeper, { isProbe })))
    expect(room).toMatchObject({ type: "now", early: true, by: { origin: "the gate: the endpoint answers again" } })
    expect(probe?.by.origin).toBe("the gate: to see whether the endpoint answers")
    expect(room?.by.commandId).not.toBe(probe?.by.commandId)
    expect([room && isByGate(room), probe && isByGate(probe)]).toEqual([true, true])
    expect([isByGate({ by: { commandId: "c", origin: "http" } }), isByGate({})]).toEqual([false, false])
  })

  it("X5: a turn that leaves while it is held gets no more announcements", () => {
    const clock = new ManualClock()
    const gatekeeper = new Gatekeeper(clock)
    refused(clock, gatekeeper)
    gatekeeper.admit()
    const held = new Turn(clock, gatekeeper, 1_000, "plain")
    clock.move(1_000)
    expect(held.tickets).toEqual([])
    const alarms = clock.size
    held.leave()
    expect(clock.size).toBe(alarms - 1)
  })

  it("X5: an alarm that rings before its time is set again", () => {
    const clock = new EarlyClock()
    const gatekeeper = new Gatekeeper(clock)
    const turns = Array.from({ length: 50 }, () => refused(clock, gatekeeper))
    clock.move(20 * 60_000)
    expect(turns.some(({ tickets }) => tickets[0]?.ticket.isProbe)).toBe(true)
  })

  it("X5: wakes every turn once, not before the provider's time, and at the latest when the limit is over", () => {
    fc.assert(
      fc.property(fc.array(happening, { minLength: 1, maxLength: 80 }), (happenings) => {
        const { turns, clock } = play(happenings)
        clock.move(1_800_000 + HOLD_LIMIT_MS)
        for (const turn of turns) {
          expect(turn.tickets.length).toBe(turn.hasLeft ? 0 : 1)
          const [woken] = turn.tickets
          if (woken === undefined) continue
          const due = turn.since + turn.waitMs
          expect(woken.at).toBeLessThanOrEqual(due + HOLD_LIMIT_MS)
          expect(woken.at).toBeGreaterThanOrEqual(Math.min(due, turn.notBefore))
          if (woken.at < due) expect(woken.ticket.isEarly).toBe(true)
          if (woken.at > due) expect(woken.ticket.isEarly).toBe(false)
          expect(woken.ticket.heldMs).toBe(Math.max(0, woken.at - due))
          if (turn.isWanted) expect([woken.at, woken.ticket.shared]).toEqual([due, undefined])
        }
      }),
      { numRuns: 300 }
    )
  })

  it("X5: after every ticket is used and ended, or given back, no call is counted and no alarm is left", () => {
    fc.assert(
      fc.property(fc.array(happening, { minLength: 1, maxLength: 80 }), (happenings) => {
        const { gatekeeper, turns, clock } = play(happenings)
        // The end of one call admits the next, which has to end too.
        for (let round = 0; round <= turns.length; round++) {
          clock.move(1_800_000 + HOLD_LIMIT_MS)
          for (const turn of turns) {
            turn.call?.ended()
            turn.tickets[0]?.ticket.giveBack()
          }
        }
        expect(gatekeeper.isIdle).toBe(true)
        expect(clock.size).toBe(0)
      }),
      { numRuns: 300 }
    )
  })
})
