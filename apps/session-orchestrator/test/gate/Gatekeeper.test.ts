/** A gatekeeper under any order of what can happen to it, on a clock that is a number. */
import { News } from "@holdfast/policy"
import type { Failure } from "@holdfast/wire"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { World } from "../conversation/World.ts"
import {
  type Call,
  Gatekeeper,
  HOLD_LIMIT_MS,
  isGates,
  Pass,
  type Sleeper,
  wakeEarly
} from "../../src/gate/Gatekeeper.ts"

const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }
const unheeded: Failure.Failure = { reason: "bad-request", message: "No", retryable: false, status: 400 }

/** A turn that waits, and what it is told. */
class Turn implements Sleeper {
  readonly gatekeeper: Gatekeeper
  readonly since: number
  readonly waitMs: number
  readonly notBefore: number
  readonly isWanted: boolean
  readonly passes: Array<{ readonly pass: Pass; readonly at: number }> = []
  /** Until when it was held, from the beginning of its wait. */
  readonly holds: Array<number> = []
  call: Call | undefined = undefined
  hasLeft = false
  private readonly world: World
  private readonly ring: () => void

  constructor(world: World, gatekeeper: Gatekeeper, waitMs: number, kind: "plain" | "hinted" | "asked" | "moved") {
    this.world = world
    this.gatekeeper = gatekeeper
    this.since = world.now()
    this.waitMs = waitMs
    const asked = { plain: 0, hinted: waitMs / 2, asked: waitMs, moved: Infinity }
    this.notBefore = this.since + asked[kind]
    this.isWanted = kind === "moved"
    this.ring = world.at(this.since + waitMs, () => this.isWaiting && gatekeeper.due(this))
    gatekeeper.enter(this)
  }

  get isWaiting(): boolean {
    return this.passes.length === 0 && !this.hasLeft
  }

  readonly wake = (pass: Pass): void => {
    this.passes.push({ pass, at: this.world.now() })
    this.ring()
  }

  readonly held = (until: number): void => {
    this.holds.push(until - this.since)
    expect(until).toBeGreaterThan(this.world.now())
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
  const world = new World()
  const gatekeeper = new Gatekeeper(world)
  const turns: Array<Turn> = []
  for (const happening of happenings) {
    switch (happening.type) {
      case "enter":
        turns.push(new Turn(world, gatekeeper, happening.waitMs, happening.kind))
        break
      case "first": {
        const call = gatekeeper.begin(false)
        if (happening.isAnswered) call.answered()
        else call.failed(overloaded)
        call.ended()
        break
      }
      case "move":
        world.move(happening.ms)
        break
      default:
        act(happening.type, turns[happening.nth])
    }
  }
  return { world, gatekeeper, turns }
}

const act = (type: Exclude<Happening["type"], "enter" | "first" | "move">, turn: Turn | undefined): void => {
  const pass = turn?.passes[0]?.pass
  switch (type) {
    case "leave":
      return turn?.leave()
    case "give-back":
      return pass?.giveBack()
    case "call":
      if (pass?.shared === undefined && pass?.spend() === true && turn !== undefined)
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

/** A world whose alarms ring a millisecond before their time, once. */
class EarlyWorld extends World {
  private readonly rung = new Set<number>()
  override readonly at = (endMs: number, act: () => void): (() => void) => {
    const isFirst = !this.rung.has(endMs) && endMs - this.ms > 1
    this.rung.add(endMs)
    return this.add(isFirst ? endMs - 1 : endMs, act)
  }
}

/** A first attempt is refused, and its turn waits. */
const refused = (world: World, gatekeeper: Gatekeeper): Turn => {
  gatekeeper.begin(false).failed(overloaded)
  return new Turn(world, gatekeeper, HALF_AN_HOUR, "plain")
}

/** The endpoint answers a newcomer, and then refuses those who wait: it has room for nobody any more. */
const turnedAway = (gatekeeper: Gatekeeper, turns: ReadonlyArray<Turn>): void => {
  gatekeeper.begin(false).answered()
  for (const turn of turns) {
    act("call", turn)
    act("fails", turn)
  }
}

/** When a turn was woken, from the beginning of its wait. */
const wokenAfter = ({ passes, since }: Turn): number | undefined => passes[0] && passes[0].at - since

describe("a gatekeeper", () => {
  it("X5: whoever waits alone keeps its schedule, days after a crowd has given up", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    const crowd = Array.from({ length: 20 }, () => refused(world, gatekeeper))
    turnedAway(gatekeeper, crowd)
    for (const turn of crowd) turn.leave()
    world.move(2 * 86_400_000)
    const alone = refused(world, gatekeeper)
    world.move(HALF_AN_HOUR)
    expect(wokenAfter(alone)).toBe(HALF_AN_HOUR)
  })

  it("X5: whoever is let in alone to where nobody has waited for days leaves no trace of the last crowd either", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    const before = refused(world, gatekeeper)
    turnedAway(gatekeeper, [before])
    world.move(2 * 86_400_000)
    const pass = gatekeeper.admit()
    expect([pass.isEarly, pass.isProbe, pass.heldMs, pass.shared]).toEqual([false, false, 0, undefined])
    pass.spend()
    gatekeeper.begin(true).failed(overloaded)
    const alone = new Turn(world, gatekeeper, HALF_AN_HOUR, "plain")
    world.move(HALF_AN_HOUR)
    expect(wokenAfter(alone)).toBe(HALF_AN_HOUR)
  })

  it("X5: whoever was refused where others are answered knows it through all its waits, and tries again alone", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    let turn = refused(world, gatekeeper)
    turnedAway(gatekeeper, [turn])
    for (let wait = 0; wait < 8; wait++) {
      turn = new Turn(world, gatekeeper, HALF_AN_HOUR, "plain")
      world.move(HALF_AN_HOUR)
      act("call", turn)
      world.move(1)
      act("fails", turn)
    }
    turn = new Turn(world, gatekeeper, HALF_AN_HOUR, "plain")
    world.move(1_000)
    const now = world.now()
    const elsewhere: News.News = { triedAt: now, answeredAt: now, failedAt: 0, failure: undefined }
    gatekeeper.hear((gate) => News.heard(gate, elsewhere))
    expect(turn.passes).toEqual([])
  })

  it("X5: a turn that waits is early when its time has not come, and not when it has", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    const [early, due] = [refused(world, gatekeeper), refused(world, gatekeeper)]
    gatekeeper.begin(false).answered()
    expect(early.passes.map(({ pass }) => [pass.isEarly, pass.isProbe, pass.heldMs])).toEqual([[true, false, 0]])
    world.move(HALF_AN_HOUR + 5_000)
    early.passes[0]?.pass.giveBack()
    expect(due.passes.map(({ pass }) => [pass.isEarly, pass.isProbe, pass.heldMs])).toEqual([[false, false, 5_000]])
  })

  it("X5: a turn that is woken to find out says so", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    const turns = Array.from({ length: 50 }, () => refused(world, gatekeeper))
    for (let minutes = 0; turns.every(({ passes }) => passes.length === 0) && minutes < 29; minutes++)
      world.move(60_000)
    const woken = turns.flatMap(({ passes }) => passes)
    expect(woken.map(({ pass }) => [pass.isEarly, pass.isProbe])).toEqual([[true, true]])
  })

  it("X5: of a call that answers twice, or after its end, only the first answer makes room", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    const turns = Array.from({ length: 9 }, () => refused(world, gatekeeper))
    const woken = () => turns.filter(({ passes }) => passes.length > 0).length
    const first = gatekeeper.begin(false)
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

  it("X5: a call that fails after its first content takes its room with it, and no more", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    const turns = Array.from({ length: 9 }, () => refused(world, gatekeeper))
    gatekeeper.begin(false).answered()
    const [one, two, three] = turns
    for (const type of ["call", "answers"] as const) act(type, one)
    for (const turn of [two, three]) for (const type of ["call", "answers"] as const) act(type, turn)
    const before = turns.filter(({ passes }) => passes.length > 0)
    expect(before).toHaveLength(4)
    for (const { passes } of before.slice(3)) passes[0]?.pass.giveBack()
    expect(gatekeeper.isOpen).toBe(false)
    for (const turn of [one, two, three]) act("fails", turn)
    for (const { passes } of turns) passes[0]?.pass.giveBack()
    for (const turn of turns) turn.leave()
    expect(gatekeeper.isIdle).toBe(true)
  })

  it("X5: a turn that is held is told so after 15 s, and then half as often each time, up to the limit", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    gatekeeper.begin(false).failed(overloaded)
    gatekeeper.admit()
    const turn = new Turn(world, gatekeeper, 0, "plain")
    world.move(HOLD_LIMIT_MS - 1)
    expect(turn.passes).toEqual([])
    expect(turn.holds).toEqual([15_000, 30_000, 60_000, 120_000, 240_000, 480_000, 600_000])
    world.move(1)
    expect(wokenAfter(turn)).toBe(HOLD_LIMIT_MS)
    world.move(HOLD_LIMIT_MS)
    expect(turn.holds).toHaveLength(7)
  })

  it("X5: a refusal of one request says nothing of the endpoint, for a newcomer and for one that has waited", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    gatekeeper.begin(false).failed(unheeded)
    expect(gatekeeper.isOpen).toBe(true)
    const [one, two] = [refused(world, gatekeeper), refused(world, gatekeeper)]
    gatekeeper.begin(false).answered()
    act("call", one)
    act("is-refused", one)
    expect(two.passes).toHaveLength(1)
  })

  it("X5: a newcomer whose answer breaks off says nothing of the endpoint", () => {
    const gatekeeper = new Gatekeeper(new World())
    const call = gatekeeper.begin(false)
    call.answered()
    call.failed(overloaded)
    expect(gatekeeper.isOpen).toBe(true)
  })

  it("X5: what it tells others is when it was last answered, and what it failed with last", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    gatekeeper.begin(false).answered()
    const answeredAt = world.now()
    world.move(1_000)
    gatekeeper.begin(false).failed(overloaded)
    expect(gatekeeper.news).toMatchObject({ answeredAt, failedAt: world.now(), failure: overloaded })
  })

  it("X5: a pass that is given back takes no answer with it", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    const [one, two, three, four] = [0, 1, 2, 3].map(() => refused(world, gatekeeper))
    gatekeeper.begin(false).answered()
    for (const type of ["call", "answers"] as const) act(type, one)
    act("give-back", two)
    act("call", three)
    act("fails", three)
    expect(four?.passes).toEqual([])
    // One was answering when another was refused: there is room for one.
    act("ends", one)
    expect(four?.passes.map(({ pass }) => pass.isProbe)).toEqual([false])
  })

  it("X5: probes cost a share of what those would have called who still wait", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    const turns = Array.from({ length: 100 }, () => refused(world, gatekeeper))
    for (const turn of turns.slice(0, 40)) turn.leave()
    // 30 minutes / (60 turns * 3 %)
    world.move(1_000_000 - 1)
    expect(turns.flatMap(({ passes }) => passes)).toEqual([])
    world.move(1)
    expect(turns.flatMap(({ passes }) => passes.map(({ pass }) => pass.isProbe))).toEqual([true])
  })

  it("X5: a turn that waits for its provider's time leaves no alarm behind", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    const turn = new Turn(world, gatekeeper, HALF_AN_HOUR, "hinted")
    expect(world.size).toBeGreaterThan(0)
    turn.leave()
    expect(world.size).toBe(0)
  })

  it("X5: turns that wait over a restart have a probe, though this process knows of no failure", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    const turns = Array.from({ length: 50 }, () => new Turn(world, gatekeeper, HALF_AN_HOUR, "plain"))
    world.move(HALF_AN_HOUR - 1)
    expect(turns.flatMap(({ passes }) => passes.map(({ pass }) => pass.isProbe))).toEqual([true])
  })

  it("X5: an endpoint that a turn will wait for, once its provider's time is over, is not forgotten", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    gatekeeper.begin(false).failed(overloaded)
    const turn = new Turn(world, gatekeeper, HALF_AN_HOUR, "hinted")
    gatekeeper.begin(false).answered()
    expect([gatekeeper.isOpen, gatekeeper.isIdle]).toEqual([false, false])
    world.move(HALF_AN_HOUR / 2 - 1)
    expect(turn.passes).toEqual([])
    world.move(1)
    expect(turn.passes.map(({ pass }) => [pass.isEarly, pass.isProbe])).toEqual([[true, false]])
  })

  it("A15: of a turn whose provider asked for its whole wait nothing is looked at before", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    const turn = new Turn(world, gatekeeper, HALF_AN_HOUR, "asked")
    expect(world.size).toBe(1)
    world.move(HALF_AN_HOUR)
    expect(wokenAfter(turn)).toBe(HALF_AN_HOUR)
  })

  it("X5: a turn whose time comes just after another was refused takes that failure, and what is left of its delay", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    const turn = refused(world, gatekeeper)
    world.move(HALF_AN_HOUR - 1_000)
    const hint = { retryAfterMs: 90_000, source: "retry-after" }
    gatekeeper.begin(false).failed({ ...overloaded, evidence: { body: "of the other's call" }, hint })
    world.move(1_000)
    expect(turn.passes.map(({ pass }) => pass.shared)).toEqual([
      { ...overloaded, hint: { ...hint, retryAfterMs: 89_000 }, shared: true }
    ])
    // No call follows, so there is nothing to give back.
    const other = gatekeeper.admit()
    turn.passes[0]?.pass.giveBack()
    turn.leave()
    expect(gatekeeper.isIdle).toBe(false)
    other.giveBack()
    other.giveBack()
    expect([other.spend(), gatekeeper.isIdle]).toEqual([false, true])
  })

  it("X5: a failure without a delay is shared as it is", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    const turn = refused(world, gatekeeper)
    world.move(HALF_AN_HOUR - 1_000)
    gatekeeper.begin(false).failed(overloaded)
    world.move(1_000)
    expect(turn.passes.map(({ pass }) => pass.shared)).toEqual([{ ...overloaded, shared: true }])
  })

  it("X5: an early wake says in the record why it came, and that it was the gate's", () => {
    const gatekeeper = new Gatekeeper(new World())
    const [room, probe] = [false, true].map((isProbe) => wakeEarly(new Pass(gatekeeper, { isProbe })))
    expect(room).toMatchObject({ type: "now", early: true, by: { origin: "the gate: the endpoint answers again" } })
    expect(probe?.by.origin).toBe("the gate: to see whether the endpoint answers")
    expect(room?.by.commandId).not.toBe(probe?.by.commandId)
    expect([room && isGates(room), probe && isGates(probe)]).toEqual([true, true])
    expect([isGates({ by: { commandId: "c", origin: "http" } }), isGates({})]).toEqual([false, false])
  })

  it("X5: a turn that leaves while it is held is told no more", () => {
    const world = new World()
    const gatekeeper = new Gatekeeper(world)
    refused(world, gatekeeper)
    gatekeeper.admit()
    const held = new Turn(world, gatekeeper, 1_000, "plain")
    world.move(1_000)
    expect(held.passes).toEqual([])
    const alarms = world.size
    held.leave()
    expect(world.size).toBe(alarms - 1)
  })

  it("X5: an alarm that rings before its time is set again", () => {
    const world = new EarlyWorld()
    const gatekeeper = new Gatekeeper(world)
    const turns = Array.from({ length: 50 }, () => refused(world, gatekeeper))
    world.move(20 * 60_000)
    expect(turns.some(({ passes }) => passes[0]?.pass.isProbe)).toBe(true)
  })

  it("X5: wakes everybody once, not before the provider's time, and at the latest when the limit is over", () => {
    fc.assert(
      fc.property(fc.array(happening, { minLength: 1, maxLength: 80 }), (happenings) => {
        const { turns, world } = play(happenings)
        world.move(1_800_000 + HOLD_LIMIT_MS)
        for (const turn of turns) {
          expect(turn.passes.length).toBe(turn.hasLeft ? 0 : 1)
          const [woken] = turn.passes
          if (woken === undefined) continue
          const due = turn.since + turn.waitMs
          expect(woken.at).toBeLessThanOrEqual(due + HOLD_LIMIT_MS)
          expect(woken.at).toBeGreaterThanOrEqual(Math.min(due, turn.notBefore))
          if (woken.at < due) expect(woken.pass.isEarly).toBe(true)
          if (woken.at > due) expect(woken.pass.isEarly).toBe(false)
          expect(woken.pass.heldMs).toBe(Math.max(0, woken.at - due))
          if (turn.isWanted) expect([woken.at, woken.pass.shared]).toEqual([due, undefined])
        }
      }),
      { numRuns: 300 }
    )
  })

  it("X5: counts right: when every pass is used and ended, or given back, nobody is under way and no alarm is left", () => {
    fc.assert(
      fc.property(fc.array(happening, { minLength: 1, maxLength: 80 }), (happenings) => {
        const { gatekeeper, turns, world } = play(happenings)
        // Somebody's end lets the next one in, who has to end too.
        for (let round = 0; round <= turns.length; round++) {
          world.move(1_800_000 + HOLD_LIMIT_MS)
          for (const turn of turns) {
            turn.call?.ended()
            turn.passes[0]?.pass.giveBack()
          }
        }
        expect(gatekeeper.isIdle).toBe(true)
        expect(world.size).toBe(0)
      }),
      { numRuns: 300 }
    )
  })
})
