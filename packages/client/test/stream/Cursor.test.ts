import type { TurnEvent } from "@holdfast/wire"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { ConversationView, Cursor } from "../../src/index.ts"
import { conversation, type Frame, joining } from "../GeneratedConversation.ts"
import { RUNS } from "../Runs.ts"

/** One connection: how many frames pass while it is away, when it is cut, and which of its frames a faulty path loses. */
const connection = fc.record({
  away: fc.nat(8),
  cutAfter: fc.nat(15),
  reads: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }),
  loses: fc.option(fc.nat(10), { nil: undefined, freq: 6 })
})

const scenario = fc.record({ frames: conversation, connections: fc.array(connection, { maxLength: 8 }) })

type Scenario = typeof scenario extends fc.Arbitrary<infer A> ? A : never

interface Run {
  readonly passed: ReadonlyArray<TurnEvent.TurnEvent>
  readonly view: ConversationView.ConversationView
  readonly cursor: Cursor.Cursor
}

/** Runs a client over its connections, and at last over a connection that is not cut. */
const run = ({ connections, frames }: Scenario, turnId: string | undefined): Run => {
  const passed: Array<TurnEvent.TurnEvent> = []
  let view = ConversationView.empty
  let cursor = Cursor.start(turnId === undefined ? {} : { turnId })
  let position = 0
  const whole = { away: 0, cutAfter: Infinity, reads: [3], loses: undefined }
  for (const { away, cutAfter, loses, reads } of [...connections, whole]) {
    if (cursor.isOver) break
    position = Math.min(position + away, frames.length)
    view = ConversationView.reconnected(view)
    const begun = streamOf(frames.slice(0, position), cursor, turnId)
    const rest = frames.slice(position).filter(({ event }) => turnId === undefined || event.turnId === turnId)
    // Ids between the events of a turn may be those of prompts that were cancelled, so a loss there cannot be noticed.
    const isLost = (number: number) => number === loses && turnId === undefined
    const delivered = [...begun, ...rest].filter((_, number) => !isLost(number)).slice(0, cutAfter)
    position = Math.max(position, ...delivered.map((frame) => frames.indexOf(frame) + 1))
    let at = 0
    for (let read = 0; at < delivered.length; read++) {
      const size = reads[read % reads.length] ?? 1
      const result = Cursor.received(cursor, delivered.slice(at, at + size))
      at += size
      cursor = result.cursor
      const events = result.passed.map(({ event }) => event)
      passed.push(...events)
      view = ConversationView.applyAll(view, events)
      assert.notStrictEqual(result.then, "restored")
      if (result.then !== "read") break
    }
    cursor = Cursor.ended(cursor, { openMs: 0, spread: 0 }).cursor
  }
  return { passed, view, cursor }
}

/** What the service sends first: of a conversation what is behind the id, of a turn everything. */
const streamOf = (passed: ReadonlyArray<Frame>, cursor: Cursor.Cursor, turnId: string | undefined) =>
  joining(passed, turnId === undefined ? cursor.after : 0).filter(
    ({ event }) => turnId === undefined || event.turnId === turnId
  )

const persistedOf = (frames: ReadonlyArray<Frame>, turnId?: string) =>
  frames.flatMap(({ event, id }) =>
    id !== undefined && (turnId === undefined || event.turnId === turnId) ? [event] : []
  )

const isPersisted = ({ type }: TurnEvent.TurnEvent) =>
  !["step-start", "text-delta", "reasoning-delta", "provider-retry", "tools-missing"].includes(type)

describe("Cursor", () => {
  it("passes every persisted event on once and in order, over any cuts and lost frames", () => {
    fc.assert(
      fc.property(scenario, (scenario) => {
        const { cursor, passed, view } = run(scenario, undefined)
        const expected = persistedOf(scenario.frames)
        assert.deepStrictEqual(passed.filter(isPersisted), expected)
        assert.strictEqual(cursor.after, expected.length)
        const shown = ConversationView.applyAll(ConversationView.empty, expected)
        assert.deepStrictEqual(view.history, shown.history)
        assert.strictEqual(view.progress, undefined)
      }),
      { numRuns: RUNS }
    )
  })

  it("ends a stream of one turn with its end, over any cuts", () => {
    fc.assert(
      fc.property(scenario, fc.nat(3), (scenario, number) => {
        const turnId = `t${number}`
        const expected = persistedOf(scenario.frames, turnId)
        fc.pre(expected.length > 0)
        const { cursor, passed } = run(scenario, turnId)
        assert.isTrue(cursor.isOver)
        assert.deepStrictEqual(passed.filter(isPersisted), expected)
        assert.strictEqual(passed.at(-1)?.type, "turn-end")
      }),
      { numRuns: RUNS }
    )
  })

  const event = (type: string): TurnEvent.TurnEvent => ({ type, turnId: "t" }) as TurnEvent.TurnEvent
  const frame = (id: number): Frame => ({ id, event: event("usage") })

  it("gives a connection up that leaves an event out, and keeps what came before", () => {
    const { cursor, passed, then } = Cursor.received(Cursor.start({ after: 3 }), [frame(4), frame(6), frame(7)])
    assert.strictEqual(then, "reconnect")
    assert.strictEqual(passed.length, 1)
    assert.strictEqual(cursor.after, 4)
  })

  it("passes nothing of other turns on in a stream of one turn, and nothing after its end", () => {
    const of = (turnId: string, type: string, id?: number) => ({ id, event: { type, turnId } as TurnEvent.TurnEvent })
    const mine = [of("t", "turn-start", 4), of("t", "text-delta"), of("t", "turn-end", 5)]
    const all = [of("s", "turn-end", 3), ...mine, of("t", "text-delta"), of("u", "turn-start", 6)]
    const { cursor, passed, then } = Cursor.received(Cursor.start({ turnId: "t" }), all)
    assert.deepStrictEqual([passed, then, cursor.isOver], [mine, "over", true])
    assert.deepStrictEqual(Cursor.received(cursor, [of("t", "usage", 6)]).passed, [])
  })

  it("reads a turn on over the end of a prompt behind it that was cancelled, whose id stands between its own", () => {
    const cursor = Cursor.start({ turnId: "t" })
    const { passed, then } = Cursor.received(cursor, [frame(4), frame(6), { id: 7, event: event("turn-end") }])
    assert.deepStrictEqual([passed.length, then], [3, "over"])
  })

  it("reports a conversation that begins again: the service has an earlier copy of it", () => {
    assert.strictEqual(Cursor.received(Cursor.start({ after: 3 }), [frame(1)]).then, "restored")
  })

  it("reconnects at once after a connection that lasted or passed an event on, and less and less often after short ones", () => {
    const short = { openMs: 10, spread: 1 }
    let cursor = Cursor.start()
    const delays = Array.from({ length: 8 }, () => {
      const again = Cursor.ended(cursor, short)
      cursor = again.cursor
      return again.delayMs
    })
    assert.deepStrictEqual(delays, [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000])
    assert.strictEqual(Cursor.ended(cursor, { openMs: 60_000, spread: 1 }).delayMs, 0)
    const { cursor: passed } = Cursor.received(cursor, [frame(1)])
    assert.strictEqual(Cursor.ended(passed, short).delayMs, 0)
  })

  it("waits as long as the service asks for, and spreads the rest by half", () => {
    const long = { openMs: 60_000 }
    assert.strictEqual(Cursor.ended(Cursor.start(), { ...long, spread: 0, code: "shutting-down" }).delayMs, 1_000)
    assert.strictEqual(Cursor.ended(Cursor.start(), { ...long, spread: 1, code: "shutting-down" }).delayMs, 2_000)
    assert.strictEqual(Cursor.ended(Cursor.start(), { ...long, spread: 1, code: "too-slow" }).delayMs, 0)
    assert.strictEqual(Cursor.ended(Cursor.start(), { openMs: 0, spread: 0, retryAfterMs: 5_000 }).delayMs, 5_000)
  })
})
