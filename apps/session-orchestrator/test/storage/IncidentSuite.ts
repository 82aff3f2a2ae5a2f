/** Tests the laws of every `IncidentStates`, over any database. */
import { expect, it } from "@effect/vitest"
import type { StorageError } from "@holdfast/journal"
import { Effect, type Layer } from "effect"
import { IncidentStates } from "../../src/storage/IncidentStates.ts"
import { Outbox } from "../../src/storage/Outbox.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "./NumberedData.ts"

const message = (id: string) => ({ id, lane: "notices/webhook", receiver: "webhook", payload: "{}", dueAt: 0 })
const NOTHING = { rows: [], removed: [], messages: [] }

/** Runs the suite. Each test builds the layer again, and finds it empty. */
export const suite = (name: string, layer: Layer.Layer<IncidentStates | Outbox | Store, StorageError>) => {
  it.effect(`${name}: IncidentStates.S1: concurrent changes follow one another, each with its messages`, () =>
    Effect.gen(function* () {
      const { change, load } = yield* IncidentStates
      const outbox = yield* Outbox
      const count = change((rows) => {
        const before = Number(rows.find(({ endpoint }) => endpoint === "a")?.state ?? 0)
        return { ...NOTHING, rows: [{ endpoint: "a", state: String(before + 1) }], messages: [message(`m${before}`)] }
      })
      yield* Effect.all(
        Array.from({ length: 5 }, () => count),
        { concurrency: "unbounded" }
      )
      yield* change(() => ({ ...NOTHING, rows: [{ endpoint: "b", state: "x" }] }))
      expect(yield* load).toEqual([
        { endpoint: "a", state: "5" },
        { endpoint: "b", state: "x" }
      ])
      yield* change(() => ({ ...NOTHING, removed: ["a"] }))
      expect((yield* load).map(({ endpoint }) => endpoint)).toEqual(["b"])
      const [first] = yield* outbox.claim(1, 60, 10)
      expect(first?.id).toBe("m0")
    }).pipe(Effect.provide(layer))
  )

  it.effect(`${name}: a turn that was accepted up to a moment is open until it ends`, () =>
    Effect.gen(function* () {
      const { hasOpenTurn } = yield* IncidentStates
      const store = yield* Store
      yield* store.createConversation(NumberedData.conversation(1))
      const turn = NumberedData.turn(1, 1)
      yield* store.acceptTurn(turn)
      expect(yield* hasOpenTurn(turn.acceptedAt)).toBe(true)
      expect(yield* hasOpenTurn(turn.acceptedAt - 1)).toBe(false)
      yield* store.appendEvents(turn.conversationId, turn.turnId, [NumberedData.end(1, 1)], 0)
      expect(yield* hasOpenTurn(turn.acceptedAt)).toBe(false)
    }).pipe(Effect.provide(layer))
  )

  it.effect(`${name}: the newest hundred notices wait for a receiver that is down`, () =>
    Effect.gen(function* () {
      const { change } = yield* IncidentStates
      const outbox = yield* Outbox
      yield* change(() => ({ ...NOTHING, messages: Array.from({ length: 150 }, (_, n) => message(`m${n}`)) }))
      expect((yield* outbox.claim(1, 60, 10)).map(({ id }) => id)).toEqual(["m50"])
    }).pipe(Effect.provide(layer))
  )
}
