import { describe, expect, it } from "@effect/vitest"
import * as Notice from "../../../../src/ops/telemetry/incidents/Notice.ts"

const notice: Notice.Notice = {
  type: "incident-began",
  incidentId: "openai/gpt-5@1000",
  target: { provider: "openai", model: "gpt-5" },
  since: 1_000,
  at: 301_400,
  said: { reason: "overloaded", message: "Overloaded", code: "529" },
  waiting: 12,
  outcomes: { failed: 0, aborted: 0, elsewhere: 0 }
}

const textOf = (over: Partial<Notice.Notice>) => Notice.textOf({ ...notice, ...over })

describe("a notice", () => {
  it("has in one sentence the endpoint, since when it is down, why, and the state of the turns", () => {
    expect(Notice.textOf(notice)).toBe(
      "openai/gpt-5 has answered no turn for 5 m (overloaded 529: Overloaded). 12 turns wait for it, and will go on when it answers."
    )
    for (const [waiting, turns] of ["Turns wait", "1 turn waits"].entries())
      expect(textOf({ at: 1_100, waiting })).toBe(
        `openai/gpt-5 has answered no turn for 1 s (overloaded 529: Overloaded). ${turns} for it, and will go on when it answers.`
      )
    const ended = textOf({ type: "incident-ended", at: 11_001_000 })
    expect(ended).toBe("openai/gpt-5 answers again, after 3 h 3 m 20 s.")
  })

  it("names the next attempt of the waiting turns, with its date where that is another day", () => {
    const nextAt = Date.parse("1970-01-01T03:00:00Z")
    expect(Notice.bodyOf({ ...notice, nextAt })).toMatchObject({ nextAt: "1970-01-01T03:00:00.000Z" })
    expect(textOf({ nextAt })).toMatch(/will go on when it answers\. The next attempt is at 03:00:00 UTC\.$/)
    expect(textOf({ nextAt: nextAt + 86_400_000 })).toMatch(/ at 1970-01-02 03:00:00 UTC\.$/)
    expect(Notice.bodyOf(notice)).not.toHaveProperty("nextAt")
  })

  it("rule X12: states that failed turns do not continue, in every notice about them", () => {
    const outcomes = { failed: 12, aborted: 1, elsewhere: 2 }
    expect(textOf({ type: "incident-gave-up", at: 28_801_000, waiting: 0, outcomes })).toBe(
      "openai/gpt-5 has answered no turn for 8 h (overloaded 529: Overloaded), and no turn waits for it any more: " +
        "12 have failed, 1 was aborted, 2 were answered elsewhere. A turn that failed does not go on by itself."
    )
    const gone = { ...notice, type: "incident-gave-up" as const, at: 28_801_000, waiting: 0 }
    expect(Notice.textOf(gone)).toMatch(/and no turn waits for it any more\.$/)
    const one = { ...outcomes, failed: 1 }
    expect(textOf({ type: "incident-ended", at: 11_001_000, outcomes: one })).toBe(
      "openai/gpt-5 answers again, after 3 h 3 m 20 s. 1 turn that waited for it has failed. A turn that failed does not go on by itself."
    )
    const said = { reason: "auth" as const, message: "Incorrect API key.", code: "401" }
    expect(textOf({ type: "turns-failed", said, waiting: 0, outcomes })).toBe(
      "12 turns at openai/gpt-5 have failed (auth 401: Incorrect API key.). A turn that failed does not go on by itself. " +
        "Further turns that fail of this are in the log alone."
    )
    for (const [waiting, turns] of [" 1 turn still waits for it.", " 2 turns still wait for it."].entries())
      expect(textOf({ type: "turns-failed", waiting: waiting + 1, outcomes })).toContain(turns)
  })

  it("has no character that reverses a line or moves a cursor", () => {
    const said = { reason: "overloaded", message: "\u202ednes\u001b[2J\u2066", code: "529" } as const
    const { message, text } = Notice.bodyOf({ ...notice, said })
    expect(message).toBe("dnes")
    expect(text).toContain("(overloaded 529: dnes)")
  })

  it("has its own id and that of its incident", () => {
    expect(Notice.bodyOf(notice)).toMatchObject({
      id: "openai/gpt-5@1000/incident-began",
      incidentId: "openai/gpt-5@1000",
      since: "1970-01-01T00:00:01.000Z",
      durationMs: 300_400,
      reason: "overloaded",
      code: "529"
    })
  })
})
