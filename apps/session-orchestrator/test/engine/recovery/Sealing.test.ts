/** Tests turns that are sealed without being run: their last events, from stored data. */
import { assert, describe } from "@effect/vitest"
import { GivenRecords } from "@holdfast/kernel/testing"
import type { Observer, Records } from "@holdfast/kernel"
import { type Failure, type TurnEvent } from "@holdfast/wire"
import { Array as Arr, Effect, Exit, identity } from "effect"
import { TestClock } from "effect/testing"
import * as InterruptedTurns from "../../../src/engine/recovery/InterruptedTurns.ts"
import { Session } from "../../../src/engine/session/Session.ts"
import type { TurnServices } from "../../../src/engine/turn/TurnServices.ts"
import * as MemoryStore from "../../storage/MemoryStore.ts"
import * as NumberedData from "../../storage/NumberedData.ts"
import * as Logged from "../../storage/Logged.ts"
import { TurnLog } from "../../../src/storage/TurnLog.ts"
import * as It from "../../It.ts"

const conversationId = NumberedData.conversationId(1)
const turnId = NumberedData.turnId(1)
const ids = { conversationId, turnId }

const failure: Failure.Failure = { reason: "unknown", message: "It went wrong.", retryable: false, defect: true }
const outcome: InterruptedTurns.Outcome = { status: "failed", failure }

const opened: TurnEvent.PersistedEvent = { type: "turn-start", ...ids, startedAt: 0 }
const closed = (attempt: number): TurnEvent.PersistedEvent => ({ type: "retry-end", ...ids, attempt, success: true })

/** Seals turn 1, at 100 s, with these records and events on disk; returns its seal and all its events. */
const sealed = (
  records: ReadonlyArray<Records.Stored>,
  events: ReadonlyArray<TurnEvent.PersistedEvent> = [opened],
  over: Partial<TurnLog["Service"]> = {},
  observer?: Observer.Listeners
) =>
  Effect.gen(function* () {
    const store = yield* NumberedData.oneTurn
    const log = yield* TurnLog
    if (Arr.isReadonlyArrayNonEmpty(records)) yield* Logged.append(turnId, 0, [...records])
    if (Arr.isReadonlyArrayNonEmpty(events)) yield* Logged.events(turnId, events, 0)
    yield* TestClock.setTime(100_000)
    const session = new Session(conversationId)
    // The sealing uses these services alone.
    const services = { log: { ...log, ...over }, observer, store, patiently: () => identity } as unknown as TurnServices
    const end = yield* InterruptedTurns.seal(services, session, turnId, outcome)
    const stored = yield* store.turnEvents(turnId)
    return { end, session, types: stored.map(({ event }) => event.type), lastId: stored.at(-1)?.id, services }
  }).pipe(Effect.provide(MemoryStore.layer))

const waited = [
  GivenRecords.failed(0, 1_000),
  GivenRecords.retry(0, 5_000, 6_000),
  GivenRecords.wake(0, 0, { type: "elapsed" })
]

describe("a turn that is sealed without being run", () => {
  It.effect("rule C10: fails with what stopped it, behind its events, and watchers get the seal", function* () {
    const { end, lastId, session, types } = yield* sealed([])
    assert.deepStrictEqual(types, ["turn-start", "error", "turn-end"])
    assert.deepInclude(end, { status: "failed", endedAt: 100_000, attempts: 0, sleptMs: 0, error: failure })
    assert.strictEqual(session.hub.lastId, lastId)
  })

  It.effect("rule C10: gets the opening of a turn if it has no event yet", function* () {
    const { types } = yield* sealed([], [])
    assert.deepStrictEqual(types, ["turn-start", "message", "error", "turn-end"])
  })

  It.effect("is reported to the observer of the turns of this process, which counts spending", function* () {
    const seals: Array<TurnEvent.TurnEnd> = []
    const { end } = yield* sealed([], [opened], {}, { seal: ({ end }) => void seals.push(end) })
    assert.deepStrictEqual(seals, [end])
  })

  It.effect("stays as it is when it was sealed before", function* () {
    const end = NumberedData.end(1, 1)
    const given = yield* sealed([], [opened, end])
    assert.deepStrictEqual([given.end, given.types], [end, ["turn-start", "turn-end"]])
    assert.isUndefined(given.session.hub.lastId)
  })

  It.effect("stops if another process has written to it meanwhile", function* () {
    const elsewhere = { append: () => Effect.succeed([Exit.succeed([])]) }
    assert.include((yield* Effect.flip(sealed([], [opened], elsewhere))).message, "is being run elsewhere")
  })

  It.effect("rule D2: has waited as its records show; unfinished waits count, immediate retries do not", function* () {
    const over = yield* sealed([...waited, GivenRecords.failed(1, 7_000), GivenRecords.giveUp(1)])
    assert.deepInclude(over.end, { attempts: 2, sleptMs: 5_000, waitedMs: 5_000, steps: 0 })
    const open = yield* sealed([...waited, GivenRecords.failed(1, 7_000), GivenRecords.retry(1, 10_000, 17_000)])
    assert.deepInclude(open.end, { attempts: 2, sleptMs: 5_000, waitedMs: 5_000 + 93_000 })
    const early = yield* sealed([...waited.slice(0, 2), GivenRecords.wake(0, 0, { type: "now", at: 2_000 })])
    assert.deepInclude(early.end, { attempts: 1, sleptMs: 5_000, waitedMs: 1_000 })
    const sent = GivenRecords.sent(0, 0, 1_000, "other")
    const elsewhere = yield* sealed([...waited.slice(0, 1), sent, ...waited.slice(2)])
    assert.deepInclude(elsewhere.end, { attempts: 1, sleptMs: 0, waitedMs: 0 })
  })

  It.effect("rule P11: closes the open chain of retries, and no chain that was closed", function* () {
    const open = yield* sealed([...waited, GivenRecords.failed(1, 7_000), GivenRecords.retry(1, 10_000, 17_000)])
    assert.deepStrictEqual(open.types, ["turn-start", "retry-end", "error", "turn-end"])
    const over = yield* sealed([...waited, GivenRecords.completed(1, 8_000)], [opened, closed(0)])
    assert.deepStrictEqual(over.types, ["turn-start", "retry-end", "error", "turn-end"])
    const second = [GivenRecords.failed(0, 9_000, 1), GivenRecords.retry(0, 5_000, 14_000, 1)]
    const next = yield* sealed([...waited, GivenRecords.completed(1, 8_000), ...second], [opened, closed(0)])
    assert.deepStrictEqual(next.types, ["turn-start", "retry-end", "retry-end", "error", "turn-end"])
    assert.deepInclude(next.end, { steps: 1, attempts: 3 })
  })

  It.effect("rule P11: closes an open question about tool calls, after chains that were closed", function* () {
    const call = { toolCallId: "one", toolName: "send", quoted: "{}" }
    const asks = { because: "tools", tokens: 0, limit: 0, waitedMs: 0, message: "May it?", calls: [call] } as const
    const records = [
      ...waited,
      GivenRecords.completed(1, 8_000),
      GivenRecords.wake(1, 0, { type: "asked", asks, until: 50_000, at: 8_000 })
    ]
    const open = yield* sealed(records, [opened, closed(0)])
    assert.deepStrictEqual(open.types, ["turn-start", "retry-end", "retry-end", "error", "turn-end"])
    const answered = GivenRecords.wake(1, 1, { type: "answered", toolCallId: "one", approved: true, at: 9_000 })
    const over = yield* sealed([...records, answered], [opened, closed(0), closed(0)])
    assert.deepStrictEqual(over.types, ["turn-start", "retry-end", "retry-end", "error", "turn-end"])
  })

  It.effect("rule X2: declares text void that was shown when its process died, and counts its attempt", function* () {
    const shown = yield* sealed([...waited, GivenRecords.mark(1)], [opened])
    assert.deepStrictEqual(shown.types, ["turn-start", "step-discarded", "retry-end", "error", "turn-end"])
    assert.strictEqual(shown.end.attempts, 2)
    const known = yield* sealed([GivenRecords.mark(0), GivenRecords.lost(0, 1_000)])
    assert.deepStrictEqual([known.types, known.end.attempts], [["turn-start", "error", "turn-end"], 1])
  })
})
