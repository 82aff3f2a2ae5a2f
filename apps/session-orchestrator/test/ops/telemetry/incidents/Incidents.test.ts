/** Tests the decisions about one endpoint, where an incident takes a minute: by what is known, new and in the log. */
import { assert, it } from "@effect/vitest"
import type { Failure } from "@holdfast/wire"
import type * as Causes from "../../../../src/ops/telemetry/incidents/Causes.ts"
import * as EndpointLog from "../../../../src/ops/telemetry/incidents/EndpointLog.ts"
import * as Incidents from "../../../../src/ops/telemetry/incidents/Incidents.ts"

const said = (reason: Failure.Reason) => ({ reason, message: "No." })
const cause = (reason: Failure.Reason, at: number): Causes.FailureCause => {
  return { reason, since: at, last: at, failed: 1, isTold: false, isAnswered: false, said: said(reason) }
}
const endpoint = (since: number, isTold = true, causes: Causes.Causes = []) => {
  return { trouble: { since, isTold, said: said("overloaded") }, causes }
}
const [trouble, incident, nothing] = [endpoint(0, false), endpoint(0), Incidents.NOTHING]
const ending = endpoint(0, true, [cause("overloaded", 60_000), cause("auth", 60_001)])
const told = { causes: [{ ...cause("auth", 1), isTold: true }] }
const answer = (at: number, waiting = 0, more: Incidents.IncidentNews = {}) => ({ answer: { at, waiting, ...more } })
const wait = { since: 5, said: said("overloaded") }
const held = { waiting: 1, isHeld: true, nextAt: 99_000 }
const outcomes = { failed: 1, aborted: 2, elsewhere: 3 }
const gone = { lastEndAt: 70_000, outcomes }

const situation = (news: Incidents.IncidentNews, at: number, ...fails: ReadonlyArray<number>) => {
  const failed = fails.map((at) => ({ said: said("auth"), at }))
  return { target: { provider: "a", model: "m" }, news, failed, at, afterMs: 60_000 }
}

/** The notices by type, id, time, waiting turns and outcomes (failed, aborted, elsewhere); and what is known afterwards. */
const decided = (
  before: Incidents.EndpointState,
  now: ReturnType<typeof situation>,
  log?: Partial<EndpointLog.EndpointStanding>
): string => {
  const [state, notices] = Incidents.decide(before, now, log && { ...EndpointLog.watched(0), ...log })
  const told = notices.map(({ at, incidentId, nextAt = "", outcomes: { aborted, elsewhere, failed }, type, waiting }) =>
    [type.replace("incident-", ""), incidentId.slice(3), at, waiting, [failed, aborted, elsewhere], nextAt]
      .join(" ")
      .trim()
  )
  const known =
    state.trouble === undefined ? [] : [`${state.trouble.isTold ? "incident" : "trouble"} ${state.trouble.since}`]
  return [
    ...told,
    ...known,
    ...state.causes.map(({ failed, isAnswered, isTold, last, reason, since }) =>
      [reason, since, last, failed, isTold, isAnswered].join(" ")
    )
  ].join("; ")
}

it("rule X12: waits, answers and ends at one endpoint have their notices (Incidents.I2, I3)", () => {
  const cases = [
    [decided(nothing, situation(wait, 6)), "trouble 5"],
    [decided(nothing, situation({ since: 5 }, 6)), ""],
    [decided(trouble, situation({}, 60_000), held), "began @0 60000 1 0,0,0 99000; incident 0"],
    // The turns of an incident waited for a minute, though they have ended since.
    [decided(trouble, situation({}, 60_000), { lastEndAt: 59_999 }), ""],
    [decided(trouble, situation({}, 60_000), { lastEndAt: 60_000 }), "began @0 60000 0 0,0,0; incident 0"],
    // An answer ends trouble of its moment, and an incident though it was not reported yet.
    [decided(endpoint(5, false), situation(answer(5), 6)), ""],
    [decided(trouble, situation(answer(60_000, 3), 60_001)), "began @0 60000 3 0,0,0; ended @0 60000 3 0,0,0"],
    [decided(incident, situation(answer(70_000), 70_001)), "ended @0 70000 0 0,0,0"],
    [decided(incident, situation({}, 70_001), { ...held, answeredAt: 65_000 }), "ended @0 65000 1 0,0,0"],
    // It takes a minute at the least, though its turns were deleted.
    [decided(incident, situation({}, 70_000), { lastEndAt: 1 }), "gave-up @0 70000 0 0,0,0"],
    // The wait and the answer are both news.
    [decided(nothing, situation(answer(60_005, 1, wait), 60_006)), "began @5 60005 1 0,0,0; ended @5 60005 1 0,0,0"],
    [decided(nothing, situation(answer(60_005, 1, { since: 5 }), 60_006)), ""],
    [decided(incident, situation(answer(60_005, 1, wait), 60_006)), "ended @0 60005 1 0,0,0"],
    // Its end waits for the last turns, and has those that failed of its own reason.
    [
      decided(ending, situation({}, 80_000), gone),
      "turns-failed /auth@60001 80000 0 1,0,0; gave-up @0 80000 0 1,2,3; overloaded 60000 60000 1 true false; auth 60001 60001 1 true false"
    ],
    [
      decided(ending, situation({}, 79_999), gone),
      "turns-failed /auth@60001 79999 0 1,0,0; incident 0; overloaded 60000 60000 1 false false; auth 60001 60001 1 true false"
    ],
    [
      decided(ending, situation({}, 79_999), { ...gone, outcomes: { ...outcomes, failed: 0 } }),
      "turns-failed /overloaded@60000 79999 0 1,0,0; turns-failed /auth@60001 79999 0 1,0,0; incident 0; overloaded 60000 60000 1 true false; auth 60001 60001 1 true false"
    ],
    [
      decided(ending, situation({}, 79_999), { ...gone, ...held }),
      "turns-failed /overloaded@60000 79999 1 1,0,0; turns-failed /auth@60001 79999 1 1,0,0; incident 0; overloaded 60000 60000 1 true false; auth 60001 60001 1 true false"
    ],
    [
      decided(nothing, situation(answer(6), 10_005, 5, 7), held),
      "turns-failed /auth@5 10005 1 2,0,0; auth 5 7 2 true false"
    ],
    // A reported cause begins anew an hour after its last failure, if the endpoint has answered in between.
    [decided(told, situation(answer(2), 3_600_002, 3_600_001)), "auth 3600001 3600001 1 false false"],
    [decided(told, situation(answer(2), 3_600_002, 3_600_000), held), "auth 1 3600000 2 true false"],
    [decided(told, situation(answer(1), 3_600_002, 3_600_001)), "auth 1 3600001 2 true false"]
  ] as const
  for (const [actual, expected] of cases) assert.strictEqual(actual, expected)
})

it("rule X12: the log is asked about what begins, ends or is due, and news are joined in the order of time", () => {
  const questions = [
    Incidents.questionOf(trouble, situation({}, 60_000), false),
    Incidents.questionOf(incident, situation(answer(6), 60_000), false),
    Incidents.questionOf(nothing, situation(answer(60_004, 1, wait), 60_006), false),
    Incidents.questionOf(nothing, situation({}, 10_005, 5), false)
  ]
  assert.deepStrictEqual(questions, [
    { since: 0, at: 60_000, wantsEnds: true },
    { since: 0, at: 60_000, wantsEnds: true },
    { since: 5, at: 60_005, wantsEnds: true },
    { since: 10_005, at: 10_005, wantsEnds: true }
  ])
  const joined = [wait, { ...answer(6), since: 7 }].map((more) => Incidents.joined({ since: 4 }, more))
  assert.deepStrictEqual(joined, [
    { ...wait, since: 4 },
    { ...answer(6), since: 7 }
  ])
  assert.isFalse(EndpointLog.watched(0).isHeld)
  assert.isTrue(EndpointLog.watched(1).isHeld)
})
