/** Tests how many turns a page of a list reads, and that its pages have each turn once. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { PriceTable } from "../../src/inspection/period/PriceTable.ts"
import * as TurnLists from "../../src/inspection/TurnLists.ts"
import { Secrets } from "../../src/redaction/Secrets.ts"
import { Store } from "../../src/storage/Store.ts"
import { Lists, type TurnRow } from "../../src/storage/Lists.ts"
import * as NumberedData from "../storage/NumberedData.ts"

const row = (n: number, isRunning: boolean): TurnRow => ({
  position: { at: 0, number: n },
  turn: { ...NumberedData.turn(n, n), end: undefined },
  model: "simulated/steady",
  hasChangedModel: false,
  // A turn without events is queued.
  hasEvents: isRunning,
  labels: {}
})

/** Lists of open turns, newest first, and the turns whose records were read. */
const listed = <A>(
  turns: ReadonlyArray<TurnRow>,
  test: (lists: TurnLists.TurnLists["Service"], loaded: ReadonlyArray<string>) => Effect.Effect<A, unknown>
) => {
  const loaded: Array<string> = []
  const lists = {
    turns: (_filter: unknown, after: TurnRow["position"] | undefined, limit: number) => {
      const rest = turns.filter(({ position }) => after === undefined || position.number < after.number)
      const rows = rest.slice(0, limit)
      return Effect.succeed({ rows, next: rest.length > limit ? rows.at(-1)?.position : undefined })
    }
  }
  const store = { recordOutline: (id: string) => Effect.sync(() => (loaded.push(id), [])) }
  return Effect.flatMap(TurnLists.TurnLists, (found) => test(found, loaded)).pipe(
    Effect.provide(
      TurnLists.layer.pipe(
        Layer.provide([
          Layer.succeed(Lists, lists as unknown as Lists["Service"]),
          Layer.succeed(Store, store as unknown as Store["Service"]),
          Layer.succeed(Secrets, { redact: String } as unknown as Secrets["Service"]),
          Layer.succeed(PriceTable, {})
        ])
      )
    )
  )
}

describe("a page of turns that have not ended", () => {
  const turns = Array.from({ length: 500 }, (_, i) => row(500 - i, i % 3 === 0))

  it.effect("TurnLists.T2: reads the records that fill it, and no more", () =>
    listed(
      turns.map(({ position }) => row(position.number, true)),
      (lists, loaded) =>
        Effect.gen(function* () {
          assert.lengthOf((yield* lists.turns({ status: "running" }, { limit: 10 })).turns, 10)
          assert.lengthOf(loaded, 10)
        })
    )
  )

  it.effect("TurnLists.T2: ends after a number of turns, and the next page goes on behind them", () =>
    listed(turns, (lists, loaded) =>
      Effect.gen(function* () {
        const { next, turns } = yield* lists.turns({ status: "waiting" }, { limit: 10 })
        assert.deepStrictEqual([turns.length, loaded.length], [0, TurnLists.MOST_READ])
        assert.isDefined(next)
      })
    )
  )

  it.effect("has each turn once, page by page", () =>
    listed(turns, (lists) =>
      Effect.gen(function* () {
        const found: Array<string> = []
        let cursor: string | undefined
        do {
          const page = yield* lists.turns({ status: "running" }, { limit: 7, cursor })
          found.push(...page.turns.map(({ turnId }) => turnId))
          cursor = page.next
        } while (cursor !== undefined)
        assert.deepStrictEqual(
          found,
          turns.filter(({ hasEvents }) => hasEvents).map(({ turn }) => turn.turnId)
        )
      })
    )
  )
})
