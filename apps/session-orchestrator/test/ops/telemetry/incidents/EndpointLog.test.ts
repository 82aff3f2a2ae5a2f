import { expect } from "@effect/vitest"
import type { Records } from "@holdfast/kernel"
import { type Failure, Ids, Target, type TurnEvent } from "@holdfast/wire"
import { Effect } from "effect"
import * as EndpointLog from "../../../../src/ops/telemetry/incidents/EndpointLog.ts"
import type { TurnRow } from "../../../../src/storage/ListPage.ts"
import * as Observations from "../Observations.ts"
import * as It from "../../../It.ts"

const openai = { provider: "openai", model: "gpt-5" }
const xai = { provider: "xai", model: "grok-4" }

const record = (name: string, value: unknown): Records.Stored => ({ name, value: JSON.stringify(value) })
const failed = (endedAt: number, failure: Failure.Failure = Observations.overloaded) =>
  record("step/0/attempt/0", { ...Observations.failed, endedAt, failure })
const retry = (retryAt: number, delayMs: number, route?: { target: Target.Target }) =>
  record("step/0/decision/0", { _tag: "Retry", attempt: 0, delayMs, retryAt, route })

interface Logged {
  readonly records: ReadonlyArray<Records.Stored>
  readonly model?: Target.Target
  readonly changedFrom?: Target.Target
  readonly end?: { readonly status: TurnEvent.TurnStatus; readonly endedAt: number; readonly attempts?: number }
  readonly hasEvents?: boolean
}

const sourcesOf = (turns: ReadonlyArray<Logged>) => {
  const rows = turns.map(({ changedFrom, end, hasEvents = true, model = openai }, number): TurnRow => {
    const turnId = Ids.TurnId.make(`t${number}`)
    const turn = { turnId, conversationId: Ids.ConversationId.make(`c${number}`), prompt: "", acceptedAt: 0 }
    return {
      position: { at: 0, number },
      turn: { ...turn, end: end && { ...Observations.seal(end).end, turnId } },
      model: Target.format(model),
      changedFrom: changedFrom && Target.format(changedFrom),
      hasEvents,
      labels: {}
    }
  })
  const read: Array<string | undefined> = []
  const sources = {
    lists: {
      turns: ({ status }: { readonly status?: string | undefined }) =>
        Effect.sync(() => {
          read.push(status)
          return { rows: rows.filter(({ turn }) => (turn.end?.status ?? "open") === status), next: undefined }
        })
    },
    log: { load: (turnId: Ids.TurnId) => Effect.succeed(turns[Number(turnId.slice(1))]?.records ?? []) }
  }
  return { read, sources }
}

const standingOf = (
  turns: ReadonlyArray<Logged>,
  { target = openai, ...question }: Partial<EndpointLog.EndpointQuestion> & { readonly target?: Target.Target } = {}
) => {
  const { sources } = sourcesOf(turns)
  const name = Target.format(target)
  const asked = new Map([[name, { since: 100, at: 200, wantsEnds: true, ...question }]])
  return Effect.map(EndpointLog.standingsOf(sources, asked), (standings) => standings.get(name) ?? expect.fail(name))
}

const NOTHING = {
  waiting: 0,
  nextAt: undefined,
  isHeld: false,
  answeredAt: undefined,
  lastAnswerAt: 0,
  outcomes: { failed: 0, aborted: 0, elsewhere: 0 },
  lastEndAt: 0
}
const waits = [failed(110), retry(900, 790)]
const by = { commandId: "k", origin: "a test" }

It.effect("an open turn waits for the endpoint that its retry asks, and a queued turn for none", function* () {
  const held = { ...NOTHING, waiting: 1, isHeld: true }
  const two = [{ records: waits }, { records: [failed(120), retry(800, 1)] }]
  expect(yield* standingOf(two)).toEqual({ ...held, waiting: 2, nextAt: 800 })
  const elsewhere = [{ records: [failed(110), retry(900, 790, { target: xai })] }]
  expect((yield* standingOf(elsewhere)).waiting).toBe(0)
  expect(yield* standingOf(elsewhere, { target: xai, at: 900 })).toEqual(held)
  expect(yield* standingOf([{ records: [], hasEvents: false }])).toEqual(NOTHING)
  expect(yield* standingOf([{ records: [] }], { at: 0 })).toEqual({ ...NOTHING, isHeld: true })
  // A person has moved the wait's end, or is asked at it.
  const asks = { because: "request", tokens: 9, limit: 5, waitedMs: 5_000, message: "More than 5 tokens." }
  const wakes = [{ type: "until", by, nextAt: 5_000 } as const, { type: "asked", asks, nextAt: 900 } as const]
  for (const { nextAt, ...wake } of wakes) {
    const changed = record("step/0/sleep/0/0", { ...wake, until: 5_000, at: 150 })
    expect(yield* standingOf([{ records: [...waits, changed] }])).toEqual({ ...held, nextAt })
  }
})

It.effect("a turn that has waited for the endpoint holds it until it ends, at another endpoint too", function* () {
  const switched = [...waits, record("step/0/sleep/0/0", { type: "switched", target: xai, by, at: 150 })]
  expect(yield* standingOf([{ records: switched }])).toEqual({ ...NOTHING, isHeld: true })
  const ended = [{ records: switched, end: { status: "completed", endedAt: 150 } as const }]
  const outcomes = { failed: 0, aborted: 0, elsewhere: 1 }
  expect(yield* standingOf(ended, { since: 150 })).toEqual({ ...NOTHING, outcomes, lastEndAt: 150 })
})

It.effect("rule X12: a turn that changed its model waited for the one before", function* () {
  const end = { status: "completed", endedAt: 150 } as const
  const moved = [{ records: [failed(110), retry(900, 790)], model: xai, changedFrom: openai, end }]
  expect((yield* standingOf(moved)).outcomes.elsewhere).toBe(1)
  expect((yield* standingOf(moved, { target: xai })).outcomes.elsewhere).toBe(0)
})

It.effect("a turn that it answered in the end was not answered elsewhere", function* () {
  const answered = record("step/0/attempt/1", { ...Observations.completed, endedAt: 170 })
  const end = { status: "completed", endedAt: 180 } as const
  const standing = { ...NOTHING, answeredAt: 170, lastAnswerAt: 170 }
  expect(yield* standingOf([{ records: [...waits, answered], end }])).toEqual(standing)
})

It.effect("rule A9: an invalid answer counts if it is whole, and not if it broke off", function* () {
  const outcomes = [{ whole: true }, {}].map((more) => record("step/0/attempt/1", { ...Observations.failed, ...more }))
  const standings = yield* Effect.forEach(outcomes, (last) => standingOf([{ records: [...waits, last] }]))
  expect(standings.map(({ answeredAt }) => answeredAt)).toEqual([2_000, undefined])
})

It.effect("a turn at a limit of spending, and one that goes on at once, wait for no endpoint", function* () {
  const limit = { ...Observations.overloaded, reason: "quota-exhausted", code: "spend-limit", shared: true } as const
  const end = { status: "failed", endedAt: 180 } as const
  const records = [failed(110, limit), retry(900, 790)]
  const atOnce = [failed(110), retry(110, 0)]
  expect(yield* standingOf([records, atOnce].map((records) => ({ records, end })))).toEqual(NOTHING)
})

It.effect("an answer is one of its attempts since then, also of a turn without records", function* () {
  const answered = record("step/0/attempt/1", { ...Observations.completed, endedAt: 170 })
  const end = { status: "completed", endedAt: 160, attempts: 1 } as const
  const both = [{ records: [...waits, answered] }, { records: [], end: { ...end } }]
  expect(yield* standingOf(both)).toMatchObject({ answeredAt: 160, lastAnswerAt: 170 })
  expect((yield* standingOf([{ records: [...waits, answered] }])).answeredAt).toBe(170)
  expect((yield* standingOf([{ records: [], end: { ...end } }])).answeredAt).toBe(160)
  expect((yield* standingOf([{ records: [], model: xai, end }])).answeredAt).toBeUndefined()
  expect((yield* standingOf([{ records: [...waits, answered] }], { since: 170 })).answeredAt).toBeUndefined()
})

It.effect("the turns are read once for all endpoints, of which each has its own question", function* () {
  const end = { status: "failed", endedAt: 180 } as const
  const logged = [{ records: waits }, { records: waits, end }, { records: waits, model: xai, end }]
  const { read, sources } = sourcesOf(logged)
  const questions = new Map([
    [Target.format(openai), { since: 100, at: 200, wantsEnds: false }],
    [Target.format(xai), { since: 190, at: 200, wantsEnds: false }]
  ])
  const standings = yield* EndpointLog.standingsOf(sources, questions)
  expect(standings.get(Target.format(openai))).toMatchObject({ waiting: 1, isHeld: true, lastEndAt: 0 })
  expect(standings.get(Target.format(xai))).toEqual(NOTHING) // its turn ended before
  expect(read).toEqual(["open", "completed", "failed", "aborted"])
})

It.effect("rule X12: a turn that ends while the turns are read does not wait any more", function* () {
  const answered = record("step/0/attempt/1", { ...Observations.completed, endedAt: 170 })
  const before = sourcesOf([{ records: waits }]).sources
  const after = sourcesOf([{ records: [...waits, answered], end: { status: "completed", endedAt: 180 } }]).sources
  let read = before
  const sources = {
    lists: {
      turns: (filter: { readonly status?: string | undefined }) => {
        read = filter.status === "open" ? before : after
        return read.lists.turns(filter)
      }
    },
    log: { load: (turnId: Ids.TurnId) => read.log.load(turnId) }
  }
  const name = Target.format(openai)
  const standings = yield* EndpointLog.standingsOf(sources, new Map([[name, { since: 100, at: 200, wantsEnds: true }]]))
  expect(standings.get(name)).toMatchObject({ waiting: 0, answeredAt: 170, lastAnswerAt: 170 })
})
