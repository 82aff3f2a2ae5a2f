import { expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type Place, WakeQueue } from "../../../src/engine/pacing/WakeQueue.ts"
import * as Law from "../../Law.ts"

const limits = { atOnce: 3, ahead: 4, reading: 2, size: 100 }

/** Turns come, due or near, and leave while they enter or later; those that are near are read meanwhile. */
const actions = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constant("comes" as const),
        when: fc.constantFrom("due" as const, "near" as const, "near" as const),
        stays: fc.boolean()
      })
    },
    {
      weight: 3,
      arbitrary: fc.record({ type: fc.constant("ready" as const), which: fc.nat(), size: fc.nat(60), times: fc.nat(2) })
    },
    { weight: 5, arbitrary: fc.record({ type: fc.constant("leaves" as const), which: fc.nat(), times: fc.nat(2) }) }
  ),
  { maxLength: 200, size: "max" }
)

interface Turn {
  readonly when: "due" | "near"
  readonly place: Place
  isReady: boolean
  size: number
}

it("WakeQueue.W1, WakeQueue.W2, WakeQueue.W3: turns enter in order, within the limits, those that are due first, and no place is lost", () =>
  Law.holdsWith({ numRuns: 500 }, [actions], (actions) => {
    const queue = new WakeQueue(limits)
    const come = { due: 0, near: 0 }
    const entered = { due: new Array<number>(), near: new Array<number>() }
    const inside: Array<Turn> = []
    const count = (when: "due" | "near") => inside.filter((turn) => turn.when === when).length
    const reading = () => inside.filter(({ isReady, when }) => when === "near" && !isReady).length
    const held = () => inside.reduce((sum, { size }) => sum + size, 0)
    const waiting = (when: "due" | "near") => come[when] - entered[when].length
    for (const action of actions) {
      if (action.type === "comes") {
        const { stays, when } = action
        const who = come[when]++
        queue.add(when, (place) => {
          if (when === "near") expect([waiting("due"), held() < limits.size]).toEqual([0, true])
          entered[when].push(who)
          if (stays) inside.push({ when, place, isReady: false, size: 0 })
          else place.leave()
        })
      } else if (inside.length > 0) {
        const at = action.which % inside.length
        const turn = inside[at]
        if (turn === undefined) continue
        if (action.type === "ready" && !turn.isReady) {
          turn.isReady = true
          turn.size = action.size
          turn.place.weigh(action.size)
          for (let i = 0; i <= action.times; i++) turn.place.ready()
        } else if (action.type === "leaves") {
          inside.splice(at, 1)
          for (let i = 0; i <= action.times; i++) turn.place.leave()
          turn.place.weigh(1_000)
        }
      }
      expect(count("due")).toBeLessThanOrEqual(limits.atOnce)
      expect(count("near")).toBeLessThanOrEqual(limits.ahead)
      expect(reading()).toBeLessThanOrEqual(limits.reading)
      if (waiting("due") > 0) expect(count("due")).toBe(limits.atOnce)
      else if (waiting("near") > 0)
        expect(count("near") === limits.ahead || reading() === limits.reading || held() >= limits.size).toBe(true)
    }
    while (inside.length > 0) inside.pop()?.place.leave()
    for (const when of ["due", "near"] as const)
      expect(entered[when]).toEqual(Array.from({ length: come[when] }, (_, i) => i))
  }))

it("WakeQueue.W1: a crowd of turns that leave while entering passes at once, however large it is", () => {
  const queue = new WakeQueue({ ...limits, atOnce: 1 })
  let first: Place | undefined
  let through = 0
  queue.add("due", (place) => (first = place))
  for (const when of ["due", "near"] as const)
    for (let i = 0; i < 20_000; i++)
      queue.add(when, (place) => {
        through++
        place.leave()
      })
  expect(through).toBe(0)
  first?.leave()
  expect(through).toBe(40_000)
})

it("admits no waiting turn after it is closed", () => {
  const queue = new WakeQueue({ ...limits, atOnce: 1 })
  let first: Place | undefined
  queue.add("due", (place) => (first = place))
  for (const when of ["due", "near"] as const) queue.add(when, () => expect.unreachable("it is closed"))
  queue.close()
  first?.leave()
})
