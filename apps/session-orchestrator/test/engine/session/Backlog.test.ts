import { assert, describe, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import * as fc from "fast-check"
import { Backlog, type Reader } from "../../../src/engine/session/Backlog.ts"
import type { Frame } from "../../../src/engine/conversation/Conversations.ts"

const ids = { conversationId: Ids.ConversationId.make("c"), turnId: Ids.TurnId.make("t") }

/** This number of a test's frames is a page. */
const MOST = 4

const frame = (n: number): Frame => {
  const event = { type: "text-delta", ...ids, delta: `${n} `.padEnd(8_500, "x") } as const
  return { event, json: JSON.stringify(event), id: undefined }
}

const deltas = (frames: ReadonlyArray<Frame>) =>
  frames.map(({ event }) => (event.type === "text-delta" ? Number.parseInt(event.delta) : NaN))

const act = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("push" as const), times: fc.integer({ min: 1, max: 70 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constantFrom("take" as const, "take some" as const), of: fc.nat(5) })
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("join" as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("leave" as const), of: fc.nat(5) }) }
)

describe("a backlog", () => {
  it("Hub.H1: gives every reader each frame that came after it joined, in order and once", () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        const backlog = new Backlog()
        const readers: Array<{ readonly reader: Reader; readonly expected: Array<number> }> = []
        let pushed = 0
        for (const one of acts) {
          if (one.type === "join") readers.push({ reader: backlog.join(), expected: [] })
          else if (one.type === "push") {
            for (let n = 0; n < one.times; n++, pushed++) {
              backlog.push(frame(pushed))
              for (const { expected } of readers) expected.push(pushed)
            }
          } else {
            const [chosen] = readers.splice(one.of % (readers.length || 1), 1)
            if (chosen === undefined) continue
            const { expected, reader } = chosen
            assert.strictEqual(backlog.isBehind(reader), expected.length > 0)
            assert.strictEqual(
              backlog.behind(reader),
              expected.reduce((sum, n) => sum + frame(n).json.length, 0)
            )
            if (one.type === "leave") {
              backlog.leave(reader)
              assert.deepStrictEqual(backlog.take(reader), [])
              continue
            }
            const taken = deltas(one.type === "take" ? backlog.take(reader) : backlog.takeSome(reader))
            if (one.type === "take some") assert.strictEqual(taken.length > 0, expected.length > 0)
            if (one.type === "take some") assert.isAtMost(taken.length, MOST)
            assert.deepStrictEqual(taken, one.type === "take" ? expected : expected.slice(0, taken.length))
            readers.push({ reader, expected: expected.slice(taken.length) })
          }
        }
        for (const { expected, reader } of readers) assert.deepStrictEqual(deltas(backlog.take(reader)), expected)
      })
    )
  })

  it("Backlog.B1: keeps no frame that every reader has taken, though one of them is always behind", () => {
    const backlog = new Backlog()
    const [left, right] = [backlog.join(), backlog.join()]
    for (let n = 0; n < 10_000; n++) {
      backlog.push(frame(n))
      backlog.take(n % 2 === 0 ? left : right)
    }
    assert.isAtMost(backlog.kept, 128)
    backlog.leave(left)
    backlog.take(right)
    assert.strictEqual(backlog.kept, 0)
  })
})
