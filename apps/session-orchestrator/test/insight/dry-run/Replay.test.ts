/** Tests replays of recorded nights. `HOLDFAST_DRY_RUNS=1000` runs more of them. */
import { assert, describe, it } from "@effect/vitest"
import type { Records } from "@holdfast/kernel"
import { Property } from "@holdfast/kernel/testing"
import { Profile } from "@holdfast/policy"
import { defined, type Failure, Ids, type Message, Target, type TurnEvent } from "@holdfast/wire"
import { Duration, Effect, Result } from "effect"
import * as DryTurnCourse from "../../../src/insight/dry-run/DryTurnCourse.ts"
import * as OutageScripts from "../../../src/insight/dry-run/OutageScripts.ts"
import * as Replay from "../../../src/insight/dry-run/Replay.ts"
import * as Trial from "../../../src/insight/dry-run/Trial.ts"
import type { Recording, RecordedTurn } from "../../../src/storage/Recording.ts"
import { configOf, MODEL, type Night, outagesOf, plain, recorded } from "./Beside.ts"
import { night } from "./Nights.ts"
import * as GivenTurn from "../../GivenTurn.ts"
import * as It from "../../It.ts"

const RUNS = Number(process.env["HOLDFAST_DRY_RUNS"] ?? 8)
const HOUR = 3_600_000
const MINUTE = 60_000

/** A recording as it was, and under the configuration of a night. */
const replay = Effect.fnUntraced(function* (
  recording: Recording,
  night: Night,
  outages: ReadonlyArray<string> = [],
  readAt = 30 * HOUR,
  mostCalls = 100_000
) {
  const scene = { recording, readAt, forMs: 48 * HOUR, mostCalls, outages: outagesOf(outages) }
  const original = yield* Replay.original(scene)
  const again = Replay.replayed(configOf(night), original.calls, scene)
  while (again.run.step(1_000)) {}
  const assumptions = Replay.assumptions(recording, [again])
  return { was: original.result, would: again.run.result, turns: again.turns, assumptions }
})

describe("a replay", () => {
  for (const isGated of [false, true])
    Property.prop(
      `rule X10: of the same configuration makes every recorded decision again, at its time, ${isGated ? "with" : "without"} gates`,
      night(isGated),
      (night) =>
        Effect.gen(function* () {
          const recording = yield* recorded(night)
          assert.strictEqual(recording.turns.length, night.turns)
          const { turns, was, would } = yield* replay(recording, night)
          for (const [n, { end }] of recording.turns.entries()) {
            if (end === undefined) continue
            const { followed } = turns[n] ?? assert.fail("a turn is missing")
            assert.isUndefined(followed.leftAt)
            assert.deepStrictEqual(would.turns[n], was.turns[n])
            assert.strictEqual(would.turns[n]?.end?.at, end.endedAt)
            const made = would.turns[n]?.calls.filter(({ outcome }) => outcome !== "shared")
            assert.strictEqual(made?.length, end.attempts)
          }
        }),
      { numRuns: RUNS }
    )
})

describe("the outages of a dry run", () => {
  const of = (...texts: ReadonlyArray<string>) => outagesOf(texts)
  /** What a call of a script is answered: when its content begins and when it ends, its outcome, and the parts that came. */
  const reply = (script: string, firstContentMs: number, idleMs: number) => {
    const requestTimeout = { ...Profile.resolve({}).requestTimeout, firstContentMs, idleMs }
    const request = { ...GivenTurn.ids, step: 0, attempt: 0, target: MODEL, messages: [], tools: [] }
    const prompted = { turnId: "t", startedAt: 0, target: MODEL }
    const { contentAt, endAt, outcome } =
      OutageScripts.simulated(of(script), 0, { requestTimeout, maxTurns: 1 })({ prompted, request, now: 0 }) ?? {}
    const seen = outcome?._tag === "Failed" ? `${outcome.failure.reason}, ${outcome.contentSeen}` : outcome?._tag
    return [contentAt, endAt, seen, outcome?.content.length]
  }

  it("rule C8: end a call whose content or next part comes later than the limit, and no call within it", () => {
    const cases: ReadonlyArray<readonly [string, number, number, ReturnType<typeof reply>]> = [
      ["ok+first-token-3s", 3_000, 9_000, [3_000, 4_067, "Completed", 1]],
      ["ok+first-token-3s", 2_999, 9_000, [undefined, 2_999, "timeout, false", 0]],
      ["ok+delay-500ms", 9_000, 500, [0, 16_000, "Completed", 1]],
      ["ok+delay-500ms", 9_000, 499, [0, 499, "timeout, true", 1]],
      ["stall", 2_000, 500, [undefined, 2_000, "timeout, false", 0]],
      ["stall-after-3", 9_000, 4_000, [0, 4_067, "timeout, true", 1]],
      ["cut-after-3", 9_000, 4_000, [0, 67, "network, true", 1]],
      ["529", 9_000, 4_000, [undefined, 0, "overloaded, false", 0]]
    ]
    for (const [script, firstContentMs, idleMs, expected] of cases)
      assert.deepStrictEqual(reply(script, firstContentMs, idleMs), expected, script)
  })

  it("are for one model, one provider, or every endpoint, the narrowest first", () => {
    const other = { ...MODEL, model: "n" }
    const foreign = { provider: "two", model: "m" }
    const outages = of("one/m=529", "one=502", "503")
    const scripts = [MODEL, other, foreign].map((target) => OutageScripts.scriptOf(outages, target))
    assert.deepStrictEqual(scripts, ["529", "502", "503"])
    const described = (...texts: ReadonlyArray<string>) =>
      [MODEL, other, foreign].map((target) => OutageScripts.describes(of(...texts), target))
    const names = [described("one/m=529"), described("one=529"), described("529"), OutageScripts.names(outages)]
    assert.strictEqual(names.join("; "), "true,false,false; true,true,false; true,true,true; one/m,one")
    const words = OutageScripts.describe(outages).map((text) => /^one(?:\/m)?: /.exec(text)?.[0])
    assert.deepStrictEqual(words, ["one/m: ", "one: ", undefined])
    const refused = (...texts: ReadonlyArray<string>) => OutageScripts.read(texts)
    assert.isTrue(Result.isSuccess(refused("ok+tokens-10000")))
    const tooLong = '"ok+tokens-10001": an answer of a dry run has 10000 tokens at most.'
    assert.deepStrictEqual(refused("ok+tokens-10001"), Result.fail(tooLong))
    assert.deepStrictEqual(refused("one=ok", "one=529"), Result.fail("one has two scripts."))
  })
})

describe("the summary of a run", () => {
  it("has the ends, the waits, the calls of each endpoint, the reasons of failures, and the tokens of answers", () => {
    const call = (outcome: "answered" | "failed" | "shared", target = "a/m", usage?: Message.Usage) =>
      ({ at: 0, endedAt: 1, target, outcome, ...defined({ usage }) }) as const
    const turn = (
      waits: ReadonlyArray<number>,
      calls: ReadonlyArray<ReturnType<typeof call>>,
      end?: DryTurnCourse.DryTurnCourse["end"]
    ) => ({
      turnId: "t",
      startedAt: 0,
      waits: waits.map((ms) => ({ from: 1, retryAt: ms, endedAt: ms + 1 })),
      calls,
      ...defined({ end })
    })
    const failed = { status: "failed", at: 8, because: "exhausted", reason: "overloaded" } as const
    const turns = [
      turn([], [], { status: "failed", at: 8, because: "no-answer" }),
      turn([5], [call("failed"), call("answered", "a/m", { inputTokens: 10, outputTokens: 5 })], {
        status: "completed",
        at: 9
      }),
      turn([3, 4, -2], [call("shared"), call("answered", "b/m")], { status: "completed", at: 7 }),
      turn([1], [call("failed"), call("failed", "b/m"), call("shared")], failed),
      turn([], [], failed),
      turn([], [call("answered", "b/m", { outputTokens: 2 })], { status: "aborted", at: 8 }),
      turn([2], [])
    ]
    const times = { startedAt: 1, endedAt: 10, firstAnswerAt: 7, lastAnswerAt: 9, cut: "calls" } as const
    const counts = { turns: 7, answered: 2, failed: 3, waiting: 1, aborted: 1, calls: 6, refused: 3, shared: 2 }
    const run = { startAt: 1, endAt: 10, turns, cut: "calls" } as const
    assert.deepStrictEqual(Trial.summaryOf(run, { "a/m": { input: 1e6, output: 0 } }), {
      ...times,
      ...counts,
      waitedMs: { median: 1, longest: 7, total: 15 },
      failures: [
        { because: "exhausted", reason: "overloaded", turns: 2 },
        { because: "no-answer", turns: 1 }
      ],
      endpoints: [
        { target: "a/m", calls: 3, answered: 1, failed: 2 },
        { target: "b/m", calls: 3, answered: 2, failed: 1 }
      ],
      tokens: { input: 10, output: 7, unknown: 1 },
      cost: { usd: 10, unknown: 2 }
    })
    assert.isUndefined(Trial.summaryOf({ startAt: 1, endAt: 10, turns: [turn([], [call("answered")])] }).tokens)
  })
})

// --- by hand

const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }
const shared: Failure.Failure = { ...overloaded, shared: true }
const ASKS = { because: "turn", tokens: 9, limit: 5, waitedMs: 0, message: "?" }

const chainedBy = (chains: { readonly [role: string]: ReadonlyArray<string> }, revert?: "never"): Night => ({
  ...plain,
  retry: { routing: { type: "fallback-chain", chains, ...defined({ revert }) } }
})

const record = (kind: Records.Kind, number: number, value: object) =>
  ({ kind, step: 0, number, value }) as Records.TurnRecord
const failed = (number: number, endedAt: number, failure = overloaded) =>
  record("Attempt", number, { _tag: "Failed", content: [], endedAt, failure, contentSeen: false, spread: 0 })
const TWO: Target.Target = { provider: "two", model: "x" }
const bad = { ...overloaded, reason: "bad-request", retryable: false } as const
/** A failure after the whole answer. */
const whole = ({ number, value }: Records.TurnRecord) => record("Attempt", number, { ...Object(value), whole: true })
const usage = { inputTokens: 100, outputTokens: 10 }
const content = [{ type: "text", text: "Yes" }]
const completed = (number: number, endedAt: number) =>
  record("Attempt", number, { _tag: "Completed", content, endedAt, finishReason: "stop", usage })
const retry = (number: number, delayMs: number, retryAt: number, more: object = {}) =>
  record("Decision", number, { _tag: "Retry", attempt: number, delayMs, retryAt, ...more })
const woken = (number: number, at: number) => record("Wake", number, { type: "elapsed", at })
const gaveUp = (number: number, because: "exhausted" | "not-retryable" = "exhausted") =>
  record("Decision", number, { _tag: "GiveUp", because })
const endOf = (id: string, status: TurnEvent.TurnStatus, endedAt: number): TurnEvent.TurnEnd =>
  GivenTurn.end(status, { conversationId: Ids.ConversationId.make(id), turnId: Ids.TurnId.make(id), endedAt })
const settings = { target: MODEL, retry: undefined, autoRetryEnabled: true, isSubmitted: false }
const turnOf = (
  id: string,
  records: ReadonlyArray<Records.TurnRecord>,
  end?: readonly [TurnEvent.TurnStatus, number],
  acceptedAt = 0
): RecordedTurn => ({
  turnId: Ids.TurnId.make(id),
  conversationId: Ids.ConversationId.make(id),
  ...settings,
  acceptedAt,
  records,
  end: end && endOf(id, ...end)
})
const recordingOf = (...turns: ReadonlyArray<RecordedTurn>): Recording => ({ turns, without: 0, isCut: false })

/** By a policy with three retries: fails at 14 s. */
const waits = [2_000, 6_000, 14_000].flatMap((at, n) => {
  const delay = 2_000 * 2 ** n
  return [failed(n, at - delay), retry(n, delay, at), woken(n, at)]
})
const impatient = turnOf("impatient", [...waits, failed(3, 14_000), gaveUp(3)], ["failed", 14_000])

describe("the course of a turn", () => {
  it("has its waits as commands moved them, its calls, and why it gave up", () => {
    const by = { commandId: "k", origin: "HTTP" }
    const moved = (at: number, until: number) => record("Wake", 0, { type: "until", at, until, by })
    const asked = record("Wake", 0, { type: "asked", at: 9_001, until: 11_000, asks: ASKS })
    const waited = [failed(0, 100), retry(0, 2_000, 2_100), moved(500, 9_000), asked, woken(0, 11_001)]
    const early = [
      failed(1, 11_050),
      retry(1, 1_000, 12_050),
      record("Wake", 1, { type: "now", early: true, at: 11_090 })
    ]
    // A call for a summary is none of the turn's calls.
    const summary = record("Compaction", 3, { _tag: "Failed", failure: overloaded, endedAt: 11_150 })
    const records = [...waited, ...early, failed(2, 11_100, shared), summary]
    const courseOf = (status: TurnEvent.TurnEnd["status"], more: ReadonlyArray<Records.TurnRecord> = [gaveUp(2)]) =>
      DryTurnCourse.of(
        { turnId: "t", startedAt: 7, target: MODEL, records: [...records, ...more], end: endOf("t", status, 11_200) },
        true
      ).course
    const target = Target.format(MODEL)
    assert.deepStrictEqual(courseOf("failed"), {
      turnId: "t",
      startedAt: 7,
      calls: [
        { at: 7, endedAt: 100, target, outcome: "failed", reason: "overloaded" },
        { at: 11_001, endedAt: 11_050, target, outcome: "failed", reason: "overloaded" },
        { at: 11_090, endedAt: 11_100, target, outcome: "shared", reason: "overloaded" }
      ],
      waits: [
        { from: 100, retryAt: 2_100, endedAt: 500 },
        { from: 500, retryAt: 9_000, endedAt: 9_001 },
        { from: 9_001, retryAt: 11_000, endedAt: 11_001 },
        { from: 11_050, retryAt: 12_050, endedAt: 11_090, early: true }
      ],
      end: { status: "failed", at: 11_200, because: "exhausted", reason: "overloaded" }
    })
    assert.deepStrictEqual(courseOf("aborted").end, { status: "aborted", at: 11_200 })
    assert.deepStrictEqual(courseOf("failed", []).end, { status: "failed", at: 11_200, because: "no-answer" })
  })
})

/** Another turn finds the endpoint down at ten minutes, and answering at twenty, after 3 s. */
const later = turnOf(
  "later",
  [failed(0, 10 * MINUTE), retry(0, 10 * MINUTE, 20 * MINUTE), woken(0, 20 * MINUTE), completed(1, 1_203_000)],
  ["completed", 1_203_000],
  10 * MINUTE
)

/** What every replay assumes. */
const ALWAYS = [
  "An endpoint is down between two failed calls, and up from its first successful call until the next that failed.",
  "Conversations keep their models and their own settings; a command of a person counts until its turn goes another way."
]

const BEYOND = "one/m is assumed to be as its nearest call found it: 2 calls were before its first or after its last."

describe("a replay under another configuration", () => {
  It.effect(
    "rule X10: a turn that had failed waits on while the endpoint is down, and is answered after that",
    function* () {
      const { assumptions, turns, was, would } = yield* replay(recordingOf(impatient, later), plain)
      assert.deepStrictEqual(assumptions, [...ALWAYS, BEYOND])
      assert.strictEqual(was.turns[0]?.end?.status, "failed")
      const course = would.turns[0] ?? assert.fail("it is missing")
      // The overnight schedule: 5 s, 10 s, 30 s, 1 min, 5 min, 10 min, 15 min. The sixth wait ends at 16 min 45 s, the seventh at 31 min 45 s.
      const calls = course.calls.map(({ at, outcome }) => (outcome === "failed" ? at : `${at} ${outcome}`))
      assert.deepStrictEqual(calls, [0, 5_000, 15_000, 45_000, 105_000, 405_000, 1_005_000, "1905000 answered"])
      // An answer takes as long as the endpoint's nearest.
      assert.deepInclude(course.end, { status: "completed", at: 1_908_000 })
      assert.deepStrictEqual(turns[0]?.followed, { decisions: 0, leftAt: 0 })
      assert.deepInclude(Trial.summaryOf(would), { answered: 2, failed: 0 })
      // The tokens of the answer that was never given are not known.
      assert.isUndefined(course.calls.at(-1)?.usage)
      const prices = { [Target.format(MODEL)]: { input: 10, output: 100 } }
      for (const [unknown, of] of [was, would].entries()) {
        const used = { tokens: { input: 100, output: 10, unknown }, cost: { usd: 0.002, unknown } }
        assert.deepInclude(Trial.summaryOf(of, prices), used)
      }
      assert.deepInclude(Trial.summaryOf(was), { cost: { unknown: 1 } })
      // A gate lets it in when another turn is answered as its record has it.
      const other = turnOf("other", [completed(0, 203_000)], ["completed", 203_000], 200_000)
      const gated = yield* replay(recordingOf(impatient, other), { ...plain, isGated: true })
      assert.deepInclude(gated.would.turns[0]?.end, { status: "completed", at: 206_000 })
      // Of a crowd that has left its record it lets in as many as there is room for.
      const crowd = Array.from({ length: 12 }, (_, n) => turnOf(`crowd-${n}`, [failed(0, 0)]))
      const crowded = yield* replay(recordingOf(...crowd, other), { ...plain, isGated: true })
      const ends = crowded.would.turns.map(({ end }) => (end?.at ?? 0) / 1_000 - 200).join(" ")
      assert.strictEqual(ends, "6 9 6 9 6 9 6 9 9 6 6 9 3")
      const [first] = crowded.would.turns.map(({ calls }) =>
        calls.flatMap(({ at, outcome }) => [at / 1_000, outcome[0]])
      )
      assert.strictEqual(first?.join(" "), "0 f 5 f 15 f 23.541 f 45 f 105 s 203 a")
    }
  )

  It.effect("rule X10: lists the targets that the record has no call of, and an outage describes them", function* () {
    const chained = chainedBy({ default: ["two/x"] })
    const open = yield* replay(recordingOf(impatient, later), chained)
    assert.deepInclude(open.would.turns[0]?.end, { status: "completed", at: 0 })
    assert.deepStrictEqual(open.assumptions, [
      ...ALWAYS,
      "two/x is assumed to answer at once: 2 calls, and the record has none. --outage 'two/x=SCRIPT' describes it."
    ])
    const described = yield* replay(recordingOf(impatient, later), chained, ["two=529 for 1h"])
    assert.isAbove(described.would.turns[0]?.end?.at ?? 0, 20 * MINUTE)
    assert.deepStrictEqual(described.assumptions, [...ALWAYS, BEYOND])
  })

  It.effect("counts the calls after an endpoint's last one, which nothing on record answers", function* () {
    const { assumptions, would } = yield* replay(recordingOf(impatient), plain, [], 60_000)
    assert.strictEqual(would.turns[0]?.end?.status, "failed")
    assert.deepStrictEqual(assumptions, [...ALWAYS, BEYOND.replace("2 calls", "20 calls")])
    const before = yield* replay(recordingOf(turnOf("new", []), later), plain)
    assert.deepStrictEqual(before.assumptions, [...ALWAYS, BEYOND.replace("2 calls", "8 calls")])
    const reply = () => undefined
    const replies = (n: number) => ({ reply, unknown: new Map([["a/m", n]]), beyond: new Map([["b/m", n]]) })
    const assumed = (n: number, isCut: boolean, spend?: Trial.Configured["spend"]) =>
      Replay.assumptions(
        { turns: [], without: n, isCut },
        [1, 2].map(() => ({ replies: replies(n), turns: [] })),
        [{ spend: [] }, defined({ spend })]
      ).slice(2)
    assert.deepStrictEqual(assumed(1, true, [{ per: "day", tokens: 1, then: "fail" }]), [
      "b/m is assumed to be as its nearest call found it: 1 call was before its first or after its last.",
      "a/m is assumed to answer at once: 1 call, and the record has none. --outage 'a/m=SCRIPT' describes it.",
      "A limit of spending (spend) is reached where the record has it, and nowhere else.",
      "1 turn is left out, because its records are gone (database.retention) or cannot be read.",
      "The oldest turns are left out: there are more than are read at once."
    ])
    const without = "2 turns are left out, because their records are gone (database.retention) or cannot be read."
    assert.strictEqual(assumed(2, false).at(-1), without)
    assert.lengthOf(assumed(0, false), 2)
  })

  It.effect("rule X10: ends after its most calls and at its end, each included", function* () {
    const open = recordingOf(turnOf("open", [failed(0, 0)]))
    const by: Night = { ...plain, retry: { profile: "interactive" } }
    const endAt = (until: number, most: number) =>
      Effect.map(replay(open, by, [], until - 48 * HOUR, most), ({ would }) => `${would.cut} ${would.endAt}`)
    const ends = yield* Effect.all([endAt(HOUR, 2), endAt(HOUR, 3), endAt(14_000, 9), endAt(13_999, 9)])
    assert.deepStrictEqual(ends, ["calls 6000", "undefined 14000", "undefined 14000", "time 13999"])
  })

  It.effect("a turn that was aborted is aborted at the same time, unless it has ended", function* () {
    const aborted = (at: number) => turnOf("aborted", [failed(0, 0), retry(0, 2_000, 2_000)], ["aborted", at])
    const [early, late] = yield* Effect.forEach([30 * MINUTE, 40 * MINUTE], (at) =>
      Effect.map(replay(recordingOf(aborted(at), later), plain), ({ would }) => would)
    )
    assert.deepStrictEqual(early?.turns[0]?.end, { status: "aborted", at: 30 * MINUTE })
    assert.deepInclude(late?.turns[0]?.end, { status: "completed" })
  })

  It.effect("a turn whose record ends before the turn does ends as it did, or goes on by itself", function* () {
    const records = [failed(0, 0), retry(0, 5_000, 5_000)]
    for (const length of [0, 1, 2]) {
      const cut = (end?: Parameters<typeof turnOf>[2]) =>
        replay(recordingOf(turnOf("cut", records.slice(0, length), end), later), plain)
      const aborted = yield* cut(["aborted", 3_000])
      assert.deepStrictEqual(aborted.would.turns[0]?.end, { status: "aborted", at: 3_000 })
      assert.isUndefined(aborted.turns[0]?.followed.leftAt)
      const open = yield* cut()
      assert.deepStrictEqual(open.turns[0]?.followed, { decisions: length === 2 ? 1 : 0, leftAt: 0 })
      assert.deepStrictEqual(open.would.turns[0]?.end, { status: "completed", at: 1_908_000 })
      const { was } = yield* cut(["failed", 3_000])
      assert.deepStrictEqual(was.turns[0]?.end, { status: "failed", at: 3_000, because: "no-answer" })
      const { would } = yield* cut(["completed", 3_000])
      assert.strictEqual(would.turns[0]?.end?.status, "completed")
    }
  })

  It.effect("the next turn of a conversation begins when the one before it ends", function* () {
    const second: RecordedTurn = {
      ...turnOf("second", [completed(0, 16_000)], ["completed", 16_000], 1_000),
      conversationId: impatient.conversationId
    }
    const elsewhere = { ...turnOf("elsewhere", [], undefined, 1_000), target: TWO }
    const { was, would } = yield* replay(recordingOf(impatient, second, elsewhere, later), plain)
    assert.strictEqual(was.turns[1]?.calls[0]?.at, 14_000)
    assert.deepStrictEqual(would.turns[2]?.end, { status: "completed", at: 1_000 })
    // The endpoint was up for the second turn at 14 s, so the first is answered at 15 s, within 2 s as the second was.
    assert.deepInclude(would.turns[0]?.end, { status: "completed", at: 17_000 })
    assert.deepInclude(would.turns[1]?.calls[0], { at: 17_000, usage })
  })

  It.effect("rule X10: a turn whose conversation had used another model follows its record", function* () {
    const route = record("Route", 0, { route: { target: MODEL }, from: "two/x" })
    const changed = turnOf("changed", [route, completed(0, 1_000)], ["completed", 1_000])
    const { turns, was, would } = yield* replay(recordingOf(changed), plain)
    assert.isUndefined(turns[0]?.followed.leftAt)
    assert.deepStrictEqual(would.turns, was.turns)
    assert.deepInclude(would.turns[0]?.end, { status: "completed", at: 1_000 })
    // Rule P9: it continues where its conversation was.
    const there = record("Route", 0, { route: { target: TWO, role: "default" }, from: "two/x" })
    const stays = recordingOf(turnOf("stays", [there, completed(0, 1_000)], ["completed", 1_000]))
    const { turns: stayed } = yield* replay(stays, chainedBy({ default: ["two/x"] }, "never"))
    assert.deepStrictEqual(stayed[0]?.followed, { decisions: 0 })
  })

  It.effect("rule X10: follows tools, lost attempts and rejected answers, up to what differs", function* () {
    const call = { type: "tool-call", toolCallId: "c", toolName: "look", input: {} }
    const calls = record("Attempt", 0, { _tag: "Completed", content: [call], endedAt: 500, finishReason: "tool-calls" })
    const busy = failed(0, 500)
    const tool = record("Tool", 0, { content: "Here", isError: false, endedAt: 4_000 })
    const lost = record("Attempt", 0, { _tag: "Lost", endedAt: 500 })
    const wrong = failed(0, 500, bad)
    const refused = failed(1, 9_000, bad)
    const waited = [woken(0, 5_500), completed(1, 9_000)]
    const after = [retry(0, 5_000, 5_500), completed(1, 9_000)]
    const switchedOff = { _tag: "Refused", because: "switched-off", spent: { sleptMs: 0, elapsedMs: 0 } }
    const asRecorded: ReadonlyArray<ReadonlyArray<Records.TurnRecord>> = [
      [calls, tool, { ...completed(0, 9_000), step: 1 }],
      [lost, completed(1, 9_000)],
      [whole(busy), retry(0, 5_000, 5_500), ...waited],
      [busy, retry(0, 5_000, 5_500), ...waited],
      [busy, retry(0, 5_001, 5_500), ...waited],
      [busy, retry(1, 5_000, 5_500), ...waited],
      [busy, retry(0, 5_000, 5_500, { attempt: 1 }), ...waited],
      [busy, gaveUp(0), completed(1, 9_000)],
      [wrong, gaveUp(0, "not-retryable"), completed(1, 9_000)],
      [wrong, gaveUp(0), completed(1, 9_000)],
      // Its end was on disk later than its last record.
      [wrong, gaveUp(0, "not-retryable"), record("Seal", 0, {})],
      [wrong, gaveUp(0), record("Content", 0, {})],
      [completed(0, 500)],
      // What it met itself comes again.
      [busy, retry(0, 5_001, 5_500), woken(0, 5_500), refused, gaveUp(1, "not-retryable")],
      [busy, record("Decision", 0, { _tag: "GiveUp", because: "exhausted", basis: switchedOff })],
      [busy, record("Wake", 0, { type: "asked", at: 5_500, until: 7_000, asks: ASKS }), ...after],
      [calls],
      [
        busy,
        retry(0, 5_001, 5_500),
        woken(0, 5_500),
        { ...calls, number: 1 },
        tool,
        { ...completed(0, 9_000), step: 1 }
      ],
      [
        calls,
        record("Wake", 0, { type: "asked", at: 600, until: 9_000, asks: { ...ASKS, because: "tools", calls: [call] } })
      ],
      [record("Route", 0, { route: { target: TWO } }), completed(0, 9_000)]
    ]
    const early = [busy, record("Wake", 0, { type: "now", early: true, at: 3_000 }), ...after]
    const held = [busy, record("Wake", 0, { type: "elapsed", heldMs: 500, at: 6_000 }), ...after]
    const met = [failed(0, 500, shared), woken(0, 5_500), ...after]
    const followed: Array<string> = []
    const byGate = [early, held, met]
    for (const [n, records] of [...asRecorded, ...byGate, ...byGate].entries()) {
      const recording = recordingOf(turnOf("t", records, ["completed", 9_000]))
      const { turns, would } = yield* replay(recording, { ...plain, isGated: n >= asRecorded.length + byGate.length })
      const [course] = would.turns
      followed.push(`${Object.values(turns[0]?.followed ?? {}).join("-")} ${course?.calls.length} ${course?.end?.at}`)
    }
    // The decisions that were made again, when it left its record, its calls, and its end.
    const left = "0-500 3 19499, 0-500 2 9000, 0-500 2 9000, 0-500 2 14000, 1 1 500, 0-500 1 500, 1 1 9000"
    const over =
      "0-9000 1 9000, 0 1 9000, 0-500 2 8999, 1 1 9000, 1-5500 2 9000, 0-9000 2 9500, 0-500 4 19499, 0-500 2 1000"
    const gates = "0-0 1 9000, 1-500 2 11500, 1-500 3 19000, 0-0 1 3500, 1 2 9000, 1 2 9000, 1 2 9000"
    const all = ["0 2 9000, 0 1 9000, 1 2 9000, 1 2 9000", left, over, gates].join(", ")
    assert.strictEqual(followed.join(", "), all)
  })

  It.effect("rule C12: an answer on record ends a pause for other turns, and a failure does not", function* () {
    const back = [failed(0, 10_000), retry(0, 0, 10_000, { route: { target: MODEL } }), completed(1, 12_000)]
    const moved = { ...turnOf("moved", back, ["completed", 12_000], 10_000), target: TWO }
    const answers = [completed(1, 8_000), whole(failed(1, 8_000)), failed(1, 8_000, bad)]
    const followed = yield* Effect.forEach(answers, (last) => {
      const first = turnOf("t", [failed(0, 0), retry(0, 5_000, 5_000), woken(0, 5_000), last])
      return Effect.map(
        replay(recordingOf(first, moved), chainedBy({ "two/x": ["one/m"] })),
        ({ turns }) => turns[1]?.followed
      )
    })
    assert.deepStrictEqual(followed, [{ decisions: 1 }, { decisions: 1 }, { decisions: 0, leftAt: 10_000 }])
    // A rejected answer stays where it is, whether the record names that or not.
    const stayed = yield* Effect.forEach([TWO, MODEL], (target) => {
      const moves = [failed(0, 500), retry(0, 0, 500, { route: { target: TWO } })]
      const stays = [whole(failed(1, 1_000)), retry(1, 10_000, 11_000, { route: { target } }), woken(1, 11_000)]
      const turn = turnOf("t", [...moves, ...stays, completed(2, 12_000)], ["completed", 12_000])
      return Effect.map(replay(recordingOf(turn), chainedBy({ default: ["two/x"] })), ({ turns }) => turns[0]?.followed)
    })
    assert.deepStrictEqual(stayed, [{ decisions: 2 }, { decisions: 1, leftAt: 1_000 }])
  })

  It.effect("rule D4: a turn that meets a failure after content gives up, also without that content", function* () {
    const ends = yield* Effect.forEach([[], content], (content) => {
      const value = { ...Object(failed(0, MINUTE).value), content, contentSeen: true }
      const met = recordingOf(turnOf("new", []), turnOf("cut", [record("Attempt", 0, value)]))
      return Effect.map(replay(met, plain), ({ would }) => would.turns[0]?.end)
    })
    const end = { status: "failed", at: MINUTE, because: "after-content", reason: "overloaded" } as const
    assert.deepStrictEqual(ends, [end, end])
  })

  It.effect("a failure of the request itself stays with its turn", function* () {
    const tooLong: Failure.Failure = { reason: "bad-request", message: "no", retryable: false, status: 400 }
    const records = [failed(0, 500, tooLong), gaveUp(0, "not-retryable")]
    const wrong = turnOf("wrong", records, ["failed", 500])
    const { would } = yield* replay(recordingOf(wrong, later), { ...plain, retry: { budget: Duration.hours(1) } })
    assert.deepInclude(would.turns[0]?.end, { status: "failed", at: 500, because: "not-retryable" })
    assert.strictEqual(would.turns[1]?.end?.status, "completed")
  })
})
