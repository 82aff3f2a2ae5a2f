/** Generates scripts of every kind for property tests. */
import * as fc from "fast-check"
import * as ErrorBody from "../src/ErrorBody.ts"
import { Only, Outcome, make, type ScriptPhase, type Script, Until } from "../src/script/Script.ts"

const names = ErrorBody.NAMES.filter(ErrorBody.isName)
const after = fc.integer({ min: 0, max: 100_000 })
const ms = fc.integer({ min: 0, max: 7 * 24 * 3_600_000 })
const text = fc.string({ unit: "binary", maxLength: 40 })
const headerValue = fc.string({ unit: "grapheme-ascii", maxLength: 20 })
const headerName = fc.constantFrom("retry-after", "retry-after-ms", "x-should-retry", "date", "x-1")

const until = fc.oneof(
  fc.constant(Until.Never()),
  fc.record({ ms }).map((fields) => Until.Elapsed(fields)),
  fc.record({ minute: fc.integer({ min: 0, max: 24 * 60 - 1 }) }).map((fields) => Until.TimeOfDay(fields))
)

const status = fc
  .record({
    status: fc.integer({ min: 400, max: 599 }),
    body: fc.oneof(fc.constantFrom<ErrorBody.ErrorBody>(...names, "html", "empty"), fc.record({ text })),
    headers: fc.uniqueArray(fc.tuple(headerName, headerValue), { selector: ([name]) => name, maxLength: 3 })
  })
  .map((fields) => Outcome.Status(fields))

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  status,
  fc.constantFrom<Outcome>(
    Outcome.Answer(),
    Outcome.Reset(),
    Outcome.Pings(),
    Outcome.HalfToolCall(),
    Outcome.Refusal(),
    Outcome.NoStream({ body: "html" }),
    Outcome.NoStream({ body: "empty" })
  ),
  fc.record({ after, error: fc.constantFrom(...names) }).map((fields) => Outcome.StreamError(fields)),
  fc.record({ after }).map((fields) => Outcome.Cut(fields)),
  fc.record({ after }).map((fields) => Outcome.Ends(fields)),
  fc.record({ after: fc.option(after, { nil: undefined }) }).map((fields) => Outcome.Stall(fields)),
  fc
    .record({ name: fc.option(fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/), { nil: undefined }), input: text })
    .map((fields) => Outcome.ToolCall(fields)),
  fc.record({ until }).map((fields) => Outcome.Down(fields))
)

const times = fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.constant(Infinity))

const counted: fc.Arbitrary<ScriptPhase> = fc
  .record({ outcome, times })
  .map(({ outcome, times }) => ({ outcome, times: outcome._tag === "Down" ? 1 : times }))

const span = fc.oneof(
  fc.record({ ms }).map((fields) => Until.Elapsed(fields)),
  fc.record({ minute: fc.integer({ min: 0, max: 24 * 60 - 1 }) }).map((fields) => Until.TimeOfDay(fields))
)

const only = fc.oneof(
  fc.record({ percent: fc.integer({ min: 1, max: 100 }) }).map((fields) => Only.Share(fields)),
  fc
    .tuple(fc.integer({ min: 0, max: 999_999_999 }), fc.constantFrom(1, 1_000, 1_000_000))
    .map(([count, unit]) => Only.Over({ bytes: count * unit }))
)

const endless = (outcome: Outcome): Outcome =>
  outcome._tag === "Down" ? Outcome.Down({ until: Until.Never() }) : outcome

const clocked: fc.Arbitrary<ScriptPhase> = fc
  .record({ outcome, span })
  .map(({ outcome, span }) => ({ outcome: endless(outcome), times: 1, span }))

/** A share or a size is of a failure. */
const partial: fc.Arbitrary<ScriptPhase> = fc
  .record({ outcome: outcome.filter(({ _tag }) => _tag !== "Answer"), span: fc.option(span, { nil: undefined }), only })
  .map(({ only, outcome, span }) =>
    span === undefined
      ? { outcome: endless(outcome), times: Infinity, only }
      : { outcome: endless(outcome), times: 1, span, only }
  )

const phase = fc.oneof(
  { arbitrary: counted, weight: 3 },
  { arbitrary: clocked, weight: 1 },
  { arbitrary: partial, weight: 1 }
)

const delivery = fc.record({
  gapMs: fc.oneof(
    fc.integer({ min: 1, max: 100_000 }).map((rate) => 1000 / rate),
    ms
  ),
  firstTokenMs: ms,
  reasoning: fc.boolean(),
  tokens: fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined })
})

/** Every script that can be written. */
export const script: fc.Arbitrary<Script> = fc
  .record({ phases: fc.array(phase, { minLength: 1, maxLength: 6 }), delivery })
  .map(({ phases, delivery }) => make(phases, delivery))
