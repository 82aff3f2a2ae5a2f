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
  isReady = false
  readonly slot = () =>
    this.lend("slot", (leave) => ({ leave, ready: () => void (this.isReady = true), weigh: () => {} }))
  readonly presence = () => this.lend("presence", (leave) => ({ leave, progressed: () => {} }))
  readonly ticket = (isEarly = false) =>
    this.lend("ticket", (giveBack) => ({ ...ticketOf(gatekeeper(), { ...ADMISSION, isEarly }), giveBack }))

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

type Step = (turn: TurnLife.TurnLife, lender: Lender) => unknown

const STEPS: Readonly<Record<string, Step>> = {
  begin: (turn) => turn.begin(),
  call: (turn) => turn.call(),
  go: (turn) => turn.goOn(),
  admit: (turn, lender) => turn.admit(lender.place()),
  slot: (turn, lender) => turn.hold("slot", lender.slot()),
  presence: (turn, lender) => turn.hold("presence", lender.presence()),
  early: (turn, lender) => turn.letIn(lender.ticket(true), () => turn.abortNow()),
  due: (turn, lender) => turn.letIn(lender.ticket(), () => turn.wait.elapse()),
  wait: (turn) => turn.begins(true),
  work: (turn) => turn.begins(false),
  news: (turn) => turn.wait.elapse(),
  steer: (turn) => turn.wait.steer({ type: "now", by: { commandId: "c", origin: "a test" } }),
  abort: (turn) => turn.abortNow(),
  without: (turn) => turn.without("ticket"),
  stop: (turn) => turn.stop(),
  park: (turn) => turn.park(),
  end: (turn) => turn.end(Exit.void)
}

describe("a turn's life", () => {
  Property.prop(
    "TurnLife.L1, TurnLife.L2: gives every resource back once, whatever happens to it",
    fc.tuple(
      fc.constantFrom<TurnLife.Residence>("queued", "live", "parked"),
      fc.array(fc.constantFrom(...Object.values(STEPS)), { maxLength: 30, size: "max" })
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
        assert.deepStrictEqual([session.isIdle, lender.lent.every(({ count }) => count.returned === 1)], [true, true])
      }),
    { numRuns: 500 }
  )

  it("leads from place to place, and holds there what it needs", () => {
    for (const [path, end] of [
      ["queued admit", "queued place"],
      ["queued begin admit", "live"],
      ["queued call abort", "queued called"],
      ["queued admit begin wait", "live"],
      ["queued admit begin news wait", "live place news"],
      ["queued admit begin news work", "live"],
      ["queued begin work wait steer", "live news called"],
      ["queued early", "queued ticket news called"],
      ["queued due", "queued ticket news"],
      ["queued park admit", "queued"],
      ["parked slot begin admit work", "parked stands-by slot ready"],
      ["parked slot call", "live stands-by slot"],
      ["parked slot call wait", "live stands-by slot ready"],
      ["parked slot call admit", "live place"],
      ["parked slot call work", "live ready"],
      ["parked slot call go", "live"],
      ["parked slot stop", "parked"],
      ["live admit", "live"]
    ] as const) {
      const [residence, ...names] = path.split(" ") as [TurnLife.Residence, ...ReadonlyArray<string>]
      const { lender, turn } = bring(residence)
      for (const name of names) STEPS[name]?.(turn, lender)
      const held = Object.keys(turn.holds).filter((key) => turn.holds[key as Kind] !== undefined)
      const [standsBy, isReady] = [turn.standsBy && "stands-by", lender.isReady && "ready"]
      const signs = [standsBy, ...held, isReady, turn.wait.hasNews && "news", turn.isCalled && "called"]
      assert.strictEqual([turn.residence, ...signs.filter(Boolean)].join(" "), end, path)
    }
  })

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
