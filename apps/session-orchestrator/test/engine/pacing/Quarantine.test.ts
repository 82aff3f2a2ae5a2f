import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import * as Quarantine from "../../../src/engine/pacing/Quarantine.ts"
import * as Law from "../../Law.ts"

/** A quarantine on a clock that the test turns. */
const make = () => {
  let now = 0
  const alarms = new Set<{ readonly at: number; readonly ring: () => void }>()
  const quarantine = Quarantine.make({
    now: () => now,
    timer: {
      at: (at, wake) => {
        const alarm = { at, ring: () => wake(true) }
        alarms.add(alarm)
        return () => void alarms.delete(alarm)
      }
    }
  })
  const advance = (ms: number): void => {
    now += ms
    for (const alarm of Array.from(alarms).toSorted((a, b) => a.at - b.at)) {
      if (alarm.at > now || !alarms.delete(alarm)) continue
      alarm.ring()
    }
  }
  const inside: Array<string> = []
  const enter = (name: string, isSuspect = false) => {
    const presence = quarantine.request(isSuspect, () => inside.push(name))
    const leave = () => {
      presence.leave()
      if (inside.includes(name)) inside.splice(inside.indexOf(name), 1)
    }
    return { ...presence, leave }
  }
  return { advance, alarms, enter, inside }
}

describe("Quarantine", () => {
  it("rule X14: a suspect begins when no other turn runs, and others wait until it has made a record", () => {
    const { enter, inside } = make()
    const other = enter("other")
    const suspect = enter("suspect", true)
    enter("second suspect", true)
    expect(inside).toEqual(["other"])
    other.leave()
    expect(inside).toEqual(["suspect"])
    const fresh = enter("new")
    expect(inside).toEqual(["suspect"])
    suspect.progressed()
    expect(inside).toEqual(["suspect", "new"])
    suspect.leave()
    expect(inside).toEqual(["new"])
    fresh.leave()
    expect(inside).toEqual(["second suspect"])
  })

  it("rule X14: on a service that is never idle a suspect waits for a minute", () => {
    const { advance, enter, inside } = make()
    enter("other")
    enter("suspect", true)
    advance(Quarantine.PATIENCE_MS - 1)
    expect(inside).toEqual(["other"])
    advance(1)
    expect(inside).toEqual(["other", "suspect"])
  })

  it("rule X14: a suspect waits no longer for one that leaves, and begins its minute when it is the first", () => {
    const { advance, enter, inside } = make()
    enter("other")
    const [first, second] = [enter("first", true), enter("second", true)]
    advance(Quarantine.PATIENCE_MS - 1)
    second.leave()
    expect(inside).toEqual(["other"])
    advance(1)
    expect(inside).toEqual(["other", "first"])
    first.leave()
    const third = enter("third", true)
    advance(Quarantine.PATIENCE_MS - 1)
    third.leave()
    enter("fourth", true)
    advance(1)
    expect(inside).toEqual(["other"])
    advance(Quarantine.PATIENCE_MS - 1)
    expect(inside).toEqual(["other", "fourth"])
  })

  it("rule X14: a suspect whose first in line leaves begins a minute later", () => {
    const { advance, enter, inside } = make()
    enter("other")
    const first = enter("first", true)
    enter("second", true)
    first.leave()
    advance(Quarantine.PATIENCE_MS)
    expect(inside).toEqual(["other", "second"])
  })

  it("rule X14: a harmless suspect holds the others for a minute at most", () => {
    const { advance, enter, inside } = make()
    enter("suspect", true)
    enter("new")
    advance(Quarantine.HOLD_MS - 1)
    expect(inside).toEqual(["suspect"])
    advance(1)
    enter("newer")
    expect(inside).toEqual(["suspect", "new", "newer"])
  })

  it("rule X14: a turn that leaves twice leaves once, and without a quarantine every turn runs at once", () => {
    const { enter, inside } = make()
    enter("other")
    const twice = enter("twice")
    for (const _ of [1, 2]) twice.leave()
    enter("suspect", true)
    expect(inside).toEqual(["other"])
    const entered: Array<string> = []
    const open = Effect.runSync(Quarantine.Quarantine)
    for (const isSuspect of [true, true, false]) open.request(isSuspect, () => entered.push("in")).leave()
    expect(entered).toEqual(["in", "in", "in"])
  })

  const act = fc.oneof(
    fc.record({ type: fc.constant("enter" as const), isSuspect: fc.boolean() }),
    fc.record({ type: fc.constantFrom("leave" as const, "progress" as const), which: fc.nat(8) }),
    fc.record({ type: fc.constant("advance" as const), ms: fc.integer({ min: 1, max: 90_000 }) })
  )

  it("rule X14: suspects run alone and in their order, and every turn is admitted", () =>
    Law.holds([fc.array(act, { maxLength: 40, size: "max" })], (acts) => {
      const { advance, alarms, enter, inside } = make()
      const presences = new Map<string, ReturnType<typeof enter>>()
      const progressed = new Set<string>()
      const entered: Array<string> = []
      const look = () => {
        for (const name of inside) if (name.startsWith("s") && !entered.includes(name)) entered.push(name)
        const alone = inside.filter((name) => name.startsWith("s") && !progressed.has(name))
        expect(alone.length).toBeLessThanOrEqual(1)
      }
      for (const [n, act] of acts.entries()) {
        if (act.type === "enter") {
          const name = `${act.isSuspect ? "s" : "o"}${n}`
          presences.set(name, enter(name, act.isSuspect))
        } else if (act.type === "advance") advance(act.ms)
        else {
          const [name, presence] = Array.from(presences)[act.which] ?? []
          if (name === undefined || presence === undefined) continue
          if (act.type === "leave") {
            presence.leave()
            presences.delete(name)
          } else if (inside.includes(name)) {
            progressed.add(name)
            presence.progressed()
          }
        }
        look()
      }
      // The turns inside leave one after the other, until none is left.
      for (let round = 0; presences.size > 0 && round < 100; round++) {
        const name = inside[0]
        if (name === undefined) {
          advance(60_000)
          look()
          continue
        }
        presences.get(name)?.leave()
        presences.delete(name)
        look()
      }
      expect(presences.size).toBe(0)
      expect([entered, alarms.size]).toEqual([entered.toSorted((a, b) => Number(a.slice(1)) - Number(b.slice(1))), 0])
    }))
})
