import { assert, describe, it } from "@effect/vitest"
import type { Failure } from "@holdfast/wire"
import { HashMap } from "effect"
import * as Causes from "../../../../src/ops/telemetry/incidents/Causes.ts"
import * as Observations from "../Observations.ts"

const { target } = Observations.place
const other = { provider: "openai", model: "other" }
const said = (reason: Failure.Reason, message = "no") => ({ reason, message })

const SETTLE = 10_000

/** Failed turns and answers of endpoints, in order. */
const after = (...happenings: ReadonlyArray<readonly [at: number, reason: Failure.Reason] | "answer">) =>
  happenings.reduce<Causes.Causes>(
    (causes, happening) =>
      happening === "answer"
        ? Causes.answered(causes, target)
        : Causes.failed(causes, { target, said: said(happening[1]), at: happening[0] }),
    HashMap.empty()
  )

const quiet = () => ({ waiting: 0, ending: undefined })

const told = (causes: Causes.Causes, at: number) => Causes.dueNotices(causes, at, SETTLE, quiet)

describe("causes of failed turns", () => {
  it("rule X12: there is one per endpoint and reason, with the number of failed turns", () => {
    const causes = after([1, "auth"], [2, "refused"], [3, "auth"])
    const common = { target, isTold: false, isAnswered: false }
    assert.sameDeepMembers(Array.from(Causes.save(causes)), [
      { ...common, reason: "auth", since: 1, last: 3, failed: 2, said: said("auth") },
      { ...common, reason: "refused", since: 2, last: 2, failed: 1, said: said("refused") }
    ])
    assert.deepStrictEqual(Causes.save(Causes.restore(Causes.save(causes))), Causes.save(causes))
  })

  it("rule X12: are reported once, some seconds after the first", () => {
    const causes = after([1, "auth"], [SETTLE, "auth"])
    assert.strictEqual(Causes.dueAt(causes, SETTLE), 1 + SETTLE)
    const [unchanged, none] = told(causes, SETTLE)
    assert.deepStrictEqual([unchanged === causes, none], [true, []])
    const [next, notices] = Causes.dueNotices(causes, 1 + SETTLE, SETTLE, () => ({ waiting: 3, ending: undefined }))
    assert.deepStrictEqual(notices, [
      {
        type: "turns-failed",
        incidentId: "openai/gpt-5/auth@1",
        target,
        since: 1,
        at: 1 + SETTLE,
        said: said("auth"),
        waiting: 3,
        outcomes: { failed: 2, aborted: 0, elsewhere: 0 }
      }
    ])
    assert.strictEqual(Causes.dueAt(next, SETTLE), Infinity)
    assert.deepStrictEqual(told(next, 10 * SETTLE)[1], [])
  })

  it("Causes.K3: are not reported beside the end of an incident that reports the same", () => {
    const causes = after([1, "auth"], [1, "refused"])
    const [next, notices] = Causes.dueNotices(causes, 1 + SETTLE, SETTLE, () => ({
      waiting: 0,
      ending: { reason: "auth", at: 1 + SETTLE }
    }))
    assert.deepStrictEqual(
      notices.map(({ said }) => said.reason),
      ["refused"]
    )
    assert.strictEqual(Causes.dueAt(next, SETTLE), Infinity)
  })

  it("begin anew after they were reported, the endpoint has answered, and an hour has passed", () => {
    const last = 5 + Causes.QUIET_MS
    const [known] = told(after([1, "auth"], [5, "auth"]), 1 + SETTLE)
    const again = (causes: Causes.Causes, at: number) =>
      Causes.save(Causes.failed(causes, { target, said: said("auth", "again"), at })).map(({ failed, since }) => [
        since,
        failed
      ])
    assert.deepStrictEqual(again(Causes.answered(known, target), last), [[last, 1]])
    assert.deepStrictEqual(again(Causes.answered(known, target), last - 1), [[1, 3]])
    assert.deepStrictEqual(again(known, last), [[1, 3]])
    assert.deepStrictEqual(again(after([1, "auth"], [5, "auth"], "answer"), last), [[1, 3]])
  })

  it("record that their endpoint has answered until a turn fails there again", () => {
    const isAnswered = (causes: Causes.Causes) => Causes.save(causes).map(({ isAnswered }) => isAnswered)
    const causes = after([1, "auth"], [2, "refused"], "answer")
    assert.deepStrictEqual(isAnswered(causes), [true, true])
    assert.strictEqual(Causes.answered(causes, target), causes)
    assert.strictEqual(Causes.answered(causes, other), causes)
    const next = Causes.failed(causes, { target, said: said("auth"), at: 3 })
    assert.sameMembers(Array.from(isAnswered(next)), [true, false])
    assert.deepStrictEqual(isAnswered(Causes.answered(next, target)), [true, true])
  })

  it("are kept for a thousand endpoints, all of each", () => {
    let causes: Causes.Causes = HashMap.empty()
    const fails = (n: number, reason: Failure.Reason = "auth") =>
      (causes = Causes.failed(causes, { target: { provider: "p", model: `m${n}` }, said: said(reason), at: n }))
    for (let n = 0; n <= Causes.MOST_ENDPOINTS; n++) fails(n)
    assert.lengthOf(Causes.save(causes), Causes.MOST_ENDPOINTS)
    fails(0, "refused")
    assert.lengthOf(Causes.save(causes), Causes.MOST_ENDPOINTS + 1)
  })
})
