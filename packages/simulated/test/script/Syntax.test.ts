import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import * as Description from "../../src/script/Description.ts"
import * as ErrorBody from "../../src/ErrorBody.ts"
import * as Notation from "./Notation.ts"
import { Only, Outcome, make, once, Until } from "../../src/script/Script.ts"
import * as Syntax from "../../src/script/Syntax.ts"
import * as Arbitrary from "../ScriptArbitrary.ts"

const parse = (name: string) => Result.getOrThrow(Syntax.parse(name))
const status = (status: number) => Outcome.Status({ status, body: ErrorBody.ofStatus(status), headers: [] })

describe("Syntax", () => {
  it("a formatted script is parsed as the same script", () => {
    fc.assert(
      fc.property(Arbitrary.script, (script) => {
        assert.deepStrictEqual(parse(Notation.format(script)), script)
      }),
      { numRuns: 5_000 }
    )
  })

  it("every valid text has a description, and every invalid one is rejected with the valid parts", () => {
    const nearly = fc
      .tuple(Arbitrary.script.map(Notation.format), fc.nat(), fc.string({ maxLength: 3 }))
      .map(([name, at, slip]) => name.slice(0, at % (name.length + 1)) + slip + name.slice(at % (name.length + 1)))
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), nearly), (name) => {
        const read = Syntax.parse(name)
        if (Result.isSuccess(read)) assert.match(Description.describe(read.success), /^Each turn .*\.$/su)
        else assert.include(read.failure.message, Syntax.HELP)
      }),
      { numRuns: 5_000 }
    )
  })

  it("statuses apply in order, each to its number of requests", () => {
    assert.deepStrictEqual(parse("simulated/429x2;retry-after=7,502,ok").phases, [
      { outcome: Outcome.Status({ status: 429, body: "rate-limit", headers: [["retry-after", "7"]] }), times: 2 },
      once(status(502)),
      once(Outcome.Answer())
    ])
  })

  it("an error's name is its provider's status and body", () => {
    assert.deepStrictEqual(parse("outage-3").phases, [{ outcome: status(529), times: 3 }])
    assert.deepStrictEqual(parse("overloaded").phases, [once(status(529))])
    assert.deepStrictEqual(parse("quota").phases, [once(Outcome.Status({ status: 429, body: "quota", headers: [] }))])
    assert.deepStrictEqual(parse("429;body=overloaded").phases, [
      once(Outcome.Status({ status: 429, body: "overloaded", headers: [] }))
    ])
  })

  it("values are percent-encoded", () => {
    assert.deepStrictEqual(parse("500;text=a%2Cb%3D%2B;header:x-should-retry=false").phases, [
      once(Outcome.Status({ status: 500, body: { text: "a,b=+" }, headers: [["x-should-retry", "false"]] }))
    ])
  })

  it("a timed outage ends after a duration, at a time of day, or never", () => {
    assert.deepStrictEqual(parse("down-for-90s,down-until-07:00Z,down").phases, [
      once(Outcome.Down({ until: Until.Elapsed({ ms: 90_000 }) })),
      once(Outcome.Down({ until: Until.TimeOfDay({ minute: 420 }) })),
      once(Outcome.Down({ until: Until.Never() }))
    ])
  })

  it("any part may last by the clock", () => {
    assert.deepStrictEqual(parse("529 for 7h, ok for 10m,429 for 1h30m;retry-after=7,down until 06:30Z").phases, [
      { outcome: status(529), times: 1, span: Until.Elapsed({ ms: 25_200_000 }) },
      { outcome: Outcome.Answer(), times: 1, span: Until.Elapsed({ ms: 600_000 }) },
      {
        outcome: Outcome.Status({ status: 429, body: "rate-limit", headers: [["retry-after", "7"]] }),
        times: 1,
        span: Until.Elapsed({ ms: 5_400_000 })
      },
      { outcome: Outcome.Down({ until: Until.Never() }), times: 1, span: Until.TimeOfDay({ minute: 390 }) }
    ])
  })

  it("a failure may be of a share of the requests, or of those over a size: by the clock or for ever", () => {
    const only = (name: string) => parse(name).phases[0]
    assert.deepStrictEqual(parse("529 at 60% for 1h,503 over 10kB;retry-after=7").phases, [
      { outcome: status(529), times: 1, span: Until.Elapsed({ ms: 3_600_000 }), only: Only.Share({ percent: 60 }) },
      {
        outcome: Outcome.Status({ status: 503, body: "unavailable", headers: [["retry-after", "7"]] }),
        times: Infinity,
        only: Only.Over({ bytes: 10_000 })
      }
    ])
    assert.deepStrictEqual(only("down at 5%")?.outcome, Outcome.Down({ until: Until.Never() }))
    assert.deepStrictEqual(only("overloaded over 1000kB"), only("529 over 1MB"))
  })

  it("an error has the mistake and its position", () => {
    const mistake = (name: string) => {
      const { position, why } = Result.getOrThrow(Result.flip(Syntax.parse(name)))
      return [position, why]
    }
    assert.deepStrictEqual(mistake("429,529 for 8d"), [
      5,
      '"8d" is no duration of at most 7 days, such as 7h, 90s or 1h30m.'
    ])
    assert.deepStrictEqual(mistake("simulated/ok, 529 fro 7h"), [15, '"529 fro 7h" is not valid.'])
    assert.deepStrictEqual(mistake("529x3 for 7h"), [
      1,
      '"529x3" has a count or a time of its own, so it takes no share, no size and no time by the clock.'
    ])
    assert.deepStrictEqual(mistake("429;retry-after=7 for 1h"), [
      1,
      '"retry-after=7 for 1h": a share, a size or a time comes before the ";".'
    ])
    assert.deepStrictEqual(mistake("529 at 60 for 1h"), [1, '"60" is no share of the requests, from 1% to 100%.'])
    assert.deepStrictEqual(mistake("ok,529 over 10k"), [4, '"10k" is no size, such as 500B, 10kB or 1MB.'])
    assert.deepStrictEqual(mistake("429;retry-after=7 at 60%"), [
      1,
      '"retry-after=7 at 60%": a share, a size or a time comes before the ";".'
    ])
    assert.deepStrictEqual(mistake("ok at 40%"), [
      1,
      '"ok at 40%": the share or size is of a failure, such as 529 at 60%. Others are answered.'
    ])
    assert.deepStrictEqual(mistake("502+slow+fast"), [10, '"fast" after a "+" is not valid.'])
  })

  it("a delivery alone means an answer with it", () => {
    assert.deepStrictEqual(parse("slow"), make([once(Outcome.Answer())], { gapMs: 250 }))
    assert.deepStrictEqual(
      parse("502+rate-20+reasoning+tokens-500+first-token-3s"),
      make([once(status(502))], { gapMs: 50, reasoning: true, tokens: 500, firstTokenMs: 3000 })
    )
  })

  it.each([
    "",
    "simulated/",
    "gpt-5",
    "outage",
    "outage-0",
    "outage-10001",
    "429x0",
    "429x99999999999",
    "399",
    "600",
    "429;retry-atfer=7",
    "429;retry-after",
    "429;retry-after=7;retry-after=8",
    "429;retry-after=7;header:retry-after=8",
    "429;header:x=%0D%0Ainjected: yes",
    "429;body=nothing",
    "429;body=html;text=no",
    "429;text=100%",
    "429,",
    "ok;body=html",
    "down-for-9",
    "529 for",
    "529 for 8d",
    "529 until 7:00",
    "outage-2 for 1h",
    "529x1 for 1h",
    "529x* for 1h",
    "529x3 at 60%",
    "529 at 0%",
    "529 at 101%",
    "529 at 60% over 1kB",
    "529 over",
    "outage-2 over 10kB",
    "down-for-90s for 1h",
    "down-for-8d",
    "down-until-07:00",
    "down-until-24:00Z",
    "downx2",
    "cut-after-",
    "cut-after-100001",
    "error-in-stream;body=html",
    "tool-call;name=not a name",
    "502+fast",
    "502+tokens-0",
    "502++slow"
  ])("%j is refused", (name) => {
    const read = Syntax.parse(name)
    assert.isTrue(Result.isFailure(read))
    if (Result.isFailure(read)) assert.include(read.failure.message, `The model "${name}" does not exist`)
  })

  it("the error of a delivery among the phases names its position", () => {
    const read = Syntax.parse("502,reasoning")
    assert.isTrue(Result.isFailure(read))
    if (Result.isFailure(read)) assert.include(read.failure.message, '"reasoning" belongs after a "+".')
  })

  it("the whole error fits into a failure's message, even with a long name", () => {
    const read = Syntax.parse("x".repeat(200))
    assert.isTrue(Result.isFailure(read))
    if (Result.isFailure(read)) assert.isBelow(read.failure.message.length, 2_000)
  })
})
