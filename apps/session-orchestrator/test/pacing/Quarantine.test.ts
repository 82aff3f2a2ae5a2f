import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Quarantine from "../../src/pacing/Quarantine.ts"

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
  const come = (name: string, isSuspect = false) => {
    const stay = quarantine.come(isSuspect, () => inside.push(name))
    const leave = () => {
      stay.leave()
      if (inside.includes(name)) inside.splice(inside.indexOf(name), 1)
    }
    return { ...stay, leave }
  }
  return { advance, alarms, come, inside }
}

describe("Quarantine", () => {
  it("X14: a suspect begins when no other turn runs, and others wait until it has made a record", () => {
    const { come, inside } = make()
    const other = come("other")
    const suspect = come("suspect", true)
    come("second suspect", true)
    expect(inside).toEqual(["other"])
    other.leave()
    expect(inside).toEqual(["suspect"])
    come("new")
    expect(inside).toEqual(["suspect"])
    suspect.progressed()
    expect(inside).toEqual(["suspect", "new"])
  })

  it("X14: on a service that is never idle a suspect waits for a minute", () => {
    const { advance, come, inside } = make()
    come("other")
    come("suspect", true)
    advance(Quarantine.PATIENCE_MS - 1)
    expect(inside).toEqual(["other"])
    advance(1)
    expect(inside).toEqual(["other", "suspect"])
  })

  it("X14: a harmless suspect holds the others for a minute at most", () => {
    const { advance, come, inside } = make()
    come("suspect", true)
    come("new")
    advance(Quarantine.HOLD_MS - 1)
    expect(inside).toEqual(["suspect"])
    advance(1)
    come("newer")
    expect(inside).toEqual(["suspect", "new", "newer"])
  })

  it("X14: a suspect that leaves while it waits ends its minute, and admits no other turn", () => {
    const { advance, come, inside } = make()
    come("other")
    const first = come("first", true)
    advance(Quarantine.PATIENCE_MS / 2)
    first.leave()
    const second = come("second", true)
    advance(Quarantine.PATIENCE_MS / 2)
    expect(inside).toEqual(["other"])
    come("third", true).leave()
    advance(Quarantine.PATIENCE_MS / 2)
    expect(inside).toEqual(["other", "second"])
    // A turn that leaves from behind the lone suspect does not end its time alone.
    come("fourth", true).leave()
    const held = come("held")
    held.leave()
    come("new")
    expect(inside).toEqual(["other", "second"])
    second.progressed()
    expect(inside).toEqual(["other", "second", "new"])
  })

  it("X14: leaving twice counts once, and only a lone turn can stop being alone", () => {
    const { come, inside } = make()
    const [one, two] = [come("one"), come("two")]
    one.leave()
    one.leave()
    two.progressed()
    const suspect = come("suspect", true)
    expect(inside).toEqual(["two"])
    two.leave()
    expect(inside).toEqual(["suspect"])
    suspect.progressed()
    suspect.progressed()
    suspect.leave()
    come("next", true)
    expect(inside).toEqual(["next"])
  })

  const act = fc.oneof(
    fc.record({ type: fc.constant("come" as const), isSuspect: fc.boolean() }),
    fc.record({ type: fc.constantFrom("leave" as const, "progress" as const), which: fc.nat(8) }),
    fc.record({ type: fc.constant("advance" as const), ms: fc.integer({ min: 1, max: 90_000 }) })
  )

  it("X14: suspects run alone and in their order, and every turn is admitted", () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
        const { advance, alarms, come, inside } = make()
        const stays = new Map<string, ReturnType<typeof come>>()
        const progressed = new Set<string>()
        const entered: Array<string> = []
        const look = () => {
          for (const name of inside) if (name.startsWith("s") && !entered.includes(name)) entered.push(name)
          const alone = inside.filter((name) => name.startsWith("s") && !progressed.has(name))
          expect(alone.length).toBeLessThanOrEqual(1)
        }
        for (const [n, act] of acts.entries()) {
          if (act.type === "come") {
            const name = `${act.isSuspect ? "s" : "o"}${n}`
            stays.set(name, come(name, act.isSuspect))
          } else if (act.type === "advance") advance(act.ms)
          else {
            const [name, stay] = Array.from(stays)[act.which] ?? []
            if (name === undefined || stay === undefined) continue
            if (act.type === "leave") {
              stay.leave()
              stays.delete(name)
            } else if (inside.includes(name)) {
              progressed.add(name)
              stay.progressed()
            }
          }
          look()
        }
        // The turns inside leave one after the other, until none is left.
        for (let round = 0; stays.size > 0 && round < 100; round++) {
          const name = inside[0]
          if (name === undefined) {
            advance(60_000)
            look()
            continue
          }
          stays.get(name)?.leave()
          stays.delete(name)
          look()
        }
        expect(stays.size).toBe(0)
        expect(entered).toEqual(entered.toSorted((a, b) => Number(a.slice(1)) - Number(b.slice(1))))
        expect(alarms.size).toBe(0)
      })
    )
  })
})
