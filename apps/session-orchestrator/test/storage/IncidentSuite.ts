/** Tests the laws of every `IncidentStates`, over any database. */
import { expect } from "@effect/vitest"
import type { StorageError } from "@holdfast/journal"
import type { Failure, Ids } from "@holdfast/wire"
import { Effect, type Layer } from "effect"
import type { TurnLog } from "../../src/storage/TurnLog.ts"
import { IncidentStates } from "../../src/storage/IncidentStates.ts"
import { Lists } from "../../src/storage/Lists.ts"
import { Outbox } from "../../src/storage/Outbox.ts"
import type { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "./NumberedData.ts"
import * as Logged from "./Logged.ts"
import * as It from "../It.ts"

const message = (id: string) => ({ id, lane: "notices/webhook", receiver: "webhook", payload: "{}", dueAt: 0 })
const NOTHING = { rows: [], removed: [], messages: [] }

/** Runs the suite. Each test builds the layer again, and finds it empty. */
export const suite = (
  name: string,
  layer: Layer.Layer<IncidentStates | Lists | TurnLog | Outbox | Store, StorageError>
) => {
  const test = It.suite(name, layer)

  test("IncidentStates.S1: concurrent changes follow one another, each with its messages", function* () {
    const { change, load } = yield* IncidentStates
    const outbox = yield* Outbox
    const count = change((rows) => {
      const before = Number(rows.find(({ endpoint }) => endpoint === "a")?.state ?? 0)
      return { ...NOTHING, rows: [{ endpoint: "a", state: String(before + 1) }], messages: [message(`m${before}`)] }
    }, [])
    yield* Effect.forEach([1, 2, 3, 4, 5], () => count, { concurrency: "unbounded" })
    yield* change(() => ({ ...NOTHING, rows: [{ endpoint: "b", state: "x" }] }), [])
    expect((yield* load).map(({ endpoint, state }) => `${endpoint} ${state}`)).toEqual(["a 5", "b x"])
    yield* change(() => ({ ...NOTHING, removed: ["a"] }), [])
    expect((yield* load).map(({ endpoint }) => endpoint)).toEqual(["b"])
    const [first] = yield* outbox.claim(1, 60, 10)
    expect(first?.id).toBe("m0")
  })

  test("IncidentStates.S2: a failed turn is uncounted until one change counts it", function* () {
    const { change } = yield* IncidentStates
    const { turns } = yield* Lists
    const uncounted = (since: number) =>
      Effect.map(turns({ status: "uncounted", since }, undefined, 10), ({ rows }) => rows)
    yield* NumberedData.oneConversation
    const error: Failure.Failure = { reason: "auth", message: "no", retryable: false }
    for (const n of [1, 2]) {
      const turn = NumberedData.turn(n, 1)
      yield* Logged.accept(turn)
      const end = { ...NumberedData.end(n, 1), ...(n === 1 ? { status: "failed" as const, error } : undefined) }
      yield* Logged.events(turn.turnId, [end], 0)
    }
    const { endedAt } = NumberedData.end(1, 1)
    expect(yield* uncounted(endedAt + 1)).toEqual([])
    const [failed, ...others] = yield* uncounted(endedAt)
    expect(others).toEqual([])
    expect(failed).toMatchObject({ model: "simulated/steady", turn: { turnId: "turn-1", end: { error } } })
    const seen: Array<ReadonlyArray<Ids.TurnId>> = []
    const count = change((_rows, counted) => (seen.push([...counted]), NOTHING), [1, 2].map(NumberedData.turnId))
    yield* count
    yield* count
    expect(seen).toEqual([[NumberedData.turnId(1)], []])
    expect(yield* uncounted(0)).toEqual([])
  })

  test("the newest hundred notices wait for a receiver that is down", function* () {
    const { change } = yield* IncidentStates
    const outbox = yield* Outbox
    yield* change(() => ({ ...NOTHING, messages: Array.from({ length: 150 }, (_, n) => message(`m${n}`)) }), [])
    expect((yield* outbox.claim(1, 60, 10)).map(({ id }) => id)).toEqual(["m50"])
  })
}
