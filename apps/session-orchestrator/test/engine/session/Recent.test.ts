import { assert, describe, it } from "@effect/vitest"
import type { TurnEvent } from "@holdfast/wire"
import { Recent } from "../../../src/engine/session/InProgress.ts"
import type { StoredEvent } from "../../../src/storage/Stored.ts"
import * as NumberedData from "../../storage/NumberedData.ts"

const stored = (id: number, event: TurnEvent.PersistedEvent, json = JSON.stringify(event)): StoredEvent => ({
  id,
  event,
  json
})

/** Turn `n`; the ids of its opening begin at `id`. */
const opened = (recent: Recent, n: number, id: number): readonly [StoredEvent, StoredEvent] => {
  const opening = [stored(id, NumberedData.usage(n, 1, 0)), stored(id + 1, NumberedData.message(n, 1, 0))] as const
  recent.accepted(NumberedData.turnId(n))
  for (const event of opening) recent.persisted(event)
  return opening
}

const long = "x".repeat(64 * 1024)

describe("Recent", () => {
  it("has all events of a turn that was accepted here, and none of another", () => {
    const recent = new Recent()
    recent.accepted(NumberedData.turnId(1))
    assert.deepStrictEqual(recent.of(NumberedData.turnId(1)), [])
    const opening = opened(recent, 1, 1)
    recent.persisted(stored(3, NumberedData.usage(2, 1, 0)))
    assert.deepStrictEqual(recent.of(NumberedData.turnId(1)), [...opening])
    assert.isUndefined(recent.of(NumberedData.turnId(2)))
  })

  it("has nothing of a turn that has ended or stopped", () => {
    const recent = new Recent()
    opened(recent, 1, 1)
    recent.persisted(stored(3, NumberedData.end(1, 1)))
    assert.isUndefined(recent.of(NumberedData.turnId(1)))
    opened(recent, 2, 4)
    recent.accepted(NumberedData.turnId(3))
    recent.clear()
    assert.isUndefined(recent.of(NumberedData.turnId(2)))
    assert.isUndefined(recent.of(NumberedData.turnId(3)))
  })

  it("drops a turn with long answers; a long prompt does not count", () => {
    const recent = new Recent()
    recent.accepted(NumberedData.turnId(1))
    recent.persisted(stored(1, NumberedData.usage(1, 1, 0)))
    recent.persisted(stored(2, NumberedData.message(1, 1, 0), long + long))
    recent.persisted(stored(3, NumberedData.message(1, 1, 1), long))
    assert.strictEqual(recent.of(NumberedData.turnId(1))?.length, 3)
    recent.persisted(stored(4, NumberedData.usage(1, 1, 1)))
    assert.isUndefined(recent.of(NumberedData.turnId(1)))
    assert.isUndefined(recent.after(0))
  })

  it("does not keep a prompt with images", () => {
    const recent = new Recent()
    recent.accepted(NumberedData.turnId(1))
    recent.persisted(stored(1, NumberedData.usage(1, 1, 0)))
    recent.persisted(stored(2, NumberedData.message(1, 1, 0), long.repeat(17)))
    recent.persisted(stored(3, NumberedData.usage(1, 1, 1)))
    assert.isUndefined(recent.of(NumberedData.turnId(1)))
    assert.isUndefined(recent.after(0))
  })

  it("has the events after an id, if all of them are here and the conversation has had that id", () => {
    const recent = new Recent()
    assert.isUndefined(recent.after(0))
    const [fifth, sixth] = opened(recent, 1, 5)
    recent.accepted(NumberedData.turnId(2))
    assert.isUndefined(recent.after(0))
    assert.isUndefined(recent.after(3))
    assert.deepStrictEqual(recent.after(4), [fifth, sixth])
    assert.deepStrictEqual(recent.after(5), [sixth])
    assert.deepStrictEqual(recent.after(6), [])
    assert.isUndefined(recent.after(7))
  })

  it("continues with the next turn when one has ended", () => {
    const recent = new Recent()
    opened(recent, 1, 1)
    recent.persisted(stored(3, NumberedData.end(1, 1)))
    assert.isUndefined(recent.after(3))
    const opening = opened(recent, 2, 4)
    assert.deepStrictEqual(recent.after(3), [...opening])
  })
})
