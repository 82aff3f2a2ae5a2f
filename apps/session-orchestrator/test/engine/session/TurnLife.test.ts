/** Checks what a turn holds in each residence, and that it gives all of it back. */
import { assert, describe, it } from "@effect/vitest"
import { Interruption } from "@holdfast/journal"
import { Property } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Effect, Exit } from "effect"
import * as fc from "fast-check"
import { Gatekeeper, ticketOf } from "../../../src/engine/gate/Gatekeeper.ts"
import { Session } from "../../../src/engine/session/Session.ts"
import * as TurnLife from "../../../src/engine/session/TurnLife.ts"

type Kind = keyof TurnLife.Holdings

/** The resources that were lent to the turn, and how often each has come back. */
class Lender {
  readonly lent: Array<{ readonly kind: Kind; readonly thing: unknown; readonly count: { returned: number } }> = []

  readonly place = () => this.lend("place", (leave) => ({ leave, ready: () => {}, weigh: () => {} }))
  readonly slot = () => this.lend("slot", (leave) => ({ leave, ready: () => {}, weigh: () => {} }))
  readonly presence = () => this.lend("presence", (leave) => ({ leave, progressed: () => {} }))
  readonly ticket = () =>
    this.lend("ticket", (returned) => ({ ...ticketOf(gatekeeper(), ADMISSION), giveBack: returned }))

  private lend<K extends Kind>(kind: K, make: (giveBack: () => void) => TurnLife.Holdings[K]): TurnLife.Holdings[K] {
    const count = { returned: 0 }
    const thing = make(() => void count.returned++)
    this.lent.push({ kind, thing, count })
    return thing
  }
}

const ADMISSION = { flight: undefined, shared: undefined, heldMs: 0, isEarly: false, isProbe: false }

const gatekeeper = () => new Gatekeeper({ now: () => 0, at: () => () => {} })

const turnId = Ids.TurnId.make("t")

const bring = (residence: TurnLife.Residence) => {
  const session = new Session(Ids.ConversationId.make("c"))
  return { lender: new Lender(), session, turn: session.add(turnId, residence, "last") }
}

const assertSound = ({ holds }: TurnLife.TurnLife, { lent }: Lender): void => {
  for (const { count, kind, thing } of lent)
    assert.strictEqual(count.returned, holds[kind] === thing ? 0 : 1, `a ${kind} that is held is not given back`)
}

type Step = (turn: TurnLife.TurnLife, lender: Lender) => void

const STEPS: ReadonlyArray<Step> = [
  (turn) => turn.begin(),
  (turn) => turn.call(),
  (turn) => turn.goOn(),
  (turn, lender) => void turn.admit(lender.place()),
  (turn, lender) => turn.hold("slot", lender.slot()),
  (turn, lender) => turn.hold("presence", lender.presence()),
  (turn, lender) => turn.letIn(lender.ticket(), () => {}),
  (turn) => turn.begins(true),
  (turn) => turn.begins(false),
  (turn) => turn.without("ticket"),
  (turn) => turn.stop(),
  (turn) => void turn.park(),
  (turn) => turn.end(Exit.void)
]

describe("a turn's life", () => {
  Property.prop(
    "TurnLife.L1, TurnLife.L2: gives every resource back once, whatever happens to it",
    fc.tuple(
      fc.constantFrom<TurnLife.Residence>("queued", "live", "parked"),
      fc.array(fc.constantFrom(...STEPS), { maxLength: 30, size: "max" })
    ),
    ([residence, steps]) =>
      Effect.sync(() => {
        const { lender, session, turn } = bring(residence)
        for (const step of steps) {
          step(turn, lender)
          assertSound(turn, lender)
          if (session.isIdle) assert.deepStrictEqual(Object.values(turn.holds).filter(Boolean), [])
        }
        turn.end(Exit.void)
        assert.isTrue(session.isIdle)
        assert.isTrue(lender.lent.every(({ count }) => count.returned === 1))
      }),
    { numRuns: 500 }
  )

  it("rule X14: its interruption is kept until it makes progress, and its beginning until it runs", () => {
    const interruption = Interruption.none("life")
    const turn = new TurnLife.TurnLife(turnId, "queued", { interruption, arrival: { resumption: undefined } })
    turn.begin()
    assert.isDefined(turn.arrival)
    turn.begins(false)
    assert.isUndefined(turn.arrival)
    turn.stop()
    assert.strictEqual(turn.interruption, interruption)
  })

  it("rule C10: a new turn that stops before it has done anything is read from the disk", () => {
    const turn = new TurnLife.TurnLife(turnId, "queued", { arrival: { resumption: undefined } })
    turn.begin()
    turn.stop()
    assert.isUndefined(turn.arrival)
  })
})
