import { expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type Leave, Turnstile } from "../../src/pacing/Turnstile.ts"

/** A turn leaves while it enters, or later when the test orders a turn inside to leave, once or several times. */
const actions = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant({ type: "comes" as const, stays: true }) },
    { weight: 1, arbitrary: fc.constant({ type: "comes" as const, stays: false }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant("leaves" as const), which: fc.nat(), times: fc.nat(3) }) }
  ),
  { maxLength: 200 }
)

it("Turnstile.T1, Turnstile.T2, Turnstile.T3: turns enter in order, as many as there is room for, and no place is lost", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), actions, (size, actions) => {
      const turnstile = new Turnstile(size)
      const entered: Array<number> = []
      const inside: Array<Leave> = []
      let come = 0
      for (const action of actions) {
        if (action.type === "comes") {
          const who = come++
          turnstile.request((leave) => {
            entered.push(who)
            if (action.stays) inside.push(leave)
            else leave()
          })
        } else {
          const [leave] = inside.splice(action.which % Math.max(1, inside.length), 1)
          for (let i = 0; i <= action.times; i++) leave?.()
        }
        expect(inside.length).toBeLessThanOrEqual(size)
        expect(turnstile.waiting).toBe(come - entered.length)
        if (turnstile.waiting > 0) expect(inside.length).toBe(size)
      }
      while (inside.length > 0) inside.pop()?.()
      expect(entered).toEqual(Array.from({ length: come }, (_, i) => i))
    }),
    { numRuns: 500 }
  )
})

it("Turnstile.T3: a crowd of turns that leave while entering passes at once, however large it is", () => {
  const turnstile = new Turnstile(1)
  let first: Leave | undefined
  turnstile.request((leave) => (first = leave))
  let through = 0
  for (let i = 0; i < 20_000; i++) {
    turnstile.request((leave) => {
      through++
      leave()
    })
  }
  expect(turnstile.waiting).toBe(20_000)
  first?.()
  expect([through, turnstile.waiting]).toEqual([20_000, 0])
})

it("admits no waiting turn after it is closed", () => {
  const turnstile = new Turnstile(1)
  let first: Leave | undefined
  turnstile.request((leave) => (first = leave))
  turnstile.request(() => expect.unreachable("it is closed"))
  turnstile.close()
  first?.()
  expect(turnstile.waiting).toBe(0)
})
