import { describe, expect, it } from "@effect/vitest"
import { Target } from "@holdfast/wire"
import * as fc from "fast-check"
import * as Incidents from "../../../../src/ops/telemetry/incidents/Incidents.ts"
import type { NoticeFailure, Notice } from "../../../../src/ops/telemetry/incidents/Notice.ts"
import * as SharedIncidents from "../../../../src/ops/telemetry/incidents/SharedIncidents.ts"
import { SharedMemory } from "./SharedMemory.ts"

const AFTER = 300_000
const said: NoticeFailure = { reason: "overloaded", message: "Overloaded", code: "529" }
const TARGETS = [
  { provider: "openai", model: "gpt-5" },
  { provider: "xai", model: "grok-4" }
]

/** A runner that writes each fact to the database at once. After its death a new one begins with the database alone. */
class Runner {
  state = Incidents.empty
  private readonly memory: SharedMemory
  readonly name: string

  constructor(memory: SharedMemory, name: string) {
    this.memory = memory
    this.name = name
  }

  record(input: Incidents.Fact): ReadonlyArray<Notice> {
    const reader = { runner: this.name, now: input.at }
    const rows = this.memory.all
    const before = SharedIncidents.adopt(this.state, rows, reader)
    const [next, notices] = Incidents.record(before, input, AFTER)
    this.memory.apply({ ...SharedIncidents.changes(next, rows, reader, false), messages: [] })
    this.state = next
    return notices
  }
}

interface Step {
  readonly runner: number
  readonly dies: boolean
  readonly input: Incidents.Fact
}

/** Some hours of three runners. A turn stays with its runner until that dies, and continues with the next one. */
const history = fc
  .array(
    fc.record({
      afterMs: fc.integer({ min: 0, max: 400_000 }),
      kind: fc.constantFrom("Waits", "Waits", "Answered", "Sealed", "Sealed", "Passed"),
      status: fc.constantFrom("completed" as const, "failed" as const, "aborted" as const),
      turn: fc.integer({ min: 0, max: 5 }),
      target: fc.constantFrom(...TARGETS),
      forMs: fc.integer({ min: 1, max: 1_800_000 }),
      dies: fc.integer({ min: 0, max: 9 })
    }),
    { maxLength: 60 }
  )
  .map((steps) => {
    let at = 1
    return steps.map(({ afterMs, dies, forMs, kind, status, target, turn }): Step => {
      at += afterMs
      const conversationId = `t${turn}`
      const input = ((): Incidents.Fact => {
        if (kind === "Waits") return { _tag: "Waits", conversationId, target, said, until: at + forMs, at }
        if (kind === "Answered") return { _tag: "Answered", conversationId, target, at }
        if (kind === "Passed") return { _tag: "Passed", at }
        return { _tag: "Sealed", conversationId, target, status, at, said: status === "failed" ? said : undefined }
      })()
      return { runner: turn % 3, dies: dies === 0, input }
    })
  })

/** The notices of all runners, in order, and the runners at the end. */
const play = (steps: ReadonlyArray<Step>, isShared = true) => {
  const memory = new SharedMemory()
  let made = 0
  // The only process of its database has one name over restarts.
  const runner = () => new Runner(memory, isShared ? `r${made++}` : "service")
  const runners = isShared ? [runner(), runner(), runner()] : [runner()]
  const notices: Array<Notice> = []
  for (const { dies, input, runner: n } of steps) {
    const at = n % runners.length
    if (dies) runners[at] = runner()
    notices.push(...(runners[at]?.record(input) ?? []))
  }
  return { memory, notices, runners }
}

const inOrder = (notices: ReadonlyArray<Notice>) => {
  const open = new Map<string, string>()
  const ids = new Set<string>()
  for (const { incidentId, target, type } of notices) {
    const id = `${incidentId}/${type}`
    expect(ids.has(id)).toBe(false)
    ids.add(id)
    if (type === "turns-failed") continue
    const name = Target.format(target)
    expect(open.get(name)).toBe(type === "incident-began" ? undefined : incidentId)
    if (type === "incident-began") open.set(name, incidentId)
    else open.delete(name)
  }
  return open
}

describe("over several runners, and restarts of each", () => {
  it.each([true, false])(
    "rule X12: notices come once, and a begin and an end of an endpoint alternate (several: %s)",
    (isShared) => {
      fc.assert(fc.property(history, (steps) => void inOrder(play(steps, isShared).notices)))
    }
  )

  it("rule X12: an announced incident ends with the next answer of any runner, so its begin is not the last word", () => {
    fc.assert(
      fc.property(history, fc.integer({ min: 0, max: 2 }), (steps, n) => {
        const { memory, notices, runners } = play(steps)
        const at = (steps.at(-1)?.input.at ?? 0) + 1
        for (const target of TARGETS)
          notices.push(...(runners[n]?.record({ _tag: "Answered", conversationId: "other", target, at }) ?? []))
        expect(inOrder(notices).size).toBe(0)
        expect(memory.all.some(({ state }) => state.includes("trouble"))).toBe(false)
      })
    )
  })

  it("rule X12: an incident is given up when the turns of all runners have ended, and not before", () => {
    const memory = new SharedMemory()
    const [a, b] = [new Runner(memory, "a"), new Runner(memory, "b")]
    const [target] = TARGETS
    if (target === undefined) throw new Error("there is a target")
    const waits = (conversationId: string, at: number, until = at + 3_600_000): Incidents.Fact => ({
      _tag: "Waits",
      conversationId,
      target,
      said,
      until,
      at
    })
    const fails = (conversationId: string, at: number): Incidents.Fact => ({
      _tag: "Sealed",
      conversationId,
      target,
      status: "failed",
      said,
      at
    })
    const passed = (at: number): Incidents.Fact => ({ _tag: "Passed", at })
    const notices = [
      // Its wait ends before that of the runner which reports the incident.
      ...a.record(waits("t1", 1, 600_000)),
      ...b.record(waits("t2", 2)),
      // A runner that lives renews its entry.
      ...a.record(passed(AFTER - 1_000)),
      ...b.record(passed(AFTER + 1)),
      ...a.record(passed(AFTER + 1)),
      ...a.record(fails("t1", AFTER + 2)),
      // The turn of the other runner waits still.
      ...a.record(passed(AFTER + 60_000)),
      ...b.record(passed(AFTER + 60_000)),
      ...b.record(fails("t2", AFTER + 70_000)),
      ...a.record(passed(AFTER + 90_000)),
      ...b.record(passed(AFTER + 90_000))
    ]
    expect(notices.map(({ type, waiting }) => [type, waiting])).toEqual([
      ["incident-began", 2],
      ["turns-failed", 1],
      ["incident-gave-up", 0]
    ])
    expect(notices[0]?.nextAt).toBe(600_000)
    expect(notices.at(-1)?.outcomes).toMatchObject({ failed: 2 })
  })

  it("rule X12: every failed turn is reported, by its cause or by the end of its incident", () => {
    fc.assert(
      fc.property(history, (steps) => {
        const { notices, runners } = play(steps)
        const end = (steps.at(-1)?.input.at ?? 0) + 100 * 3_600_000
        for (const at of [end, end + 1]) notices.push(...(runners[0]?.record({ _tag: "Passed", at }) ?? []))
        for (const { input } of steps) {
          if (input._tag !== "Sealed" || input.status !== "failed") continue
          const name = Target.format(input.target)
          const isTold = notices.some(
            ({ outcomes, target, type }) =>
              Target.format(target) === name && type !== "incident-began" && (outcomes?.failed ?? 0) > 0
          )
          expect(isTold).toBe(true)
        }
      })
    )
  })
})
