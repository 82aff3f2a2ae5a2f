import { assert, describe, it } from "@effect/vitest"
import type { Records } from "@holdfast/kernel"
import { type Failure, Ids } from "@holdfast/wire"
import { Effect } from "effect"
import * as RecordedWait from "../src/RecordedWait.ts"
import * as ShownWait from "./ShownWait.ts"

const record = (name: string, value: unknown = true) => ({ name, value: JSON.stringify(value) })

const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true }
const failed = { _tag: "Failed", content: [], endedAt: 1_000, failure: overloaded, contentSeen: false, spread: 0 }
const retry = { _tag: "Retry", attempt: 0, delayMs: 5_000, retryAt: 6_000 } as const
const waiting = [record("step/0/attempt/0", failed), record("step/0/decision/0", retry)]

describe("RecordedWait", () => {
  /** The wait of a turn with these records. */
  const currentBy = (records: ReadonlyArray<Records.Stored>) => {
    const turn = { turnId: Ids.TurnId.make("t"), tail: records.at(-1) }
    return Effect.runSync(RecordedWait.currentBy({ load: () => Effect.succeed(records) }, turn))
  }

  it("rule X1: is the last wait that was decided, with the changes by commands", () => {
    const wait = {
      attempt: 0,
      delayMs: 5_000,
      retryAt: 6_000,
      asks: undefined,
      failure: overloaded,
      target: undefined
    }
    assert.deepStrictEqual(ShownWait.of(waiting), wait)
    const moved = [...waiting, record("step/0/sleep/0", { type: "until", until: 9_000 })]
    assert.deepStrictEqual(ShownWait.of(moved), { ...wait, delayMs: 8_000, retryAt: 9_000 })
    const past = [...waiting, record("step/0/sleep/0", { type: "until", until: 500 })]
    assert.deepStrictEqual(ShownWait.of(past), { ...wait, delayMs: 0, retryAt: 500 })
    const extended = [...moved, record("step/0/sleep/0/1", { type: "extended", byMs: 1 })]
    assert.deepStrictEqual(ShownWait.of(extended), { ...wait, delayMs: 8_000, retryAt: 9_000 })
  })

  it("rule P7: names the credential of the retry, and the target that was used before", () => {
    const route = { target: { provider: "other", model: "m" }, credential: "SPARE_KEY" }
    const first = [waiting[0], record("step/0/decision/0", { ...retry, route })].filter((each) => each !== undefined)
    assert.deepInclude(ShownWait.of(first), { credential: "SPARE_KEY", target: undefined })
    const decided = record("step/0/decision/1", { ...retry, attempt: 1 })
    const second = [
      ...first,
      record("step/0/sleep/0", { type: "elapsed" }),
      record("step/0/attempt/1", failed),
      decided
    ]
    assert.deepInclude(ShownWait.of(second), { attempt: 1, target: "other/m" })
    assert.notProperty(ShownWait.of(second), "credential")
  })

  it("rule X11: is a wait for an answer after a question, until the answer is recorded", () => {
    const asks = { because: "turn" as const, tokens: 9, limit: 1, waitedMs: 5_000, message: "May it go on?" }
    const asked = [...waiting, record("step/0/sleep/0", { type: "asked", asks, until: 9_000 })]
    assert.deepInclude(ShownWait.of(asked), { asks, delayMs: 8_000, retryAt: 9_000 })
    const extended = [...asked, record("step/0/sleep/0/1", { type: "extended", byMs: 1 })]
    assert.deepInclude(ShownWait.of(extended), { asks, retryAt: 9_000 })
    const answered = [...extended, record("step/0/sleep/0/2", { type: "until", until: 11_000 })]
    assert.deepInclude(ShownWait.of(answered), { asks: undefined, delayMs: 10_000, retryAt: 11_000 })
    assert.isUndefined(ShownWait.of([...asked, record("step/0/sleep/0/1", { type: "elapsed" })]))
    assert.include(currentBy(asked), { isMoved: true, retryAt: 9_000 })
  })

  it("is undefined when the wait has ended, and while the turn does something else", () => {
    assert.isUndefined(ShownWait.of([]))
    assert.isUndefined(ShownWait.of([...waiting, record("step/0/sleep/0", { type: "elapsed" })]))
    assert.isUndefined(
      ShownWait.of([...waiting, record("step/0/sleep/0", { type: "elapsed" }), record("step/0/attempt/1/content")])
    )
    const gaveUp = { _tag: "GiveUp", because: "not-retryable" }
    assert.isUndefined(ShownWait.of([record("step/0/attempt/0", failed), record("step/0/decision/0", gaveUp)]))
  })

  it("rule X1, X5: is in the newest record, with its route, unless a command has moved it", () => {
    const wakeAtOf = (...records: ReadonlyArray<Records.Stored>) => currentBy([...waiting, ...records])?.retryAt
    const decision = (value: unknown) => wakeAtOf(record("step/0/decision/0", value))
    const sleep = (value: unknown) => wakeAtOf(record("step/0/sleep/0/1", value))
    assert.strictEqual(decision(retry), 6_000)
    assert.strictEqual(decision({ ...retry, basis: { retryAt: 1, _tag: "GiveUp" } }), 6_000)
    assert.isUndefined(decision({ _tag: "GiveUp", because: "exhausted" }))
    assert.isUndefined(decision("Retry"))
    assert.isUndefined(wakeAtOf({ name: "step/0/decision/0", value: "{" }))
    assert.strictEqual(sleep({ type: "until", until: 9_000 }), 9_000)
    assert.strictEqual(sleep({ type: "extended", byMs: 1 }), 6_000)
    assert.isUndefined(sleep({ type: "elapsed" }))
    assert.isUndefined(wakeAtOf(record("step/0/attempt/0", failed)))
    assert.isUndefined(currentBy([]))
    const route = { target: { provider: "openai", model: "gpt-5" } }
    const sent = currentBy([...waiting, record("step/0/decision/0", { ...retry, route })])
    assert.deepInclude(sent, { decision: { ...retry, route }, isMoved: false })
  })

  it("rule X4: loads earlier records for the end of a wait that was moved, and for no other wait", () => {
    const moved = [...waiting, record("step/0/sleep/0/1", { type: "until", until: 9_000 })]
    assert.deepInclude(currentBy(moved), { decision: retry, isMoved: true, retryAt: 9_000, since: 1_000 })
    const unread = Effect.die(new Error("the records were read"))
    const turnId = Ids.TurnId.make("t")
    const wait = Effect.runSync(RecordedWait.currentBy({ load: () => unread }, { turnId, tail: waiting.at(-1) }))
    assert.strictEqual(wait?.retryAt, 6_000)
  })

  it("rule X1, X5: keeps what its gate knows of the turn, also where a command has moved it", () => {
    const decision = { ...retry, basis: { past: { odd: 1.5, restsUntil: 9_000 } } }
    const decided = [waiting[0], record("step/0/decision/0", decision)].flatMap((each) => each ?? [])
    assert.deepInclude(currentBy(decided), { isMoved: false, decision })
    const moved = [...decided, record("step/0/sleep/0/1", { type: "until", until: 9_000 })]
    assert.deepInclude(currentBy(moved), { isMoved: true, retryAt: 9_000, decision })
  })

  it("rule X4: names the target that a command has sent the turn to", () => {
    const switched = record("step/0/sleep/0", { type: "switched", target: { provider: "openai", model: "gpt-5" } })
    const records = [
      ...waiting,
      switched,
      record("step/0/attempt/1", failed),
      record("step/0/decision/1", { ...retry, attempt: 1 })
    ]
    assert.strictEqual(ShownWait.of(records)?.target, "openai/gpt-5")
  })

  it("rule P8: is undefined when a retry went to another target at once", () => {
    const route = { target: { provider: "openai", model: "gpt-5" } }
    const at = record("step/0/decision/0", { ...retry, delayMs: 0, retryAt: 1_000, route })
    assert.isUndefined(ShownWait.of([record("step/0/attempt/0", failed), at]))
    assert.isUndefined(currentBy([at]))
  })

  it("rule A5: names the target that failed, wherever the retry goes", () => {
    const here = { route: { target: { provider: "anthropic", model: "big" } } }
    const there = { route: { target: { provider: "openai", model: "gpt-5" } } }
    const records = [
      record("step/0/route", here),
      record("step/0/attempt/0", failed),
      record("step/0/decision/0", { ...retry, ...there })
    ]
    assert.strictEqual(ShownWait.of(records)?.target, "anthropic/big")
    const later = [
      ...records,
      record("step/0/sleep/0", { type: "elapsed" }),
      record("step/0/attempt/1", failed),
      record("step/0/decision/1", retry)
    ]
    assert.strictEqual(ShownWait.of(later)?.target, "openai/gpt-5")
  })

  it("rule P19: can follow a failed compaction", () => {
    const records = [
      record("step/0/attempt/0", failed),
      record("step/0/compaction/1", { _tag: "Failed", failure: overloaded, spread: 0, endedAt: 1_000 }),
      record("step/0/decision/1", retry)
    ]
    assert.deepInclude(ShownWait.of(records), { failure: overloaded, retryAt: 6_000 })
  })
})
