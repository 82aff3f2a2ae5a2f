import { expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type Pass, Turnstile } from "../../src/pacing/Turnstile.ts"

const way = { enter: () => () => {} }

/** Who comes leaves on the spot, or when somebody who is inside is told to, and says so once or more often. */
const actions = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant({ type: "comes" as const, stays: true }) },
    { weight: 1, arbitrary: fc.constant({ type: "comes" as const, stays: false }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant("leaves" as const), which: fc.nat(), times: fc.nat(3) }) }
  ),
  { maxLength: 200 }
)

it("T1, T2, T3: whoever comes and leaves when, they enter in their order, as many as there is room for, and no place is lost", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), actions, (size, actions) => {
      const turnstile = new Turnstile(size, way)
      const entered: Array<number> = []
      const inside: Array<Pass> = []
      let come = 0
      for (const action of actions) {
        if (action.type === "comes") {
          const who = come++
          turnstile.come((pass) => {
            entered.push(who)
            if (action.stays) inside.push(pass)
            else pass()
          })
        } else {
          const [pass] = inside.splice(action.which % Math.max(1, inside.length), 1)
          for (let i = 0; i <= action.times; i++) pass?.()
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

it("T3: a crowd that leaves on the spot goes through at once, however large it is", () => {
  const turnstile = new Turnstile(1, way)
  let first: Pass | undefined
  turnstile.come((pass) => (first = pass))
  let through = 0
  for (let i = 0; i < 20_000; i++) {
    turnstile.come((pass) => {
      through++
      pass()
    })
  }
  expect(turnstile.waiting).toBe(20_000)
  first?.()
  expect([through, turnstile.waiting]).toEqual([20_000, 0])
})

it("lets nobody in who waits when it is closed", () => {
  const turnstile = new Turnstile(1, way)
  let first: Pass | undefined
  turnstile.come((pass) => (first = pass))
  turnstile.come(() => expect.unreachable("it is closed"))
  turnstile.close()
  first?.()
  expect(turnstile.waiting).toBe(0)
})
