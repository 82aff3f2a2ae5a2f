/** Tests the wait of a turn that asks about tool calls, as its records have it. */
import { assert, describe, it } from "@effect/vitest"
import { GivenRecords } from "@holdfast/kernel/testing"
import type { RetryStrategy } from "@holdfast/kernel"
import * as ShownWait from "./ShownWait.ts"

const calls = ["one", "two"].map((toolCallId) => ({ toolCallId, toolName: "send", quoted: "{}" }))
const asks = { because: "tools", tokens: 0, limit: 0, waitedMs: 0, message: "May they?", calls } as const
const asked: RetryStrategy.Wake = { type: "asked", asks, until: 50_000, at: 8_000 }
const answer = (toolCallId: string): RetryStrategy.Wake => ({ type: "answered", toolCallId, approved: true, at: 9_000 })

/** A step with a retry, and a question about its tool calls with some answers. */
const of = (...wakes: ReadonlyArray<RetryStrategy.Wake>) =>
  ShownWait.of([
    GivenRecords.failed(0, 1_000),
    GivenRecords.retry(0, 5_000, 6_000),
    GivenRecords.wake(0, 0, { type: "elapsed" }),
    GivenRecords.completed(1, 8_000),
    ...[asked, ...wakes].map((wake, part) => GivenRecords.wake(1, part, wake))
  ])

describe("the wait of a turn that asks about tool calls", () => {
  it("lasts from the question to its deadline, which a command can move", () => {
    assert.deepInclude(of(), { attempt: 0, delayMs: 42_000, retryAt: 50_000, asks })
    assert.deepInclude(of({ type: "until", until: 60_000, at: 9_000 }), { delayMs: 52_000, retryAt: 60_000 })
  })

  it("has the calls without an answer, and ends with the last answer", () => {
    assert.deepStrictEqual(
      of(answer("one"))?.asks?.calls?.map(({ toolCallId }) => toolCallId),
      ["two"]
    )
    assert.isUndefined(of(answer("one"), answer("two")))
  })

  it("ends when its time is over, and when it is given up", () => {
    assert.isUndefined(of({ type: "elapsed", at: 50_000 }))
    assert.isUndefined(of({ type: "cancelled", at: 9_000 }))
  })
})
