/** Tests dry runs for clients of the service. */
import { assert, describe } from "@effect/vitest"
import { DryRunGroup } from "@holdfast/wire/api"
import { Effect, Layer } from "effect"
import type { InvalidRequest } from "../../../src/engine/conversation/Conversations.ts"
import { Config, type Values } from "../../../src/config/Config.ts"
import * as DryRuns from "../../../src/insight/dry-run/DryRuns.ts"
import { Lists } from "../../../src/storage/Lists.ts"
import type { Recording } from "../../../src/storage/Recording.ts"
import { configOf, plain, recorded } from "./Beside.ts"
import * as It from "../../It.ts"

const config = configOf({ ...plain, isGated: true })

const NO_RECORD: Recording = { turns: [], without: 0, isCut: false }

/** Over the parts that it reads. */
const layerOf = (reading: Effect.Effect<Recording>, over: Partial<Values> = {}) =>
  Layer.provide(DryRuns.layer, [
    Layer.succeed(Config, { ...config, ...over } as Values),
    Layer.succeed(Lists, { recording: () => reading } as unknown as Lists["Service"])
  ])

const run = (request: DryRunGroup.RunDryRun, recording = NO_RECORD, over?: Partial<Values>) =>
  Effect.provide(
    Effect.flatMap(DryRuns.DryRuns, ({ run }) => run(request)),
    layerOf(Effect.succeed(recording), over)
  )

describe("POST /v1/dry-run", () => {
  It.live("rule X10: has the figures, the outages in words, what was assumed, and a picture on request", function* () {
    const answer = yield* run({ outages: ["529 for 2h"], turns: 30, picture: true })
    const { endedAt, firstAnswerAt = 0, lastAnswerAt = 0, startedAt, ...report } = answer.report
    const waitedMs = { median: 7_275_000, longest: 7_305_000, total: 218_280_000 }
    const endpoints = [{ target: "one/m", calls: 149, answered: 30, failed: 119 }]
    const counts = { turns: 30, answered: 30, failed: 0, waiting: 0, calls: 149, refused: 119, shared: 205 }
    assert.deepStrictEqual(report, { ...counts, waitedMs, failures: [], endpoints })
    const times = [firstAnswerAt, lastAnswerAt, endedAt].map((at) => at - startedAt)
    assert.deepStrictEqual(times, [7_306_400, 7_306_467, 7_306_467])
    assert.match(answer.outages[0] ?? "", /^Each turn meets a 529 \(overloaded\) for 2 h by the clock/)
    const assumed = "One process runs all turns, no client watches or sends a command, and a tool succeeds at once."
    assert.deepStrictEqual(answer.assumptions, [assumed])
    assert.match(answer.svg ?? "", /^<svg [^]*>30 turns of one\/m<[^]*>turn-1<[^]*>turn-30</)
    const other = yield* run({ outages: ["529 for 2h"], turns: 30, retry: { profile: "interactive" } })
    assert.deepInclude(other.report, { answered: 0, failed: 30 })
    assert.deepInclude(other.report.failures[0], { because: "max-retries", reason: "overloaded", turns: 30 })
    assert.isUndefined(other.svg)
    // A simulated provider stands for a real one, with a gate.
    const providers: Values["providers"] = new Map([["simulated", { type: "simulated", name: "simulated" }]])
    const simulated = { model: { provider: "simulated", model: "steady" }, providers }
    const { shared } = (yield* run({ outages: ["529 for 2h"], turns: 30 }, NO_RECORD, simulated)).report
    assert.strictEqual(shared, counts.shared)
  })

  It.live("rule X5: a new turn shares a failure only if it would try again", function* () {
    const counts = yield* Effect.forEach([{ enabled: false }, { maxRetries: 1 }], (retry) =>
      Effect.map(run({ outages: ["one=529 for 2h"], turns: 30, retry }), ({ report }) => [report.calls, report.shared])
    )
    assert.deepStrictEqual(counts.flat(), [30, 0, 52, 8])
  })

  It.live("rule X15: no client stays for the answer of a new turn, so an answer that is cut begins anew", function* () {
    const { report } = yield* run({ outages: ["cut-after-3,ok"] })
    assert.deepInclude(report, { turns: 1, answered: 1, calls: 2, refused: 1 })
  })

  It.live("rule X10: ends after 48 hours, unless others are asked for", function* () {
    const { report } = yield* run({ outages: ["529 for 100h"], retry: { budget: "Infinity" } })
    assert.deepInclude(report, { waiting: 1, cut: "time", endedAt: report.startedAt + 48 * 3_600_000 })
  })

  It.live("rule X10: ends before long answers take all memory", function* () {
    const { report } = yield* run({ outages: ["ok+tokens-10000"], turns: 1_000 })
    assert.strictEqual(report.cut, "calls")
    assert.isBelow(report.calls, 1_000)
    const refused = yield* Effect.flip(run({ outages: ["cut-after-10001"] }))
    assert.match(refused.message, /an answer of a dry run has 10000 tokens at most/)
  })

  It.live("rule X10: a policy that hardly waits ends after the most calls, those of the gate too", function* () {
    const schedule = { type: "steps", delays: ["1 millis"] }
    const { report } = yield* run({ outages: ["529 for 100h"], turns: 1_000, hours: 168, retry: { schedule } })
    assert.strictEqual(report.cut, "calls")
    assert.closeTo(report.calls + report.shared, DryRunGroup.MOST_CALLS, 1_000)
  })

  It.live("rule X10: has two policies side by side, with limits of spending, and how they are counted", function* () {
    const spend = [{ per: "day", tokens: 1, then: "fail" }] as const
    const against = { retry: { profile: "interactive" } }
    const answer = yield* run({ outages: ["529 for 2h"], turns: 5, against, picture: true }, NO_RECORD, { spend })
    // Five turns that wait together are called before the first answer has used a token.
    const { answered = 0, failed = 0, failures } = answer.report
    assert.isAbove(answered, 0)
    assert.strictEqual(answered + failed, 5)
    assert.isTrue(failures.every(({ reason }) => reason === "quota-exhausted"))
    assert.deepInclude(answer.against, { answered: 0, failed: 5 })
    assert.lengthOf(answer.assumptions, 2)
    assert.match(answer.assumptions.join(" "), /Limits of spending \(spend\) count the tokens of the simulated answers/)
    assert.match(answer.svg ?? "", /overnight[^]*interactive/)
    const apart = yield* run({ outages: ["529 for 1s"], turns: 2, withinMs: 3_600_000 }, NO_RECORD, { spend })
    assert.deepInclude(apart.report, { answered: 1, failed: 1 })
    const alike = yield* run({ outages: ["529 for 2h"], against: { retry: { budget: "1 hour" } }, picture: true })
    assert.match(alike.svg ?? "", />overnight<[^]*>overnight, changed</)
  })

  It.effect("rule X10: replays the record by two policies, with the turns that end otherwise", function* () {
    const recording = yield* recorded({ ...plain, outages: ["529 for 2h"], turns: 3, gapMs: 1_000, isGated: true })
    const against = { retry: { profile: "interactive" } }
    const { replay, ...answer } = yield* run({ replay: { since: 0 }, against, picture: true }, recording)
    assert.deepInclude(answer.report, { turns: 3, answered: 3, failed: 0 })
    assert.deepInclude(answer.against, { turns: 3, answered: 0, failed: 3 })
    const { was = assert.fail("it has no record"), ...rest } = replay ?? {}
    assert.deepStrictEqual(rest, { followed: 3, decisions: 31, changed: 0, changes: [] })
    assert.deepInclude(was, { turns: 3, answered: 3, calls: 33, refused: 30, shared: 1 })
    assert.match(answer.svg ?? "", /^<svg [^]*>3 turns, replayed</)
    const other = yield* run({ replay: { since: 0 }, outages: ["two/z=ok"], ...against }, recording)
    const ended = { status: "completed", at: was.endedAt }
    const would = [14_000, 15_000, 16_000].map((at) => ({ status: "failed", at }))
    const changes = would.map((would, n) => ({ turnId: `turn-${n}`, was: ended, would }))
    assert.deepStrictEqual<unknown>(other.replay, { was, followed: 0, decisions: 0, changed: 3, changes })
    assert.isAbove(other.assumptions.length, 1)
    const spend = [{ per: "day", tokens: 1, then: "fail" }] as const
    const limited = yield* run({ replay: { since: 0 } }, recording, { spend })
    const reached = "A limit of spending (spend) is reached where the record has it, and nowhere else."
    assert.include(limited.assumptions, reached)
    assert.notInclude(other.assumptions, reached)
    const moved = yield* run({ replay: { since: 0 }, model: "two/x" }, recording)
    assert.deepStrictEqual(moved.report.endpoints, [{ target: "two/x", calls: 3, answered: 3, failed: 0 }])
    assert.match(moved.assumptions.join(" "), /two\/x is assumed to answer at once: 3 calls/)
  })

  It.effect("DryRuns.N1: one runs at a time: the next reads its record when the one before has ended", function* () {
    const recording = yield* recorded({ ...plain, outages: ["529"], isGated: true })
    const order: Array<string> = []
    const reading = Effect.sync(() => void order.push("begins")).pipe(
      Effect.andThen(Effect.yieldNow),
      Effect.as(recording)
    )
    const { run } = yield* Effect.provide(DryRuns.DryRuns, layerOf(reading))
    const one = Effect.tap(run({ replay: { since: 0 } }), () => Effect.sync(() => order.push("ends")))
    yield* Effect.all([one, one, one], { concurrency: "unbounded" })
    assert.deepStrictEqual(order, ["begins", "ends", "begins", "ends", "begins", "ends"])
  })

  It.live("names what was wrong, where, and what was expected", function* () {
    const [expected, empty] = ['expected "provider/model"', { replay: { since: 0 } }]
    const routing = { type: "fallback-chain", chains: { default: ["four/m"] } }
    const refusals: ReadonlyArray<readonly [Partial<DryRunGroup.RunDryRun>, string]> = [
      [{ outages: ["ok", "529"] }, "outages: there are two scripts for every endpoint."],
      [{ outages: ["529 fro 7h"] }, 'outages: "529 fro 7h", character 1: "529 fro 7h" is not valid. Expected phases'],
      [{ outages: ["four=529"] }, 'outages: no turn calls "four"; expected one of one, one/m.'],
      [{ outages: ["two/z=ok"] }, 'outages: no turn calls "two/z"; expected one of one, one/m.'],
      [{ model: "four/m" }, `model: ${expected} with a provider of the configuration (one, two, three), got "four/m".`],
      [{ retry: { budgt: "1 hour" } }, "retry.budgt"],
      [{ against: { retry: { budgt: "1 hour" } } }, "against.retry.budgt"],
      [{ against: { model: "four/m" } }, `against.model: ${expected}`],
      [{ outages: [] }, "outages: expected at least one, such as `529 for 7h`, or `replay`"],
      [{ replay: { since: 0 }, turns: 5 }, "turns: expected none: a replay has the turns of the record."],
      [{ replay: { since: 0 }, withinMs: 5 }, "withinMs: expected none"],
      [{ outages: ["529"], replay: { since: 0 } }, "outages: a replay has the record's outages"],
      [{ outages: [], ...empty }, "replay.since: no turn was accepted or ended since then, and none is open."],
      [{ retry: { routing } }, "retry.routing.chains.default"]
    ]
    for (const [request, message] of refusals) {
      const refused = yield* Effect.flip(run({ outages: ["529"], ...request }))
      assert.include(refused.message, message)
      const [fault] = (refused as InvalidRequest).faults ?? []
      assert.isTrue(refused.message.startsWith(`${fault?.path}: ${fault?.message}`), refused.message)
    }
  })
})
