/**
 * Plays scripts of turns, deaths and restarts against the notices, and compares the last notice of each incident with what has happened (X12).
 *
 * A turn of the script changes the database first, as in the service, and is observed afterwards. A process that is killed writes nothing more:
 * what it observed since its last write is lost.
 */
import { describe, expect, it } from "@effect/vitest"
import { type Failure, Ids, Target } from "@holdfast/wire"
import { Clock, Duration, Effect, Exit, Logger, Metric, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import * as Observations from "../Observations.ts"
import type { IncidentChange } from "../../../../src/storage/IncidentStates.ts"
import { SharedMemory, started } from "./SharedMemory.ts"

/** Scripts; more by the variable. */
const RUNS = Number(process.env["HOLDFAST_MODEL_RUNS"] ?? 150)

/** Ten thousand scripts take some minutes. */
const NIGHT_MS = 900_000

const TARGETS = [
  { provider: "openai", model: "gpt-5" },
  { provider: "xai", model: "grok-4" }
]
const REASONS: ReadonlyArray<Failure.Reason> = ["overloaded", "auth"]

const KINDS = ["waits", "waits", "waits", "answers", "fails", "completes", "aborts", "switches", "passes"] as const

interface Step {
  readonly kind: (typeof KINDS)[number]
  readonly turn: number
  readonly target: number
  readonly reason: Failure.Reason
  readonly forMs: number
  /** Time that passes before the step. */
  readonly afterMs: number
  /** What happens to the process after the step. */
  readonly process: "lives" | "is killed" | "restarts"
}

const script: fc.Arbitrary<ReadonlyArray<Step>> = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    turn: fc.integer({ min: 0, max: 3 }),
    target: fc.integer({ min: 0, max: TARGETS.length - 1 }),
    reason: fc.constantFrom(...REASONS),
    forMs: fc.integer({ min: 1, max: 100_000 }),
    afterMs: fc.oneof(fc.integer({ min: 0, max: 4_000 }), fc.integer({ min: 0, max: 40_000 })),
    process: fc.constantFrom("lives", "lives", "lives", "lives", "is killed", "restarts")
  }),
  { maxLength: 20, size: "max" }
)

interface Fact {
  readonly at: number
  readonly target: string
  readonly reason?: Failure.Reason
}

/** A database that remembers where turns were when a notice was written. */
class Watched extends SharedMemory {
  readonly openAt = new Map<string, ReadonlyArray<string>>()

  override apply(change: IncidentChange): void {
    for (const { id } of change.messages) this.openAt.set(id, this.open)
    super.apply(change)
  }
}

/** What has happened, whether or not a process has written it. */
class World {
  readonly memory = new Watched()
  readonly answers: Array<Fact> = []
  readonly failures: Array<Fact> = []
  /** The endpoints that each open turn has waited for. */
  readonly waited = new Map<Ids.TurnId, ReadonlyArray<string>>()
  private turns = 0
  private readonly running = new Map<number, { readonly place: typeof Observations.place; target: Target.Target }>()

  /** The turn of a conversation; it begins if there is none. */
  turn(n: number, target: Target.Target) {
    const known = this.running.get(n)
    if (known !== undefined) return known
    const ids = { conversationId: Ids.ConversationId.make(`c${n}`), turnId: Ids.TurnId.make(`t${this.turns++}`) }
    const begun = { place: { ...Observations.place, ...ids }, target }
    this.running.set(n, begun)
    return begun
  }

  /** The turn goes on at an endpoint. */
  at(n: number, target: Target.Target): void {
    const turn = this.running.get(n)
    if (turn !== undefined) turn.target = target
  }

  /** The turn has ended, and the database knows. */
  ends(n: number): void {
    const turn = this.running.get(n)
    if (turn === undefined) return
    this.running.delete(n)
    this.waited.delete(turn.place.turnId)
  }
}

const play = Effect.fnUntraced(function* (steps: ReadonlyArray<Step>, runners: number) {
  const world = new World()
  const { memory } = world
  const start = Effect.gen(function* () {
    const scope = yield* Scope.make()
    return { scope, listeners: yield* Scope.provide(started(memory, { after: Duration.seconds(20) }), scope) }
  })
  const processes = yield* Effect.replicateEffect(start, runners)
  for (const { afterMs, forMs, kind, process, reason, target: index, turn: n } of steps) {
    yield* TestClock.adjust(afterMs)
    const at = yield* Clock.currentTimeMillis
    const elsewhere = TARGETS[index] ?? { provider: "", model: "" }
    const running = processes[n % runners]
    if (running === undefined) throw new Error("there is a runner")
    const { listeners } = running
    if (kind !== "passes") {
      const { place, target } = world.turn(n, elsewhere)
      const failure: Failure.Failure = { reason, message: "No.", retryable: true }
      const directive = { _tag: "Retry" as const, attempt: 0, delayMs: forMs, retryAt: at + forMs }
      const answers = () => {
        world.answers.push({ at, target: Target.format(target) })
        const outcome = { ...Observations.completed, endedAt: at }
        listeners.attempt?.(Observations.attempt({ ...place, target, outcome }))
      }
      const ends = (status: "failed" | "completed" | "aborted") => {
        const error = status === "failed" ? { error: failure } : undefined
        const end = { ...Observations.seal({ status, endedAt: at, ...error }).end, ...place, type: "turn-end" as const }
        world.ends(n)
        if (status === "failed") world.failures.push({ at, target: Target.format(target), reason })
        listeners.seal?.({ ...Observations.seal(), ...place, target, end })
      }
      if (kind === "waits") {
        world.waited.set(place.turnId, [...(world.waited.get(place.turnId) ?? []), Target.format(target)])
        listeners.decision?.({ ...Observations.decision(), ...place, target, failure, directive, at })
      } else if (kind === "switches") {
        world.at(n, elsewhere)
        const route = { target: elsewhere }
        const now = { ...directive, delayMs: 0, retryAt: at, route }
        listeners.decision?.({ ...Observations.decision(), ...place, target, failure, directive: now, at })
      } else if (kind === "answers") answers()
      else if (kind === "completes") {
        answers()
        ends("completed")
      } else ends(kind === "fails" ? "failed" : "aborted")
    }
    if (process === "lives") continue
    memory.isAway = process === "is killed"
    yield* Scope.close(running.scope, Exit.void)
    memory.isAway = false
    processes[n % runners] = yield* start
  }
  // Longer than any wait, and than all that is written with a delay.
  yield* TestClock.adjust("4 minutes")
  for (const { scope } of processes) yield* Scope.close(scope, Exit.void)
  return world
})

const check = ({ answers, failures, memory, waited }: World) => {
  const notices = memory.notices().map((notice) => {
    const [since, at] = [Date.parse(notice.since), Date.parse(notice.at)]
    return { ...notice, target: `${notice.provider}/${notice.model}`, since, at }
  })
  expect(new Set(notices.map(({ id }) => id)).size).toBe(notices.length)
  const incidents = Map.groupBy(
    notices.filter(({ type }) => type !== "turns-failed"),
    ({ incidentId }) => incidentId
  )
  const isAnswered = (target: string, from: number, to: number) =>
    answers.some((fact) => fact.target === target && fact.at > from && fact.at <= to)
  for (const [, all] of incidents) {
    expect(all.map(({ type }) => type)[0]).toBe("incident-began")
    const last = all.at(-1)
    if (last === undefined) continue
    const { at, since, target, text, type } = last
    expect(at, text).toBeGreaterThanOrEqual(all[0]?.at ?? 0)
    if (type === "incident-gave-up") expect(memory.openAt.get(`${last.id}/webhook`), text).not.toContain(target)
    // A turn that waited and has switched keeps the incident until it ends.
    if (type === "incident-began") expect([...memory.open, ...waited.values()].flat(), text).toContain(target)
    else if (type === "incident-ended") expect(isAnswered(target, since, at), text).toBe(true)
    else if (text.includes("has answered no turn")) expect(isAnswered(target, since, at), text).toBe(false)
  }
  for (const { at, reason, target } of failures) {
    const isReported = notices.some(
      (notice) =>
        notice.target === target &&
        notice.failed > 0 &&
        // a cause has one notice, which may be that of its incident.
        (notice.reason === reason || (notice.type !== "turns-failed" && notice.at >= at))
    )
    expect(isReported, `${target} ${reason} at ${at}`).toBe(true)
  }
  expect(memory.failed).toEqual([])
}

/** Plays a script under a clock of its own. */
const played = (steps: ReadonlyArray<Step>, runners = 1): Promise<World> =>
  Effect.runPromise(
    play(steps, runners).pipe(
      Effect.scoped,
      Effect.provide(TestClock.layer()),
      Effect.provide(Logger.layer([])),
      Effect.provideService(Metric.MetricRegistry, new Map())
    )
  )

describe("over all scripts of failures, answers, deaths and restarts", () => {
  it.each([1, 3])(
    "rule X12: the last notice of an incident is true, and a failed turn is in a notice, whenever its process was killed (runners: %s)",
    async (runners) => {
      await fc.assert(
        fc.asyncProperty(script, async (steps) => check(await played(steps, runners))),
        { numRuns: RUNS }
      )
    },
    NIGHT_MS
  )

  it("rule X12: an answer that a killed process had not written is in the log, and ends the incident", async () => {
    const step = { target: 0, reason: "overloaded", forMs: 30_000, afterMs: 0, process: "lives" } as const
    const world = await played([
      { ...step, kind: "waits", turn: 0 },
      { ...step, kind: "waits", turn: 1 },
      { ...step, kind: "passes", turn: 0, afterMs: 25_000 },
      { ...step, kind: "completes", turn: 0, process: "is killed" },
      { ...step, kind: "fails", turn: 1, afterMs: 10_000 }
    ])
    check(world)
    const told = world.memory.notices().map(({ failed, type }) => `${type} ${failed}`)
    expect(told).toEqual(["incident-began 0", "incident-ended 0", "turns-failed 1"])
  })
})
