/** Tests the fields of an explanation, also with missing, older and newer records. */
import { assert, describe } from "@effect/vitest"
import { Interruption } from "@holdfast/journal"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import type { TurnEvent } from "@holdfast/wire"
import { Duration, Effect } from "effect"
import * as StoredTurns from "../../../src/insight/inspection/StoredTurns.ts"
import type { StoredTurn } from "../../../src/insight/inspection/TurnReport.ts"
import * as Explanation from "../../../src/insight/inspection/Explanation.ts"
import { Store } from "../../../src/storage/Store.ts"
import * as ExplanationText from "../../../src/insight/inspection/ExplanationText.ts"
import * as ScriptedTurn from "./ScriptedTurn.ts"
import * as ExplanationCases from "./ExplanationCases.ts"
import * as Logged from "../../storage/Logged.ts"
import { TurnLog } from "../../../src/storage/TurnLog.ts"

const { answer, emits, unauthorized } = ScriptedProvider
const { by, test } = ScriptedTurn
const { down } = ExplanationCases

const hour = Duration.hours(1)

describe("an explanation", () => {
  test("rule X4: has the target of every attempt, as commands have changed it", function* () {
    const { steps } = yield* ScriptedTurn.happened({ scripts: [...down(2), answer("Hello")] }, ({ pass, wake }) =>
      Effect.andThen(wake({ type: "switched", target: { provider: "openai", model: "gpt-5" }, by }), pass(hour))
    )
    const targets = steps[0]?.attempts.map(({ target }) => target)
    assert.deepStrictEqual(targets, ["anthropic/claude-sonnet-4-5", "openai/gpt-5", "openai/gpt-5"])
  })

  test("rule X9: contains no key that a provider quoted, even if the key was recorded", function* () {
    const key = "sk-ant-api03-0123456789abcdef"
    const leaky = { ...unauthorized, message: `invalid x-api-key ${key}`, evidence: { "request-id": key } }
    const explanation = yield* ScriptedTurn.happened({ scripts: [emits(leaky)] })
    assert.notInclude(JSON.stringify(explanation), key)
    assert.include(JSON.stringify(explanation), "invalid x-api-key [redacted]")
  })

  test("marks a sealed turn whose records were deleted", function* () {
    yield* ScriptedTurn.happened({ scripts: [...down(1), answer("Hello")] })
    yield* Effect.flatMap(TurnLog, (log) => log.forget(Number.MAX_SAFE_INTEGER, undefined))
    const { isForgotten, seal, steps } = Explanation.of(yield* evidence, (text) => text)
    assert.deepStrictEqual([isForgotten, steps, seal?.attempts], [true, [], 2])
  })

  test("shows a turn that has not begun as queued", function* () {
    yield* ScriptedTurn.happened({ scripts: down(1) }, () => Effect.void)
    const { conversation, turn } = yield* evidence
    const { status, steps } = Explanation.of({ turn, conversation, events: [], records: [] }, (text) => text)
    assert.deepStrictEqual({ status, steps }, { status: "queued", steps: [] })
    const { conversationId, turnId } = turn
    const change = { type: "model-change", conversationId, turnId, from: "a/m", to: "b/m" } as const
    const begun = Explanation.of({ turn, conversation, events: [change], records: [] }, (text) => text)
    assert.deepInclude(begun, { status: "running" })
    const words = begun.steps.map(({ attempts }) => attempts.map(({ target, words }) => `${target}: ${words}`))
    assert.deepStrictEqual(words, [["a/m: Attempt 1 is under way."]])
  })

  test("rule X1: has the deaths of the service during a wait; so has the turn's course", function* () {
    const { steps } = yield* ScriptedTurn.happened({ scripts: [...down(1), answer("Hello")] })
    const decision = steps[0]?.attempts[0]?.decision
    if (decision?.type !== "retry") return assert.fail("no retry")
    const { decidedAt, retryAt } = decision
    const deaths = [decidedAt - 1, decidedAt, decidedAt + 2_000, retryAt, retryAt + 1]
    const explanation = Explanation.of({ ...(yield* evidence), deaths }, (text) => text)
    const words = (time: string) =>
      `The service's process died; the next one found the wait at 2031-04-01 ${time} UTC, and it went on to its own end.`
    assert.deepStrictEqual(explanation.steps[0]?.attempts[0]?.wait, {
      retryAt,
      changes: [],
      deaths: [
        { at: decidedAt, rules: ["X1"], words: words("22:58:00") },
        { at: decidedAt + 2_000, rules: ["X1"], words: words("22:58:02") },
        { at: retryAt, rules: ["X1"], words: words("22:58:05") }
      ],
      end: { type: "elapsed", at: retryAt, rules: [], words: "The wait was over." }
    })
    const course = StoredTurns.courseOf(explanation, retryAt).attempts.map(({ wait }) => wait?.deaths)
    assert.deepStrictEqual(course, [deaths.slice(1, 4), undefined])
    // The same with another turn's failure, and tools that end later than the attempts.
    const [failed = assert.fail("no attempt"), ...more] = steps[0]?.attempts ?? []
    const attempts = [{ ...failed, failure: { ...ExplanationCases.overloaded, shared: true as const } }, ...more]
    const tool = { tool: 0, toolCallId: "c", toolName: "t", endedAt: retryAt + 9, rules: [], words: "" }
    const twice = [0, 1].map((step) => ({ step, attempts, tools: [{ ...tool, outcome: "answered" as const }] }))
    const spans = StoredTurns.courseOf({ ...explanation, steps: twice }, retryAt).attempts
    const froms = spans.map(({ from, outcome }) => `${from - decidedAt} ${outcome}`)
    assert.deepStrictEqual(froms, ["0 shared", "5000 answered", "5009 shared", "5009 answered"])
  })

  test("rule C10, X14, P14: names the rule that sealed a turn before it had run to its end", function* () {
    const { answered, sealedWith } = yield* ended
    const rules = (end: TurnEvent.TurnEnd, interruption?: Interruption.Interruption) =>
      Explanation.of({ ...sealedWith(end), interruption }, (text) => text).seal?.rules
    const of = (over: Partial<Interruption.Interruption>) => ({ ...Interruption.none("one"), ...over })
    const failed = { ...answered, status: "failed", error: Interruption.stoppedBy(3) } as const
    assert.deepStrictEqual(rules(failed, of({ deaths: Interruption.SUSPECT + 1 })), ["X14"])
    assert.deepStrictEqual(rules(failed, of({ deaths: Interruption.SUSPECT, defects: 3 })), ["C10"])
    assert.deepStrictEqual(rules(failed), [])
    assert.deepStrictEqual(rules({ ...failed, error: ExplanationCases.overloaded }, of({ deaths: 4 })), [])
    assert.deepStrictEqual(rules(answered, of({ deaths: 4 })), [])
    assert.deepStrictEqual(rules({ ...answered, status: "aborted" }, of({ deaths: 4 })), ["P14"])
    // An attempt that its records lack was under way at its end, unless it was answered.
    const records = (yield* evidence).records.slice(0, 3)
    const aborted = { ...answered, status: "aborted" } as const
    const made = [{ ...answered, attempts: 9 }, { ...aborted, attempts: 1 }, aborted].map(
      (end) => Explanation.of({ ...sealedWith(end), records }, (text) => text).steps[0]?.attempts.length
    )
    assert.deepStrictEqual(made, [1, 1, 2])
    const interrupted = [{ deaths: 1 }, { deaths: 2 }, { deaths: 1, defects: 1 }, { deaths: 2, defects: 1 }].map(
      (over) => Explanation.of({ ...sealedWith(answered), interruption: of(over) }, (text) => text).interruption?.rules
    )
    assert.deepStrictEqual(interrupted, [undefined, ["X14"], ["C10"], ["X14", "C10"]])
  })

  test("marks an aborted turn's records as deleted if it must have had some", function* () {
    const { answered, ofTurn, sealedWith } = yield* ended
    const isForgotten = (...types: ReadonlyArray<"retry-end" | "tool-call" | "model-change">) => {
      const events = types.map((type): TurnEvent.PersistedEvent => {
        if (type === "model-change") return { type, ...ofTurn, from: "a/m", to: "b/m" }
        if (type === "retry-end") return { type, ...ofTurn, success: false, attempt: 0 }
        return { type, ...ofTurn, toolCallId: "c1", toolName: "t", input: {} }
      })
      const found = sealedWith({ ...answered, status: "aborted" })
      return Explanation.of({ ...found, events, records: [] }, (text) => text).isForgotten
    }
    assert.isFalse(isForgotten())
    assert.isFalse(isForgotten("model-change"))
    assert.isTrue(isForgotten("model-change", "retry-end"))
    assert.isTrue(isForgotten("tool-call"))
  })

  test("rule X2, X5, P19: names the rule of attempts that were lost, shared, or for a summary", function* () {
    const { answered, sealedWith } = yield* ended
    const attempt = (outcome: object, name = "step/0/attempt/0") => {
      const records = [{ name, value: JSON.stringify({ endedAt: 1, spread: 0, ...outcome }) }]
      return Explanation.of({ ...sealedWith(answered), records }, (text) => text).steps[0]?.attempts[0]?.rules
    }
    const failed = { _tag: "Failed", content: [], contentSeen: false, failure: ExplanationCases.overloaded }
    assert.deepStrictEqual(attempt(failed), [])
    assert.deepStrictEqual(attempt({ ...failed, failure: { ...ExplanationCases.overloaded, shared: true } }), ["X5"])
    assert.deepStrictEqual(attempt({ _tag: "Lost" }), ["X2"])
    assert.deepStrictEqual(attempt({ _tag: "Completed", content: [], finishReason: "stop" }), [])
    assert.deepStrictEqual(attempt({ _tag: "Nothing" }, "step/0/compaction/0"), ["P19"])
    assert.deepStrictEqual(attempt({ _tag: "Failed", failure: failed.failure }, "step/0/compaction/0"), ["P19"])
  })

  test("shows a tool call without a result as in progress, or as cut short with its turn", function* () {
    const { answered, sealedWith } = yield* ended
    const call = { type: "tool-call", toolCallId: "c1", toolName: "look", input: {} }
    const outcome = { _tag: "Completed", content: [call], endedAt: 1, finishReason: "tool-calls" }
    const records = [{ name: "step/0/attempt/0", value: JSON.stringify(outcome) }]
    const found = { ...sealedWith({ ...answered, status: "aborted" }), records }
    const tools = (evidence: StoredTurn) => Explanation.of(evidence, (text) => text).steps.flatMap(({ tools }) => tools)
    const open = { ...found, turn: { ...found.turn, end: undefined } }
    const known = { tool: 0, toolCallId: "c1", toolName: "look", rules: [] }
    assert.deepStrictEqual(tools(open), [{ ...known, outcome: "under-way", words: "Tool call 1, look, is under way." }])
    assert.deepStrictEqual(tools(found), [
      { ...known, outcome: "cut-short", words: "Tool call 1, look, was cut short: the turn ended." }
    ])
    const calls = [{ ...call, quoted: "{}" }]
    const asks = { because: "tools", tokens: 0, limit: 0, waitedMs: 0, message: "May it?", calls }
    const wake = (n: number, value: object) => ({ name: `step/0/sleep/0/${n}`, value: JSON.stringify(value) })
    const asked = [
      ...records,
      wake(0, { type: "asked", asks, at: 2_000, until: 5_000 }),
      wake(1, { type: "until", at: 3_000, until: 9_000 }),
      wake(2, { type: "answered", at: 4_000, toolCallId: "c2", approved: false })
    ]
    const waiting = Explanation.of({ ...open, records: asked }, (text) => text)
    const until = "1970-01-01 00:00:09"
    const question = { askedAt: 2_000, until: 9_000, rules: [] }
    assert.deepStrictEqual(waiting.steps[0]?.tools[0]?.approval, {
      ...question,
      outcome: "open",
      words: `It needs approval. The turn asked at 1970-01-01 00:00:02 UTC, and waits for an answer until ${until} UTC.`
    })
    const [line] = ExplanationText.lines(waiting, { timeZone: "UTC", columns: 120, now: 0 })
    assert.include(line, `: waiting for approval of a tool call until ${until}.`)
    const [cut] = tools({ ...found, records: asked })
    const words = "It needed approval, and the turn ended before there was an answer."
    assert.deepStrictEqual(cut?.approval, { ...question, outcome: "cut-short", words })
    const refusal = { type: "answered", at: 5_000, toolCallId: "c1", approved: false, reason: "Not now." }
    const again = { type: "answered", at: 6_000, toolCallId: "c1", approved: true }
    const [refused] = tools({ ...open, records: [...asked, wake(3, refusal), wake(4, again)] })
    const told = { ...question, outcome: "refused", reason: "Not now.", at: 5_000 }
    const said = "It needed approval, and was refused: Not now."
    assert.deepStrictEqual<unknown>(refused?.approval, { ...told, words: said })
  })

  test("reads the records of older versions, and names those of a later version", function* () {
    yield* ScriptedTurn.happened({ scripts: down(1) }, () => Effect.void)
    const found = yield* evidence
    const records = [
      ...found.records.map(({ name, value }) => ({ name, value: withoutBasis(value) })),
      { name: "step/0/sleep/0", value: '{"type":"elapsed"}' },
      { name: "step/0/verdict/0", value: "{}" }
    ]
    const explanation = Explanation.of({ ...found, records }, (text) => text)
    assert.deepStrictEqual(explanation.unread, ["step/0/verdict/0"])
    assert.deepStrictEqual(ExplanationCases.wordsOf(explanation).slice(1), [
      "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s.",
      "The wait was over.",
      "Attempt 2 is under way."
    ])
  })
})

const evidence = Effect.gen(function* () {
  const store = yield* Store
  const { conversationId, turnId } = ScriptedTurn
  return {
    turn: yield* Effect.flatMap(store.turn(turnId), Effect.fromOption),
    conversation: yield* Effect.flatMap(store.conversation(conversationId), Effect.fromOption),
    events: (yield* store.turnEvents(turnId)).map(({ event }) => event),
    records: yield* Logged.load(turnId)
  }
})

/** A turn that was answered after two failures, for tests that give it another end. */
const ended = Effect.gen(function* () {
  yield* ScriptedTurn.happened({ scripts: [...down(1), answer("Hello")] })
  const found = yield* evidence
  const { conversationId, end: answered = assert.fail("it has not ended"), turnId } = found.turn
  return {
    answered,
    ofTurn: { conversationId, turnId },
    sealedWith: (end: TurnEvent.TurnEnd) => ({ ...found, turn: { ...found.turn, end } })
  }
})

const withoutBasis = (value: string): string => {
  const { basis: _, ...rest } = Object(JSON.parse(value))
  return value.startsWith("{") ? JSON.stringify(rest) : value
}
