/** Tests how many turns a page of a list reads, that its pages have each turn once, and cursors. */
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as fc from "fast-check"
import { Config, type Values } from "../../../src/config/Config.ts"
import * as TurnLists from "../../../src/insight/inspection/TurnLists.ts"
import { Secrets } from "../../../src/config/redaction/Secrets.ts"
import { Store } from "../../../src/storage/Store.ts"
import { Lists } from "../../../src/storage/Lists.ts"
import type { TurnRow } from "../../../src/storage/ListPage.ts"
import * as NumberedData from "../../storage/NumberedData.ts"
import type * as It from "../../It.ts"
import * as Law from "../../Law.ts"

const row = (n: number, isRunning: boolean): TurnRow => ({
  position: { at: 0, number: n },
  turn: { ...NumberedData.turn(n, n), end: undefined },
  model: "simulated/steady",
  changedFrom: undefined,
  // A turn without events is queued.
  hasEvents: isRunning,
  labels: {}
})

/** Lists of open turns, newest first, and the turns whose records were read. */
const listed = (
  turns: ReadonlyArray<TurnRow>,
  test: It.Body<[lists: TurnLists.TurnLists["Service"], loaded: ReadonlyArray<string>], never>,
  asked: Array<unknown> = []
) => {
  const loaded: Array<string> = []
  const lists = {
    turns: (filter: { readonly status?: unknown }, after: TurnRow["position"] | undefined, limit: number) => {
      asked.push(filter.status)
      const rest = turns.filter(({ position }) => after === undefined || position.number < after.number)
      const rows = rest.slice(0, limit)
      return Effect.succeed({ rows, next: rest.length > limit ? rows.at(-1)?.position : undefined })
    }
  }
  const store = { recordOutline: (id: string) => Effect.sync(() => (loaded.push(id), [])) }
  return Effect.flatMap(TurnLists.TurnLists, (found) => Effect.gen(() => test(found, loaded))).pipe(
    Effect.provide(
      TurnLists.layer.pipe(
        Layer.provide([
          Layer.succeed(Lists, lists as unknown as Lists["Service"]),
          Layer.succeed(Store, store as unknown as Store["Service"]),
          Layer.succeed(Secrets, { redact: String } as unknown as Secrets["Service"]),
          Layer.succeed(Config, { prices: {} } as unknown as Values)
        ])
      )
    )
  )
}

describe("a page of turns that have not ended", () => {
  const turns = Array.from({ length: 500 }, (_, i) => row(500 - i, i % 3 === 0))

  it.effect("reads the records that fill it, and no more", () => {
    const asked: Array<unknown> = []
    const running = turns.map(({ position }) => row(position.number, true))
    return Effect.andThen(
      listed(
        running,
        function* (lists, loaded) {
          assert.lengthOf((yield* lists.turns({ status: "running" }, { limit: 10 })).turns, 10)
          assert.lengthOf(loaded, 10)
          for (const status of ["queued", "waiting", "failed"] as const) yield* lists.turns({ status }, { limit: 400 })
        },
        asked
      ),
      listed(running.slice(0, 10), function* (lists) {
        assert.isUndefined((yield* lists.turns({ status: "running" }, { limit: 10 })).next)
        assert.deepStrictEqual(asked, ["open", "open", "open", "failed"])
      })
    )
  })

  it.effect("ends after a number of turns, and the next page goes on behind them", () =>
    listed(turns, function* (lists, loaded) {
      const { next, turns } = yield* lists.turns({ status: "waiting" }, { limit: 10 })
      assert.deepStrictEqual([turns.length, loaded.length], [0, TurnLists.MOST_READ])
      assert.isDefined(next)
    })
  )

  it.effect("has each turn once, page by page", () =>
    listed(turns, function* (lists) {
      const found: Array<string> = []
      let cursor: string | undefined
      do {
        const page = yield* lists.turns({ status: "running" }, { limit: 7, cursor })
        found.push(...page.turns.map(({ turnId }) => turnId))
        cursor = page.next
      } while (cursor !== undefined)
      const running = turns.filter(({ hasEvents }) => hasEvents).map(({ turn }) => turn.turnId)
      assert.deepStrictEqual(found, running)
    })
  )
})

const position = fc.record({ at: fc.nat({ max: 2 ** 45 }), number: fc.nat({ max: 2 ** 45 }) })

describe("a cursor", () => {
  it("rule X15: leads back to its position, for its own filter alone", () =>
    Law.holds([fc.jsonValue(), fc.jsonValue(), position], (query, other, position) => {
      const cursor = TurnLists.cursorOf(query, position)
      expect(cursor).toMatch(/^[\w-]+$/)
      expect(TurnLists.positionIn(query, cursor)).toEqual(position)
      if (JSON.stringify(query) !== JSON.stringify(other)) {
        expect(TurnLists.positionIn(other, cursor)).toBeUndefined()
      }
    }))

  it("rule X15: is refused where it is garbage, whatever that is", () => {
    const query = ["turns"]
    const whole = Buffer.from(TurnLists.cursorOf(query, { at: 0, number: 0 }), "base64url").toString()
    const known = whole.split(",")[1] ?? expect.fail("it has another form")
    const of = (version: number, rest: string) => `[${version},${known},${rest}]`
    const forged = ["-1,1", `1,${2 ** 60}`, "0.5,1", '"1",1', "1"].map((rest) => of(1, rest))
    for (const one of [...forged, of(2, "1,1"), '{"at":1}'])
      expect([one, TurnLists.positionIn(query, Buffer.from(one).toString("base64url"))]).toEqual([one, undefined])
    expect(TurnLists.positionIn(query, Buffer.from(of(1, "1,1")).toString("base64url"))).toEqual({ at: 1, number: 1 })
    Law.holds(
      [fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.base64String())],
      (text) => void expect(TurnLists.positionIn(query, text)).toBeUndefined()
    )
    expect(TurnLists.positionIn(query, "A".repeat(1_000_000))).toBeUndefined()
    expect(TurnLists.positionIn(query, `${TurnLists.cursorOf(query, { at: 0, number: 0 })}!`)).toBeUndefined()
  })
})
