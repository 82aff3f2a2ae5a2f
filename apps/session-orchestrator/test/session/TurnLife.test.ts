/** Checks a turn's life against the drawing in `TurnLife`: transitions and held resources. */
import { assert, describe, it } from "@effect/vitest"
import { Interruption } from "@holdfast/journal"
import { Property } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Deferred, Effect, Exit } from "effect"
import * as fc from "fast-check"
import { Gatekeeper, GateTicket } from "../../src/gate/Gatekeeper.ts"
import { Session } from "../../src/session/Session.ts"
import * as TurnLife from "../../src/session/TurnLife.ts"

type Tag = TurnLife.State["_tag"]
type Kind = keyof TurnLife.Holdings

/** The resources that each state may hold. */
const HOLDS: { readonly [T in Tag]: ReadonlyArray<Kind> } = {
  Queued: ["place", "ticket"],
  Ahead: ["slot", "presence"],
  Due: ["slot", "presence", "ticket"],
  Resuming: ["place", "presence", "ticket"],
  Working: ["ticket", "presence"],
  Waiting: ["place", "presence", "ticket"],
  Stopped: [],
  Parked: [],
  Ended: []
}

type Leads = { readonly [T in Tag]?: Tag }

const EVERYWHERE: Leads = {
  Queued: "Queued",
  Ahead: "Ahead",
  Due: "Due",
  Resuming: "Resuming",
  Working: "Working",
  Waiting: "Waiting",
  Stopped: "Stopped",
  Parked: "Parked",
  Ended: "Ended"
}

/** Each transition, with the resources that it is lent, and its target state; every other state refuses it. */
const MOVES: { readonly [name: string]: readonly [(lender: Lender) => TurnLife.Transition, Leads] } = {
  begin: [() => TurnLife.begin, { Queued: "Resuming", Stopped: "Resuming" }],
  enter: [(lender) => TurnLife.enter(lender.presence()), { Ahead: "Ahead", Resuming: "Resuming" }],
  call: [() => TurnLife.call, { Ahead: "Due" }],
  goOn: [() => TurnLife.goOn, { Due: "Resuming" }],
  admit: [(lender) => TurnLife.admit(lender.place()), { Queued: "Queued", Due: "Resuming" }],
  letIn: [
    (lender) => TurnLife.letIn(lender.ticket()),
    { Queued: "Queued", Due: "Due", Resuming: "Resuming", Waiting: "Waiting" }
  ],
  act: [() => TurnLife.act, { Due: "Working", Resuming: "Working", Working: "Working", Waiting: "Working" }],
  sleep: [() => TurnLife.sleep(false), { Resuming: "Waiting", Working: "Waiting", Waiting: "Waiting" }],
  "sleep, over": [() => TurnLife.sleep(true), { Resuming: "Waiting", Working: "Waiting", Waiting: "Waiting" }],
  waitAt: [() => TurnLife.waitAt(undefined), { Waiting: "Waiting" }],
  "without ticket": [() => TurnLife.without("ticket"), EVERYWHERE],
  "without place": [() => TurnLife.without("place"), EVERYWHERE],
  stop: [() => TurnLife.stop, { Due: "Stopped", Resuming: "Stopped", Working: "Stopped", Waiting: "Stopped" }],
  park: [() => TurnLife.park, { Ahead: "Parked", Stopped: "Parked" }],
  end: [
    () => TurnLife.end,
    {
      Queued: "Ended",
      Ahead: "Ended",
      Due: "Ended",
      Resuming: "Ended",
      Working: "Ended",
      Waiting: "Ended",
      Stopped: "Ended"
    }
  ]
}

/** A ticket that counts how often it is given back. */
class CountedTicket extends GateTicket {
  private readonly returned: () => void

  constructor(returned: () => void) {
    super(gatekeeper(), { flight: undefined, shared: undefined, heldMs: 0, isEarly: false, isProbe: false })
    this.returned = returned
  }

  override giveBack(): void {
    this.returned()
  }
}

interface Lent {
  readonly kind: Kind
  readonly thing: TurnLife.Holdings[Kind]
  readonly count: { returned: number }
}

/** The resources that were lent to the turn, and how often each has come back. */
class Lender {
  readonly lent: Array<Lent> = []

  readonly place = () => this.lend("place", (leave) => ({ leave, ready: () => {}, weigh: () => {} }))
  readonly slot = () => this.lend("slot", (leave) => ({ leave, ready: () => {}, weigh: () => {} }))
  readonly presence = () => this.lend("presence", (leave) => ({ leave, progressed: () => {} }))
  readonly ticket = () => this.lend("ticket", (returned) => new CountedTicket(returned))

  private lend<K extends Kind>(kind: K, make: (giveBack: () => void) => TurnLife.Holdings[K]): TurnLife.Holdings[K] {
    const count = { returned: 0 }
    const thing = make(() => void count.returned++)
    this.lent.push({ kind, thing, count })
    return thing
  }
}

const gatekeeper = () => new Gatekeeper({ now: () => 0, at: () => () => {} })

const turnId = Ids.TurnId.make("t")

/** A turn that comes into memory as the service brings it there. */
const bring = (beginning: TurnLife.Beginning["_tag"]) => {
  const session = new Session(Ids.ConversationId.make("c"))
  const lender = new Lender()
  const state: TurnLife.Beginning =
    beginning === "Ahead" ? { _tag: beginning, slot: lender.slot() } : { _tag: beginning }
  return { lender, session, turn: session.add(turnId, state, "last") }
}

/** The invariants of every state. */
const assertSound = ({ state }: TurnLife.TurnLife, session: Session, { lent }: Lender): void => {
  for (const { count, kind, thing } of lent) {
    const isHeld = state[kind] === thing
    assert.strictEqual(count.returned, isHeld ? 0 : 1, `a ${kind} in ${state._tag}`)
    if (isHeld) assert.include(HOLDS[state._tag], kind)
  }
  assert.strictEqual(session.isIdle, state._tag === "Parked" || state._tag === "Ended")
}

const beginning = fc.constantFrom<TurnLife.Beginning["_tag"]>("Queued", "Ahead", "Stopped")
const sequence = fc.array(fc.constantFrom(...Object.entries(MOVES)), { maxLength: 30 })

describe("a turn's life", () => {
  Property.prop(
    "TurnLife.L1, TurnLife.L2, TurnLife.L3: follows the drawing under any attempts, and gives every resource back once",
    fc.tuple(beginning, sequence),
    ([beginning, moves]) =>
      Effect.sync(() => {
        const { lender, session, turn } = bring(beginning)
        for (const [name, [transitionOf, leads]] of moves) {
          const before = turn.state
          const to = leads[before._tag]
          const fits = to !== undefined
          assert.strictEqual(turn.move(transitionOf(lender)), fits, `${name} in ${before._tag}`)
          assert.strictEqual(turn.state._tag, fits ? to : before._tag)
          if (!fits) assert.strictEqual(turn.state, before)
          assertSound(turn, session, lender)
        }
        turn.end(Exit.void)
        assert.isTrue(session.isIdle)
        assert.deepStrictEqual(
          lender.lent.filter(({ count }) => count.returned !== 1),
          []
        )
      }),
    { numRuns: 500 }
  )

  it("Waking.U1: a due turn exchanges its slot for a place, and keeps that until the end of the wait that it was parked in", () => {
    const { lender, session, turn } = bring("Ahead")
    turn.begins(true)
    turn.move(TurnLife.call)
    turn.wait.elapse()
    assert.isTrue(turn.standsBy)
    assert.isTrue(turn.move(TurnLife.admit(lender.place())))
    assert.isFalse(turn.standsBy)
    turn.begins(true)
    assert.isDefined(turn.state.place)
    turn.begins(false)
    assert.strictEqual(turn.state._tag, "Working")
    assertSound(turn, session, lender)
    assert.isUndefined(turn.state.place)
  })

  it("a turn that arrives at a wait which is not over keeps no place for it", () => {
    const { lender, session, turn } = bring("Queued")
    turn.move(TurnLife.admit(lender.place()))
    turn.move(TurnLife.begin)
    turn.begins(true)
    assert.deepInclude(turn.state, { _tag: "Waiting", place: undefined })
    assertSound(turn, session, lender)
  })

  it("rule X14: its interruption is kept until it makes progress, and over its next run", () => {
    const interruption = Interruption.none("life")
    const turn = new TurnLife.TurnLife(turnId, { _tag: "Queued", interruption })
    for (const move of [TurnLife.begin, TurnLife.act, TurnLife.sleep(false), TurnLife.stop, TurnLife.begin]) {
      turn.move(move)
      assert.strictEqual(turn.state.interruption, interruption)
    }
    turn.move(TurnLife.without("interruption"))
    assert.isUndefined(turn.state.interruption)
  })

  it.effect("TurnQueue.Q7: its end is reported once", () =>
    Effect.gen(function* () {
      const turn = new TurnLife.TurnLife(turnId, { _tag: "Queued" })
      turn.end(Exit.void)
      turn.end(Exit.die("again"))
      yield* Deferred.await(turn.ended)
      assert.isFalse(yield* turn.wait.steer({ type: "now", by: { commandId: "k", origin: "a test" } }))
    })
  )

  it("TurnLife.L1: an early wake after the end of the turn changes nothing", () => {
    const gate = gatekeeper()
    const turn = new TurnLife.TurnLife(turnId, { _tag: "Queued" })
    turn.end(Exit.void)
    turn.letIn(gate.admit(), () => {})
    assert.isTrue(gate.isIdle)
    assert.isFalse(turn.isWanted)
  })
})
