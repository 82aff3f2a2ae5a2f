import { describe, expect, it } from "@effect/vitest"
import type { Failure } from "@holdfast/wire"
import { Target, type TurnEvent } from "@holdfast/wire"
import { HashMap } from "effect"
import * as fc from "fast-check"
import * as Causes from "../../../../src/ops/telemetry/incidents/Causes.ts"
import * as Incidents from "../../../../src/ops/telemetry/incidents/Incidents.ts"
import * as SharedIncidents from "../../../../src/ops/telemetry/incidents/SharedIncidents.ts"
import type { Notice, NoticeFailure } from "../../../../src/ops/telemetry/incidents/Notice.ts"

const AFTER = 300_000
const said: NoticeFailure = { reason: "overloaded", message: "Overloaded", code: "529" }
const openai = { provider: "openai", model: "gpt-5" }
const minutes = (n: number): number => n * 60_000

const waits = (conversationId: string, at: number, { target = openai, forMs = 1_800_000 } = {}): Incidents.Fact => ({
  _tag: "Waits",
  conversationId,
  target,
  said,
  until: at + forMs,
  at
})
const answered = (conversationId: string, at: number, target = openai): Incidents.Fact => ({
  _tag: "Answered",
  conversationId,
  target,
  at
})
const sealed = (
  conversationId: string,
  at: number,
  status: TurnEvent.TurnStatus = "failed",
  { target = openai, reason = said.reason }: { target?: typeof openai; reason?: NoticeFailure["reason"] } = {}
): Incidents.Fact => ({
  _tag: "Sealed",
  conversationId,
  target,
  status,
  said: status === "failed" ? { ...said, reason } : undefined,
  at
})
const wentOn = (conversationId: string, at: number): Incidents.Fact => ({ _tag: "WentOn", conversationId, at })
const moved = (conversationId: string, at: number): Incidents.Fact => ({ _tag: "Moved", conversationId, at })
const passed = (at: number): Incidents.Fact => ({ _tag: "Passed", at })

/** The state of the next process, which has the rows of this one. */
const restarted = (state: Incidents.IncidentState, now: number): Incidents.IncidentState => {
  const reader = { runner: "service", now }
  return SharedIncidents.adopt(Incidents.empty, SharedIncidents.changes(state, [], reader, true).rows, reader)
}

/** The notices of inputs, as `type at minute`. With `restarts` the state is saved and restored after each input. */
const told = (inputs: ReadonlyArray<Incidents.Fact>, restarts: (i: number) => boolean = () => false) => {
  let state = Incidents.empty
  return inputs.flatMap((input, i) => {
    const [next, notices] = Incidents.record(state, input, AFTER)
    state = restarts(i) ? restarted(next, input.at) : next
    return notices
  })
}

/** When turns ask next, by the notice of an incident's beginning, in minutes. */
const nextOf = (inputs: ReadonlyArray<Incidents.Fact>) =>
  told(inputs).map(({ nextAt }) => (nextAt === undefined ? undefined : nextAt / 60_000))

const words = (notices: ReadonlyArray<Notice>) => notices.map(({ at, type, waiting }) => [type, at / 60_000, waiting])

describe("an incident", () => {
  it("begins with the next attempt of the turns that still wait: the earliest that has not passed", () => {
    const three = [
      waits("t1", 0, { forMs: minutes(2) }),
      waits("t2", 0, { forMs: minutes(20) }),
      waits("t3", 0, { forMs: minutes(30) }),
      waits("other", 0, { target: { provider: "openai", model: "gpt-5-mini" }, forMs: minutes(10) })
    ]
    expect(nextOf([...three, sealed("other", minutes(1), "aborted"), passed(AFTER)])).toEqual([20])
    const again = waits("t1", minutes(2), { forMs: minutes(38) })
    expect(nextOf([...three.slice(0, 3), again, passed(AFTER)])).toEqual([20])
    expect(nextOf([...three.slice(0, 3), again, sealed("t2", minutes(3), "aborted"), passed(AFTER)])).toEqual([30])
    expect(nextOf([waits("t1", 0, { forMs: minutes(2) }), passed(AFTER)])).toEqual([undefined])
    const postponed = { _tag: "Postponed", conversationId: "t1", until: minutes(45), at: minutes(1) } as const
    expect(nextOf([...three.slice(0, 1), postponed, passed(AFTER)])).toEqual([45])
    expect(nextOf([postponed, passed(AFTER)])).toEqual([])
  })

  it("rule X12: has one notice at its beginning and one at its end, however many turns wait and retry", () => {
    const crowd = Array.from({ length: 50 }, (_, n) => waits(`t${n}`, minutes(n / 50)))
    const again = Array.from({ length: 50 }, (_, n) => waits(`t${n}`, minutes(31)))
    const inputs = [...crowd, passed(minutes(5)), ...again, answered("t7", minutes(61)), answered("t8", minutes(61))]
    expect(words(told(inputs))).toEqual([
      ["incident-began", 5, 50],
      ["incident-ended", 61, 50]
    ])
  })

  it("lasts until an answer while its turns are at another runner or at another endpoint", () => {
    for (const away of [moved, wentOn]) {
      const inputs = [
        waits("t1", 0),
        passed(AFTER),
        away("t1", minutes(6)),
        waits("t2", minutes(90)),
        passed(minutes(99))
      ]
      expect(words(told(inputs))).toEqual([["incident-began", 5, 1]])
      expect(words(told([...inputs, answered("t2", minutes(100))])).at(-1)).toEqual(["incident-ended", 100, 1])
    }
  })

  it("rule X12: ends when every turn has given up, and the notice has their outcomes; a later wait begins another", () => {
    const inputs = [
      waits("t1", 0),
      waits("t2", 1),
      waits("t3", 2),
      waits("t4", 3),
      passed(AFTER),
      sealed("t1", minutes(480)),
      sealed("t2", minutes(480) + 1),
      sealed("t3", minutes(480) + 2, "aborted"),
      sealed("t4", minutes(480) + 3, "completed", { target: { provider: "xai", model: "grok-4" } }),
      passed(minutes(480) + Incidents.SETTLE_MS),
      passed(minutes(480) + 3 + Incidents.SETTLE_MS)
    ]
    const notices = told(inputs)
    expect(notices.map(({ type }) => type)).toEqual(["incident-began", "incident-gave-up"])
    expect(notices.at(-1)).toMatchObject({
      incidentId: "openai/gpt-5@0",
      waiting: 0,
      outcomes: { failed: 2, aborted: 1, elsewhere: 1 }
    })
    const again = told([...inputs, waits("t5", minutes(500)), passed(minutes(505))]).at(-1)
    expect([again?.type, again?.incidentId]).toEqual(["incident-began", `openai/gpt-5@${minutes(500)}`])
  })
})

describe("failed turns", () => {
  const auth = { reason: "auth" as const }
  const twenty = Array.from({ length: 20 }, (_, n) => sealed(`t${n}`, n * 100, "failed", auth))

  it("rule X12: are reported once per endpoint and cause, however many there are", () => {
    const notices = told([
      ...twenty,
      passed(Incidents.SETTLE_MS),
      sealed("t99", minutes(60), "failed", auth),
      passed(minutes(61))
    ])
    expect(notices.map(({ outcomes, said, type }) => [type, said.reason, outcomes?.failed])).toEqual([
      ["turns-failed", "auth", 20]
    ])
    const others = told([
      sealed("t1", 0, "failed", auth),
      sealed("t2", 0, "failed", { reason: "refused" }),
      sealed("t3", 0, "failed", { ...auth, target: { provider: "xai", model: "grok-4" } }),
      passed(Incidents.SETTLE_MS)
    ])
    expect(others.map(({ said, target }) => `${target.provider} ${said.reason}`).toSorted()).toEqual([
      "openai auth",
      "openai refused",
      "xai auth"
    ])
  })

  it("are reported again once the endpoint has answered and an hour has passed", () => {
    const again = (fixed: ReadonlyArray<Incidents.Fact>, at: number) =>
      told([
        ...twenty,
        passed(minutes(1)),
        ...fixed,
        sealed("t21", at, "failed", auth),
        passed(at + Incidents.SETTLE_MS)
      ])
    expect(again([], minutes(600))).toHaveLength(1)
    expect(again([answered("t20", minutes(2))], minutes(30))).toHaveLength(1)
    expect(again([answered("t20", minutes(2))], minutes(600))).toHaveLength(2)
  })

  it("rule X12: are reported while other turns still wait for the endpoint", () => {
    const notices = told([
      waits("t1", 0),
      waits("t2", 0),
      passed(AFTER),
      sealed("t1", minutes(20)),
      passed(minutes(20) + Incidents.SETTLE_MS)
    ])
    expect(words(notices)).toEqual([
      ["incident-began", 5, 2],
      ["turns-failed", 20 + 1 / 6, 1]
    ])
  })

  it("are not kept for more endpoints than the limit", () => {
    let causes = Causes.restore([])
    for (let n = 0; n < Causes.MOST_ENDPOINTS + 10; n++) {
      causes = Causes.failed(causes, { target: { provider: "p", model: `m${n}` }, said, at: n })
    }
    expect(Causes.save(causes)).toHaveLength(Causes.MOST_ENDPOINTS)
  })
})

const TARGETS = [openai, { provider: "xai", model: "grok-4" }, { provider: "xai", model: "grok-3" }]

/** Some hours of waits, answers and ends of turns. */
const history = fc
  .array(
    fc.record({
      afterMs: fc.integer({ min: 0, max: 400_000 }),
      kind: fc.constantFrom("Waits", "Waits", "Answered", "WentOn", "Sealed", "Sealed", "Moved", "Passed"),
      status: fc.constantFrom("completed" as const, "failed" as const, "aborted" as const),
      reason: fc.constantFrom<Failure.Reason>("overloaded", "auth", "refused"),
      turn: fc.integer({ min: 0, max: 4 }),
      target: fc.constantFrom(...TARGETS),
      forMs: fc.integer({ min: 1, max: 1_800_000 })
    }),
    { maxLength: 60 }
  )
  .map((steps) => {
    let at = 0
    return steps.map(({ afterMs, forMs, kind, reason, status, target, turn }): Incidents.Fact => {
      at += afterMs
      const id = `t${turn}`
      if (kind === "Waits") return waits(id, at, { target, forMs })
      if (kind === "Answered") return answered(id, at, target)
      if (kind === "WentOn") return wentOn(id, at)
      if (kind === "Moved") return moved(id, at)
      return kind === "Sealed" ? sealed(id, at, status, { target, reason }) : passed(at)
    })
  })

describe("in every sequence of inputs", () => {
  it("rule X12: beginnings and ends of one endpoint alternate, each end with the id of its beginning", () => {
    fc.assert(
      fc.property(history, (inputs) => {
        const open = new Map<string, string>()
        for (const { incidentId, target, type } of told(inputs)) {
          if (type === "turns-failed") continue
          const name = Target.format(target)
          expect(open.get(name)).toBe(type === "incident-began" ? undefined : incidentId)
          if (type === "incident-began") open.set(name, incidentId)
          else open.delete(name)
        }
      })
    )
  })

  it("none begins before its time, nor within that time after an answer", () => {
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

  it("Incidents.I4: restarts repeat no notice, and every reported beginning has a reported end", () => {
    fc.assert(
      fc.property(history, fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }), (inputs, restarts) => {
        const notices = told(inputs, (i) => restarts[i] === true)
        const ids = notices.map(({ incidentId, type }) => `${incidentId}/${type}`)
        expect(new Set(ids).size).toBe(ids.length)
        const isTold = (id: string) => ids.includes(`${id}/incident-began`)
        for (const { incidentId, type } of notices)
          if (type === "incident-ended" || type === "incident-gave-up") expect(isTold(incidentId)).toBe(true)
      })
    )
  })

  it("the count equals the waiting turns, and none stays when all have ended", () => {
    fc.assert(
      fc.property(history, (inputs) => {
        let state = Incidents.empty
        for (const input of inputs) [state] = Incidents.record(state, input, AFTER)
        const at = (inputs.at(-1)?.at ?? 0) + 1
        for (const { waiting } of HashMap.values(state.troubles)) expect(waiting).toBeGreaterThanOrEqual(0)
        for (let turn = 0; turn < 5; turn++) [state] = Incidents.record(state, sealed(`t${turn}`, at, "aborted"), AFTER)
        for (const { isTold, waiting } of HashMap.values(state.troubles)) expect([isTold, waiting]).toEqual([true, 0])
      })
    )
  })

  it("Causes.K3: a failed turn is reported although another one waits when the end of their incident is due", () => {
    const end = AFTER + Incidents.SETTLE_MS
    // The wait of an earlier process puts the end of the incident one millisecond after the moment of the cause.
    const failed = [waits("t0", 0, { forMs: AFTER + 1 }), passed(AFTER), sealed("t0", AFTER)]
    const inputs = [...failed, passed(end), waits("t1", end), passed(end + 1)]
    const failures = told(inputs, (i) => i === 0).filter(({ type }) => type === "turns-failed")
    expect(failures.map(({ at, outcomes }) => [at, outcomes?.failed])).toEqual([[end, 1]])
  })

  it("rule X12: a failed turn is reported, by its cause or by the end of its incident", () => {
    fc.assert(
      fc.property(history, fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }), (inputs, restarts) => {
        const end = (inputs.at(-1)?.at ?? 0) + 100 * 3_600_000
        const notices = told([...inputs, passed(end), passed(end + 1)], (i) => restarts[i] === true)
        for (const [i, input] of inputs.entries()) {
          if (input._tag !== "Sealed" || input.status !== "failed") continue
          const name = Target.format(input.target)
          const isTold = notices.some(
            ({ at, outcomes, said, target, type }) =>
              Target.format(target) === name &&
              type !== "incident-began" &&
              (outcomes?.failed ?? 0) > 0 &&
              (at >= input.at || said.reason === input.said?.reason)
          )
          expect(isTold, `input ${i}`).toBe(true)
        }
      })
    )
  })

  it("rule X12: an incident whose turns have all ended here has ended", () => {
    fc.assert(
      fc.property(history, (inputs) => {
        let state = Incidents.empty
        const stay = inputs.filter(({ _tag }) => _tag !== "Moved")
        for (const input of stay) [state] = Incidents.record(state, input, AFTER)
        const at = (stay.at(-1)?.at ?? 0) + 1
        for (let turn = 0; turn < 5; turn++) [state] = Incidents.record(state, sealed(`t${turn}`, at), AFTER)
        ;[state] = Incidents.record(state, passed(at + Incidents.SETTLE_MS), AFTER)
        expect(HashMap.size(state.troubles)).toBe(0)
        expect(Incidents.dueAt(state, AFTER)).toBeUndefined()
        expect(state.turns.pipe(HashMap.size)).toBe(0)
      })
    )
  })

  it("rule X12: once per endpoint and cause, unless it has answered since", () => {
    fc.assert(
      fc.property(history, (inputs) => {
        const last = new Map<string, number>()
        for (const { at, said, since, target, type } of told(inputs)) {
          if (type !== "turns-failed") continue
          const name = `${Target.format(target)} ${said.reason}`
          const before = last.get(name)
          last.set(name, at)
          if (before === undefined) continue
          const isAnswered = inputs.some(
            (input) =>
              input._tag === "Answered" &&
              Target.format(input.target) === Target.format(target) &&
              input.at > before - Incidents.SETTLE_MS &&
              input.at <= since
          )
          expect(isAnswered).toBe(true)
        }
      })
    )
  })
})
