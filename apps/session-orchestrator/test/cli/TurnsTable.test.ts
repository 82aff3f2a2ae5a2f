import { describe, expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { CliOutput } from "effect/cli"
import * as fc from "fast-check"
import * as TurnsTable from "../../src/cli/TurnsTable.ts"
import type { TurnReport } from "../../src/inspection/TurnReport.ts"

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

const at = (columns: number): TurnsTable.Surroundings => ({
  columns,
  moment: (epochMs) => `T${epochMs}`,
  paint: (_color, text) => text
})

const text = (turns: ReadonlyArray<TurnReport>, columns: number) => TurnsTable.view(turns, at(columns)).join("\n")

describe("TurnsTable", () => {
  it("is a table where there is room", () => {
    expect(text([waiting, turn(2, { state: "queued" })], 120)).toBe(
      [
        "STATE    TURN  RETRY  DUE             BUDGET LEFT  AGE      WHY                            PROMPT",
        "waiting  t-1   4      T60000, in 9 s  1 m          2 h 3 m  overloaded: 529 Overloaded     Why is the sky blue?",
        "queued   t-2                                       2 h 3 m                                 Why is the sky blue?",
        "",
        "2 turns: 1 waiting, 1 queued. The next is due at T60000."
      ].join("\n")
    )
  })

  it("X11: a turn that asks says until when, and what", () => {
    const asks = { because: "turn" as const, tokens: 9, limit: 1, waitedMs: 0, message: "May it go on?" }
    const asking = { ...waiting, wait: { retry: 3, retryAt: 60_000, leftMs: 9_000, since: 0, asks } }
    expect(text([asking], 120)).toBe(
      [
        "STATE    TURN  RETRY  DUE                BUDGET LEFT  AGE      WHY                           PROMPT",
        "waiting  t-1   4      asks until T60000  1 m          2 h 3 m  May it go on?                 Why is the sky blue?",
        "",
        "1 turn: 1 waiting. 1 waits for an answer (holdfast explain)."
      ].join("\n")
    )
  })

  it("has the conversations where there is more room, and everything where nothing limits it", () => {
    expect(text([waiting], TurnsTable.WIDE_COLUMNS)).toContain("waiting  c-1           t-1 ")
    expect(text([waiting], Number.POSITIVE_INFINITY)).toContain("waiting  c-1           t-1 ")
  })

  it("is a few lines a turn in a narrow terminal", () => {
    expect(text([waiting, turn(2)], 40)).toBe(
      [
        "waiting  Why is the sky blue?",
        "  t-1",
        "  c-1",
        "  due     T60000, in 9 s",
        "  retry   4",
        "  why     overloaded: 529 Overloaded",
        "  budget  1 m left",
        "  age     2 h 3 m",
        "",
        "running  Why is the sky blue?",
        "  t-2",
        "  c-2",
        "  age     2 h 3 m",
        "",
        "2 turns: 1 running, 1 waiting. The next",
        "is due at T60000."
      ].join("\n")
    )
  })

  it("says that there are none", () => {
    expect(text([], 80)).toBe("There are no turns that run or wait.")
  })

  it("an overdue turn is due now, and a prompt that is none is told", () => {
    const { prompt: _prompt, ...late } = { ...waiting, wait: { retry: 0, retryAt: 5, leftMs: 0, since: 0 } }
    expect(text([late], 120)).toContain("T5, now")
    expect(text([late], 120)).toContain("(the last prompt again)")
  })

  it("T1: no line is wider than the terminal, whatever is in it, and none moves the cursor", () => {
    const anything = fc.record({ prompt: fc.string({ unit: "grapheme" }), message: fc.string({ unit: "grapheme" }) })
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 240 }), fc.array(anything, { maxLength: 4 }), (columns, texts) => {
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
    )
  })

  it("takes as many turns as a database has", () => {
    const turns = Array.from({ length: 150_000 }, () => waiting)
    const lines = TurnsTable.view(turns, at(120))
    expect(lines).toHaveLength(turns.length + 3)
    expect(lines.at(-1)).toBe("150000 turns: 150000 waiting. The next is due at T60000.")
  })
})
