/** Tests the limit that a call names when it gives up. */
import { assert, it } from "@effect/vitest"
import type { Records } from "@holdfast/kernel"
import { History } from "@holdfast/kernel/host"
import { GivenRecords } from "@holdfast/kernel/testing"
import type { TurnEvent } from "@holdfast/wire"
import * as GaveUp from "../../src/gateway/GaveUp.ts"

const { failed, overloaded, retry, wake } = GivenRecords
const refused = { ...overloaded, reason: "auth", retryable: false } as const
const asks = { because: "spend", tokens: 1, limit: 0, waitedMs: 0, message: "It costs." } as const

const textOf = (error: typeof overloaded | typeof refused, ...records: ReadonlyArray<Records.Stored>) =>
  GaveUp.textOf({ endedAt: 0, error }, History.of(records).attempts.at(-1))

it("rule X13: a question without an answer, a person's order and a final error are distinguished", () => {
  const waits = [failed(0, 1_000), retry(0, 5_000, 6_000)]
  const asked = wake(0, 0, { type: "asked", at: 6_000, until: 9_000, asks })
  assert.strictEqual(textOf(refused, ...waits, asked, wake(0, 1, { type: "elapsed", at: 9_000 })), "nobody answered")
  const cancelled = { type: "cancelled", by: { commandId: "k", origin: "a test" }, at: 2_000 } as const
  assert.strictEqual(textOf(overloaded, ...waits, wake(0, 0, cancelled)), GaveUp.BY_PERSON)
  assert.strictEqual(textOf(overloaded, ...waits, asked, wake(0, 1, cancelled)), GaveUp.BY_PERSON)
  // A turn that the service seals has no decision about its error; and the records of a turn may not be readable.
  assert.strictEqual(textOf(refused, ...waits, wake(0, 0, { type: "elapsed", at: 6_000 })), "not retryable")
  assert.strictEqual(GaveUp.textOf({ endedAt: 0, error: refused }, undefined), "not retryable")
})

it("rule X13: a decision to give up is named by its limit and the limit's value, and with the provider's reset", () => {
  const limits = { schedule: "steps", measure: "scheduled", totalMs: 28_800_000, maxRetries: 5, maxDelayMs: 60_000 }
  const own = { ...limits, onReason: { totalMs: 172_800_000, maxRetries: 2 } }
  const gaveUp = (basis: object | undefined, because = "exhausted", error: TurnEvent.TurnEnd["error"] = overloaded) => {
    const refusal = { _tag: "Refused", spent: { sleptMs: 0, elapsedMs: 0 }, ...basis }
    const decision = { _tag: "GiveUp", because, ...(basis && { basis: refusal }) }
    return GaveUp.textOf({ endedAt: 1_000, error }, { decision, wait: undefined } as never)
  }
  const texts = [{ limits: own }, { limits: own, byReason: true }, { limits, byReason: true }, {}].map((more) =>
    ["max-retries", "max-delay", "budget", "disabled"].map((because) => gaveUp({ because, ...more })).join()
  )
  assert.deepStrictEqual(texts, [
    "max-retries 5,max-delay 1 m,budget 8 h,disabled",
    "max-retries 2,max-delay 1 m,budget 2 d,disabled",
    "max-retries,max-delay 1 m,budget,disabled",
    "max-retries,max-delay,budget,disabled"
  ])
  const reset = { ...overloaded, hint: { retryAfterMs: 3_661_000, source: "header" } }
  const others = [gaveUp(undefined), gaveUp(undefined, "policy-final"), gaveUp(undefined, "exhausted", reset)]
  assert.deepStrictEqual(others, ["exhausted", "not retryable", "exhausted, reset 1970-01-01T01:01Z"])
})
