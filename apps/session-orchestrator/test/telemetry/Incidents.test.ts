import { describe, expect, it } from "@effect/vitest"
import { Target } from "@holdfast/wire"
import * as fc from "fast-check"
import * as Incidents from "../../src/telemetry/Incidents.ts"

const AFTER = 300_000
const said: Incidents.Said = { reason: "overloaded", message: "Overloaded", code: "529" }
const openai = { provider: "openai", model: "gpt-5" }
const minutes = (n: number): number => n * 60_000

const waits = (conversationId: string, at: number, { target = openai, forMs = 1_800_000 } = {}): Incidents.Input => ({
  _tag: "Waits",
  conversationId,
  target,
  said,
  until: at + forMs,
  at
})
const answered = (conversationId: string, at: number, target = openai): Incidents.Input => ({
  _tag: "Answered",
  conversationId,
  target,
  at
})
const left = (conversationId: string, at: number): Incidents.Input => ({ _tag: "Left", conversationId, at })
const passed = (at: number): Incidents.Input => ({ _tag: "Passed", at })

/** What is told of inputs, as `type at minute`; the state is taken through a file after each where `restarts` says so. */
const told = (inputs: ReadonlyArray<Incidents.Input>, restarts: (i: number) => boolean = () => false) => {
  let state = Incidents.empty
  return inputs.flatMap((input, i) => {
    const [next, notices] = Incidents.hear(state, input, AFTER)
    state = restarts(i) ? Incidents.restore(Incidents.save(next)) : next
    return notices
  })
}

const words = (notices: ReadonlyArray<Incidents.Notice>) =>
  notices.map(({ at, type, waiting }) => [type, at / 60_000, waiting])

describe("an incident", () => {
  it("X12: is told once at its beginning and once at its end, however many turns wait and retry", () => {
    const crowd = Array.from({ length: 50 }, (_, n) => waits(`t${n}`, minutes(n / 50)))
    const again = Array.from({ length: 50 }, (_, n) => waits(`t${n}`, minutes(31)))
    const inputs = [...crowd, passed(minutes(5)), ...again, answered("t7", minutes(61)), answered("t8", minutes(61))]
    expect(words(told(inputs))).toEqual([
      ["incident-began", 5, 50],
      ["incident-ended", 61, 50]
    ])
  })

  it("I1: does not begin while somebody is answered", () => {
    const inputs = [0, 2, 4, 6, 8].flatMap((n) => [
      waits("t1", minutes(n)),
      passed(minutes(n + 1)),
      answered("t2", minutes(n + 1))
    ])
    expect(told(inputs)).toEqual([])
  })

  it("I1: is one an endpoint", () => {
    const other = { ...openai, model: "gpt-5-mini" }
    const inputs = [waits("t1", 0), waits("t2", 1, { target: other }), passed(AFTER + 1), answered("t1", minutes(6))]
    expect(told(inputs).map(({ target, type }) => [type, target.model])).toEqual([
      ["incident-began", "gpt-5"],
      ["incident-began", "gpt-5-mini"],
      ["incident-ended", "gpt-5"]
    ])
  })

  it("I3: does not begin when nobody waits any more, and begins anew from the next wait", () => {
    const gone = [waits("t1", 0), left("t1", minutes(1)), passed(minutes(5))]
    expect(told([...gone, waits("t2", minutes(60)), passed(minutes(61))])).toEqual([])
    expect(words(told([...gone, waits("t2", minutes(60)), passed(minutes(65))]))).toEqual([["incident-began", 65, 1]])
  })

  it("I3: lasts until an answer, also when nobody waits any more", () => {
    const inputs = [
      waits("t1", 0),
      passed(AFTER),
      left("t1", minutes(6)),
      waits("t2", minutes(90)),
      passed(minutes(99))
    ]
    expect(words(told(inputs))).toEqual([["incident-began", 5, 1]])
    expect(words(told([...inputs, answered("t2", minutes(100))])).at(-1)).toEqual(["incident-ended", 100, 1])
  })

  it("I4: begins after a restart, while a wait of the life before lasts", () => {
    expect(words(told([waits("t1", 0), passed(AFTER)], () => true))).toEqual([["incident-began", 5, 0]])
    expect(told([waits("t1", 0, { forMs: 60_000 }), passed(AFTER)], () => true)).toEqual([])
  })

  it("a turn that waits elsewhere does not wait here any more", () => {
    const inputs = [waits("t1", 0), waits("t1", minutes(1), { target: { provider: "xai", model: "grok-4" } })]
    expect(told([...inputs, passed(minutes(7))]).map(({ target }) => target.provider)).toEqual(["xai"])
  })
})

const TARGETS = [openai, { provider: "xai", model: "grok-4" }, { provider: "xai", model: "grok-3" }]

/** Some hours of waits, answers and turns that go. */
const history = fc
  .array(
    fc.record({
      afterMs: fc.integer({ min: 0, max: 400_000 }),
      kind: fc.constantFrom("Waits", "Waits", "Answered", "Left", "Passed"),
      turn: fc.integer({ min: 0, max: 4 }),
      target: fc.constantFrom(...TARGETS),
      forMs: fc.integer({ min: 1, max: 1_800_000 })
    }),
    { maxLength: 60 }
  )
  .map((steps) => {
    let at = 0
    return steps.map(({ afterMs, forMs, kind, target, turn }): Incidents.Input => {
      at += afterMs
      const id = `t${turn}`
      if (kind === "Waits") return waits(id, at, { target, forMs })
      if (kind === "Answered") return answered(id, at, target)
      return kind === "Left" ? left(id, at) : passed(at)
    })
  })

describe("whatever happens", () => {
  it("X12: of one endpoint beginnings and ends alternate, each end with the id of its beginning", () => {
    fc.assert(
      fc.property(history, (inputs) => {
        const open = new Map<string, string>()
        for (const { incidentId, target, type } of told(inputs)) {
          const name = Target.format(target)
          expect(open.get(name)).toBe(type === "incident-began" ? undefined : incidentId)
          if (type === "incident-began") open.set(name, incidentId)
          else open.delete(name)
        }
      })
    )
  })

  it("I1: none begins before its time, nor within it of an answer", () => {
    fc.assert(
      fc.property(history, (inputs) => {
        for (const { at, since, target, type } of told(inputs)) {
          if (type !== "incident-began") continue
          expect(at - since).toBeGreaterThanOrEqual(AFTER)
          const isAnswered = inputs.some(
            (input) =>
              input._tag === "Answered" &&
              Target.format(input.target) === Target.format(target) &&
              input.at > since &&
              input.at < at
          )
          expect(isAnswered).toBe(false)
        }
      })
    )
  })

  it("I4: restarts tell nothing twice, and no beginning of which the end is not told", () => {
    fc.assert(
      fc.property(history, fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }), (inputs, restarts) => {
        const notices = told(inputs, (i) => restarts[i] === true)
        const ids = notices.map(({ incidentId, type }) => `${incidentId}/${type}`)
        expect(new Set(ids).size).toBe(ids.length)
        const isTold = (id: string) => ids.includes(`${id}/incident-began`)
        for (const { incidentId, type } of notices) if (type === "incident-ended") expect(isTold(incidentId)).toBe(true)
      })
    )
  })

  it("as many turns are counted as wait, and none stays when all have gone", () => {
    fc.assert(
      fc.property(history, (inputs) => {
        let state = Incidents.empty
        for (const input of inputs) [state] = Incidents.hear(state, input, AFTER)
        const at = (inputs.at(-1)?.at ?? 0) + 1
        for (const { waiting } of Incidents.counts(state, at)) expect(waiting).toBeGreaterThanOrEqual(0)
        for (let turn = 0; turn < 5; turn++) [state] = Incidents.hear(state, left(`t${turn}`, at), AFTER)
        for (const { isTold, waiting } of Incidents.counts(state, at)) expect([isTold, waiting]).toEqual([true, 0])
      })
    )
  })
})
