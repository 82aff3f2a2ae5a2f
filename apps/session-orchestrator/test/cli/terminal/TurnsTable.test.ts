import { describe, expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { CliOutput } from "effect/cli"
import * as fc from "fast-check"
import * as TurnsTable from "../../../src/cli/turns/TurnsTable.ts"
import type { TurnReport } from "../../../src/insight/inspection/TurnReport.ts"
import * as Law from "../../Law.ts"

const turn = (n: number, over: Partial<TurnReport> = {}): TurnReport => ({
  conversationId: Ids.ConversationId.make(`c-${n}`),
  turnId: Ids.TurnId.make(`t-${n}`),
  state: "running",
  model: "anthropic/claude",
  prompt: "Why is the sky blue?",
  acceptedAt: 0,
  ageMs: 7_384_000,
  attempts: 0,
  ...over
})

const waiting = turn(1, {
  state: "waiting",
  attempts: 4,
  wait: { retry: 3, retryAt: 60_000, leftMs: 9_000, since: 0 },
  error: { reason: "overloaded", message: "Overloaded", code: "529" },
  budget: { measure: "scheduled", spentMs: 60_000, totalMs: 120_000, leftMs: 60_000 }
})

const at = (columns: number): TurnsTable.Display => ({
  columns,
  database: "a.db",
  isChosen: true,
  moment: (epochMs) => `T${epochMs}`,
  paint: (_color, text) => text
})

const text = (turns: ReadonlyArray<TurnReport>, columns: number) => TurnsTable.view(turns, at(columns)).join("\n")

describe("TurnsTable", () => {
  it("is a table if there is room, with both ids at every width", () => {
    expect(text([waiting, turn(2, { state: "queued" })], TurnsTable.TABLE_COLUMNS)).toBe(
      [
        "STATE    CONVERSATION  TURN  RETRY  DUE             BUDGET LEFT  TARGET            AGE      WHY                         PROMPT",
        "waiting  c-1           t-1   4      T60000, in 9 s  1 m          anthropic/claude  2 h 3 m  overloaded: 529 Overloaded  Why is the sky blue?",
        "queued   c-2           t-2                                                         2 h 3 m                              Why is the sky blue?",
        "",
        "2 turns in a.db: 1 waiting, 1 queued. The next is due at T60000."
      ].join("\n")
    )
    const paint = (color: string, text: string) => `${color} ${text.slice(0, 8)}`
    const shown = TurnsTable.view([waiting, turn(2), turn(3, { state: "failed" })], { ...at(200), paint }).slice(0, 4)
    expect(shown).toEqual(["bold STATE   ", "yellow waiting ", "cyan running ", "red failed  "])
    expect(text([waiting], 60)).toContain("  c-1\n")
    expect(text([waiting], Number.POSITIVE_INFINITY)).toContain("waiting  c-1           t-1 ")
  })

  it("has an id that turn and conversation share once", () => {
    const submitted = turn(3, { conversationId: Ids.ConversationId.make("t-3") })
    expect(text([submitted], TurnsTable.TABLE_COLUMNS)).toMatch(/^STATE +TURN +AGE .*\nrunning +t-3 +2 h /)
    expect(text([submitted], 60)).toMatch(/^running .*\n {2}t-3\n {2}age /)
  })

  it("rule X13: a held call whose time has come waits for its program, and the next that is due is another", () => {
    const left = { ...waiting, conversationId: Ids.ConversationId.make("holdfast-call-1") }
    const calls = [{ ...left, wait: { retry: 3, retryAt: 50_000, leftMs: 0, since: 0 } }, left]
    const [, first, second, , sum] = text(calls, 200).split("\n")
    expect([first, second]).toEqual([
      expect.stringContaining("  4      waits for its program  "),
      expect.stringContaining("  4      T60000, in 9 s         ")
    ])
    expect(sum).toBe("2 turns in a.db: 2 waiting. The next is due at T60000.")
    expect(text(calls, 60)).toContain("  due     waits for its program\n")
  })

  it("has of an ended turn its target, its time and cost, and the turn that retried it", () => {
    const ended = turn(3, {
      state: "failed",
      attempts: 2,
      endedAt: 90_000,
      waitedMs: 5_000,
      tokens: { input: 10, output: 3 },
      retriedBy: Ids.TurnId.make("t-4"),
      error: { reason: "auth", message: "No such key" }
    })
    const { [0]: head, [1]: row } = text([ended], TurnsTable.TABLE_COLUMNS).split("\n")
    expect(head).toMatch(
      /^STATE +CONVERSATION +TURN +TARGET +CALLS +BEGUN +ENDED +WAITED +TOKENS +RETRIED BY +AGE +WHY +PROMPT$/
    )
    expect(row).toMatch(
      /^failed +c-3 +t-3 +anthropic\/claude +2 +T0 +T90000 +5 s +10 in, 3 out +t-4 +2 h 3 m +auth: No such key +Why/
    )
    expect(text([ended], 60)).toBe(
      [
        "failed  Why is the sky blue?",
        "  t-3",
        "  c-3",
        "  retried by",
        "  t-4",
        "  why     auth: No such key",
        "  target  anthropic/claude",
        "  ended   T90000, begun T0, 2 calls, waited 5 s",
        "  tokens  10 in, 3 out",
        "",
        "1 turn in a.db: 1 failed."
      ].join("\n")
    )
  })

  it("rule X11: a turn that asks shows its question and the deadline", () => {
    const asks = { because: "turn" as const, tokens: 9, limit: 1, waitedMs: 0, message: "May it go on?" }
    const asking = { ...waiting, wait: { retry: 3, retryAt: 60_000, leftMs: 9_000, since: 0, asks } }
    const lines = text([asking], TurnsTable.TABLE_COLUMNS).split("\n")
    expect(lines[1]).toMatch(/ asks until T60000 .* May it go on\? /)
    expect(lines.at(-1)).toBe("1 turn in a.db: 1 waiting. 1 waits for an answer (holdfast explain).")
  })

  it("rule X6: has the runner of a turn, or that it has none; no such column without runners", () => {
    const shared = [
      { ...waiting, runner: "10.0.0.5:4748" },
      turn(2, { runner: null }),
      turn(3, { runner: "unknown" }),
      turn(4, { state: "completed", endedAt: 5 })
    ]
    const lines = text(shared, TurnsTable.TABLE_COLUMNS).split("\n")
    expect(lines.slice(0, 5).map((line) => line.slice(0, 56).trimEnd())).toEqual([
      "STATE      CONVERSATION  TURN  RUNNER         RETRY  DUE",
      "waiting    c-1           t-1   10.0.0.5:4748  4      T60",
      "running    c-2           t-2   none",
      "running    c-3           t-3   unknown",
      "completed  c-4           t-4"
    ])
    expect(lines.at(-1)).toContain("1 completed. 1 has no runner at the moment. The next is due")
    expect(text(shared.slice(0, 2), 80)).toBe(
      [
        "waiting  Why is the sky blue?",
        "  t-1",
        "  c-1",
        "  runner  10.0.0.5:4748",
        "  due     T60000, in 9 s",
        "  retry   4",
        "  why     overloaded: 529 Overloaded",
        "  budget  1 m left",
        "  target  anthropic/claude",
        "  age     2 h 3 m",
        "",
        "running  Why is the sky blue?",
        "  t-2",
        "  c-2",
        "  runner  none at the moment",
        "  age     2 h 3 m",
        "",
        "2 turns in a.db: 1 running, 1 waiting. 1 has no runner at the moment. The next",
        "is due at T60000."
      ].join("\n")
    )
    for (const columns of [80, TurnsTable.TABLE_COLUMNS]) expect(text([waiting], columns)).not.toMatch(/runner/i)
  })

  it("no content of a database makes a line too long, or an id shorter", () => {
    const id = (n: number) => `0199a1b2-c3d4-7e5f-8a9b-00000000000${n}`
    const [conversationId, turnId, retriedBy] = [
      Ids.ConversationId.make(id(1)),
      Ids.TurnId.make(id(2)),
      Ids.TurnId.make(id(3))
    ]
    const runner = `${"holdfast-0.".repeat(6)}svc.cluster.local:4748`
    const open = { ...waiting, conversationId, turnId, runner }
    const ended = turn(3, { state: "failed", attempts: 2, endedAt: 90_000, waitedMs: 5_000, retriedBy })
    for (const columns of [80, TurnsTable.TABLE_COLUMNS, 200, 280, 400]) {
      const lines = text([open, ended], columns).split("\n")
      for (const line of lines) expect(CliOutput.displayWidth(line)).toBeLessThanOrEqual(columns)
      for (const whole of [conversationId, turnId, retriedBy]) expect(lines.join("\n")).toContain(whole)
    }
    expect(text([open, ended], 400)).toContain(runner)
    expect(text([open, ended], 400)).toMatch(/^STATE/)
  })

  it("is a table from 170 columns on, if 20 are left for why and prompt", () => {
    expect(text([waiting], 170)).toMatch(/^STATE/)
    expect(text([waiting], 169)).toMatch(/^waiting/)
    const conversationId = Ids.ConversationId.make("c".repeat(64))
    const named = (length: number) =>
      text([{ ...waiting, conversationId, turnId: Ids.TurnId.make("t".repeat(length)) }], 170)
    // Of 170 columns the other cells take 60, and the gaps 18.
    expect(named(8)).toMatch(/^STATE/)
    expect(named(9)).toMatch(/^waiting/)
  })

  it("gives why and prompt 60 columns each if no terminal limits the width", () => {
    const long = {
      ...waiting,
      prompt: "p".repeat(100),
      error: { reason: "unknown" as const, message: "w".repeat(100) }
    }
    const row = text([long], Number.POSITIVE_INFINITY).split("\n")[1] ?? ""
    expect(/unknown: w+…/.exec(row)?.[0]).toHaveLength(60)
    expect(/p+…$/.exec(row)?.[0]).toHaveLength(60)
  })

  it("a turn that ended without waits shows none", () => {
    const ended = turn(3, { state: "completed", attempts: 1, endedAt: 90_000, waitedMs: 0 })
    expect(text([ended], 60)).toContain("T90000, begun T0, 1 call\n")
    expect(text([ended], TurnsTable.TABLE_COLUMNS)).not.toContain("WAITED")
  })

  it("reports an empty result, and the summary, in two lines at most", () => {
    expect(text([], 80)).toBe("There are no such turns in a.db.")
    expect(TurnsTable.view([], { ...at(80), isChosen: false })).toEqual([
      "No turn waits or runs in a.db. Those that have ended: holdfast turns --all"
    ])
    const long = { ...at(40), database: "a long name ".repeat(20) }
    expect(TurnsTable.view([], long)).toHaveLength(2)
    const lines = TurnsTable.view([waiting], long)
    expect(lines.slice(lines.lastIndexOf("") + 1)).toHaveLength(2)
  })

  it("an overdue turn is due now, and a turn without a prompt shows that", () => {
    const { prompt: _prompt, ...late } = { ...waiting, wait: { retry: 0, retryAt: 5, leftMs: 0, since: 0 } }
    expect(text([late], TurnsTable.TABLE_COLUMNS)).toContain("T5, now")
    expect(text([late], TurnsTable.TABLE_COLUMNS)).toContain("(the last prompt again)")
  })

  it("no line is wider than the terminal with any content, and none moves the cursor", () => {
    const anything = fc.record({ prompt: fc.string({ unit: "grapheme" }), message: fc.string({ unit: "grapheme" }) })
    Law.holds([fc.integer({ min: 20, max: 240 }), fc.array(anything, { maxLength: 4 })], (columns, texts) => {
      const turns = texts.map(({ message, prompt }, n) => ({
        ...waiting,
        turnId: Ids.TurnId.make(`t-${n}`),
        prompt,
        error: { reason: "unknown" as const, message }
      }))
      for (const line of TurnsTable.view(turns, at(columns))) {
        expect(CliOutput.displayWidth(line)).toBeLessThanOrEqual(columns)
        // oxlint-disable-next-line no-control-regex -- control characters are what must not be there.
        expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
      }
    })
  })

  it("takes as many turns as a database has", () => {
    const turns = Array.from({ length: 150_000 }, () => waiting)
    const lines = TurnsTable.view(turns, at(TurnsTable.TABLE_COLUMNS))
    expect(lines).toHaveLength(turns.length + 3)
    expect(lines.at(-1)).toBe("150,000 turns in a.db: 150,000 waiting. The next is due at T60000.")
  })
})
