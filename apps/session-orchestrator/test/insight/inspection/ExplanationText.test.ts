import { assert, describe } from "@effect/vitest"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Profile, RetrySettings, Routers } from "@holdfast/policy"
import { type Failure, Ids, type TurnExplanation } from "@holdfast/wire"
import { Result } from "effect"
import * as ExplanationText from "../../../src/insight/inspection/ExplanationText.ts"
import * as LongTurn from "./LongTurn.ts"
import * as ScriptedTurn from "./ScriptedTurn.ts"

const { emits } = ScriptedProvider
const { test } = ScriptedTurn

/** A failure for which the provider names a delay. */
const asks = (reason: Failure.Reason, message: string, retryAfterMs: number) =>
  emits({ reason, message, retryable: true, status: 429, hint: { retryAfterMs, source: "retry-after" } })

/** The settings of turns that may go on at another target. */
const goingOnAt = (target: string) =>
  Result.getOrThrow(RetrySettings.decode({ routing: { type: "fallback-chain", chains: { default: [target] } } }))

const surroundings = { timeZone: "UTC", columns: ExplanationText.COLUMNS, now: 0 }

describe("ExplanationText", () => {
  test("rule X9: a night reads from the top: failures, reasons, commands with senders, the end", function* () {
    const explanation = yield* ScriptedTurn.happened(LongTurn.plan, LongTurn.live)
    assert.deepStrictEqual(ExplanationText.lines(explanation, surroundings), LongTurn.text)
  })

  test("rule D1: a night that ends with the budget is a line for each of its 21 retries", function* () {
    const failure = { reason: "server-error", message: "Bad Gateway", retryable: true, status: 502 } as const
    const scripts = Array.from({ length: 22 }, () => emits(failure))
    const explanation = yield* ScriptedTurn.happened({ scripts })
    const lines = ExplanationText.lines(explanation, surroundings)
    const retries = lines.filter((line) => line.includes("Retry "))
    assert.lengthOf(retries, 21)
    assert.isBelow(lines.length, 40)
    assert.deepStrictEqual(lines.slice(-4), [
      "  06:29:45  Attempt 22: same. Gave up: the next wait of 30 m does not fit into the budget: 7 h 31 m 45 s of 8 h were",
      "            spent.",
      "",
      '  06:29:45  The turn failed after 22 calls and 7 h 31 m 45 s of waiting: server-error, 502: "Bad Gateway".'
    ])
  })

  test("has lines of 120 columns by default, and fills them to the last column", function* () {
    assert.strictEqual(ExplanationText.COLUMNS, 120)
    const explanation = yield* ScriptedTurn.happened(LongTurn.plan, LongTurn.live)
    const accepted = "  22:58:00  The turn was accepted."
    const lines = (columns: number) => ExplanationText.lines(explanation, { ...surroundings, columns })
    assert.include(lines(accepted.length), accepted)
    assert.includeMembers(Array.from(lines(accepted.length - 1)), ["  22:58:00  The turn was", "            accepted."])
  })

  test("rule P8, X9: shortens no failure of another target, nor hides its requested delay", function* () {
    const used = (retryAfterMs: number) => asks("quota-exhausted", "Used up.", retryAfterMs)
    const retry = goingOnAt("anthropic/small")
    const explanation = yield* ScriptedTurn.happened({
      scripts: [used(7_200_000), used(3_600_000), used(60_000), ScriptedProvider.answer("Hello")],
      retry,
      services: Routers.layerMemory(Profile.resolve(retry), { credentials: { anthropic: ["KEY"] } })
    })
    const lines = ExplanationText.lines(explanation, surroundings)
    assert.deepStrictEqual(
      lines.filter((line) => /Attempt \d|asked for|Retry/.test(line)),
      [
        '  22:58:00  Attempt 1 failed before any content: quota-exhausted, 429: "Used up."',
        "            The provider asked for 2 h (retry-after).",
        "            Retry 1 at once, on anthropic/small, of the chain default; 0 s of 8 h spent.",
        '  22:58:00  Attempt 2 failed before any content: quota-exhausted, 429: "Used up."',
        "            The provider asked for 1 h (retry-after).",
        "            Retry 2 at 23:58:00, after 1 h, the provider's, longer than the schedule's 10 s; 1 h of 8 h spent.",
        "  23:58:00  Attempt 3: same. The provider asked for 1 m (retry-after). Retry 3 at 23:59:00, after 1 m, the provider's,",
        "  23:59:00  Attempt 4 was answered (stop)."
      ]
    )
  })

  test("rule C12: names the source of a wait that an earlier failure asked for", function* () {
    const slow = (retryAfterMs: number) => asks("rate-limited", "Slow down.", retryAfterMs)
    const retry = goingOnAt("openai/small")
    const explanation = yield* ScriptedTurn.happened({
      scripts: [slow(3_600_000), slow(7_200_000), ScriptedProvider.answer("Hello")],
      retry,
      services: Routers.layerMemory(Profile.resolve(retry))
    })
    const text = ExplanationText.lines(explanation, surroundings).join("\n")
    assert.include(
      text.replaceAll(/\n {12}/g, " "),
      "Retry 2 at 23:58:00, after 1 h, as its provider had asked before, longer than the schedule's 10 s, on anthropic/claude-sonnet-4-5"
    )
  })

  test("repeats a failure in a word if it is the same, and has the rules on request", function* () {
    const first = { reason: "server-error", message: "Down", retryable: true, status: 502 } as const
    const failures = [first, { ...first, message: "Gone" }, { ...first, status: 503 }, { ...first, code: "x" }]
    const other = { ...first, reason: "overloaded" } as const
    const asked = { ...other, hint: { retryAfterMs: 1, source: "retry-after" } } as const
    const begun = emits(other, ScriptedProvider.text("Hel"))
    const scripts = [...[...failures, asked, asked, other].map((failure) => emits(failure)), begun]
    const explanation = yield* ScriptedTurn.happened({ scripts })
    const lines = ExplanationText.lines(explanation, { ...surroundings, columns: 400, isRuled: true })
    const attempts = lines.flatMap((line) => /Attempt (\d) failed|Attempt (\d): same/.exec(line)?.slice(1) ?? [])
    assert.strictEqual(attempts.join(), "1,,2,,3,,4,,5,,,6,,7,8,")
    assert.include(
      lines.at(-6),
      "  23:04:45  Attempt 6: same. Retry 6 at 23:14:45, after 10 m, the schedule's, no shorter"
    )
    assert.deepStrictEqual(lines.slice(-5), [
      "  23:14:45  Attempt 7: same. Retry 7 at 23:29:45, after 15 m, the schedule's; 31 m 45 s of 8 h spent. (D3, D1)",
      '  23:29:45  Attempt 8 failed after content had left: overloaded, 502: "Down".',
      "            Gave up: content had left, and shown text is not produced twice: midStream is fail. (D4)",
      "",
      '  23:29:45  The turn failed after 8 calls and 31 m 45 s of waiting: overloaded, 502: "Down".'
    ])
  })

  test("rule A11: marks the last step, with the reason", function* () {
    const explanation = yield* ScriptedTurn.happened({
      scripts: [ScriptedProvider.tools(ScriptedProvider.call("search")), ScriptedProvider.answer("Hello")],
      limits: { maxTurns: 2 }
    })
    assert.deepStrictEqual(
      ExplanationText.lines(explanation, surroundings).filter((line) => /^Step|Tool call/.test(line)),
      [
        "Step 1, on anthropic/claude-sonnet-4-5",
        "  22:58:00  Tool call 1, search, failed; the model got the error.",
        "Step 2, on anthropic/claude-sonnet-4-5, the last step: the turn had used all of its steps"
      ]
    )
  })

  test("lists interruptions, deleted records and unreadable records apart from the steps", function* () {
    const explanation = yield* ScriptedTurn.happened({ scripts: [ScriptedProvider.answer("Hello")] })
    const written = (over: Partial<TurnExplanation.TurnExplanation>) =>
      ExplanationText.lines({ ...explanation, ...over }, { ...surroundings, columns: 300 }).slice(3)
    const [day, accepted, , step, answered, , sealed] = written({})
    const head = [day, accepted, "", step, answered, ""]
    assert.deepStrictEqual(written({}), [...head, sealed])
    const words = "The process died 2 times in a row in the middle of this turn."
    const interruption = { deaths: 2, defects: 0, rules: ["X14"], words }
    const two = "A later version wrote 2 records that this one cannot read: a, b."
    const interrupted = [...head, `            ${words}`, "", sealed, "", two]
    assert.deepStrictEqual(written({ interruption, unread: ["a", "b"] }), interrupted)
    const gone = `${" ".repeat(12)}The records of its decisions have been deleted (database.retention); only its end is known.`
    const one = "A later version wrote 1 record that this one cannot read: a."
    const forgotten = [day, accepted, gone, "", sealed, "", one]
    assert.deepStrictEqual(written({ steps: [], isForgotten: true, unread: ["a"] }), forgotten)
  })

  test("rule X13: a held call whose time has come waits for its program", function* () {
    const { seal: _, ...explanation } = yield* ScriptedTurn.happened({ scripts: [ScriptedProvider.answer("Hello")] })
    const steps = explanation.steps.map((step) => ({
      ...step,
      attempts: step.attempts.map((attempt) => ({ ...attempt, wait: { retryAt: 60_000, changes: [] } }))
    }))
    const head = (id: string, now: number, status: "waiting" | "running" = "waiting") => {
      const conversationId = Ids.ConversationId.make(id)
      const held = { ...explanation, conversationId, status, steps }
      return ExplanationText.lines(held, { ...surroundings, now })[0]
    }
    const to = "waiting, to retry at 1970-01-01 00:01:00."
    assert.strictEqual(head("c", 60_000), `Turn t1 of conversation c: ${to}`)
    assert.strictEqual(head("c", 60_000, "running"), "Turn t1 of conversation c: running.")
    assert.strictEqual(head("holdfast-call-1", 59_999), `Turn t1 of conversation holdfast-call-1: ${to}`)
    const waits = "Turn t1 of conversation holdfast-call-1: waits for its program."
    assert.strictEqual(head("holdfast-call-1", 60_000), waits)
  })

  test("keeps control characters of a provider out of the terminal", function* () {
    const failure = { reason: "auth", message: "no\u001b[2J\nentry", retryable: false } as const
    const explanation = yield* ScriptedTurn.happened({ scripts: [emits(failure)] })
    const text = ExplanationText.lines(explanation, surroundings).join("\n")
    assert.include(text, '"no entry"')
    assert.notInclude(text, "\u001b")
  })
})
