/** Tests the frame that the terminal draws: foreign text does nothing but fill it, and a wait is in it as long as it lasts. */
import { ConversationView } from "@holdfast/client"
import { Ids, type TurnEvent } from "@holdfast/wire"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as Editor from "../src/editor/Editor.ts"
import * as KeyBindings from "../src/editor/KeyBindings.ts"
import type * as Snapshot from "../src/Snapshot.ts"
import * as Frame from "../src/screen/Frame.ts"
import * as Line from "../src/text/Line.ts"
import * as EntryLines from "../src/transcript/EntryLines.ts"
import * as Transcript from "../src/transcript/Transcript.ts"
import * as Hostile from "./Hostile.ts"

const ids = { conversationId: Ids.ConversationId.make("c1"), turnId: Ids.TurnId.make("t1") }
const message = { ...ids, turnId: ids.turnId, createdAt: 0 }
const NOW = 1_000_000

/** Events of a turn whose every text is foreign. */
const event: fc.Arbitrary<TurnEvent.TurnEvent> = Hostile.text.chain((text) =>
  fc.constantFrom<TurnEvent.TurnEvent>(
    { ...ids, type: "turn-start", startedAt: NOW },
    { ...ids, type: "step-start", step: 0, target: text },
    { ...ids, type: "text-delta", delta: text },
    { ...ids, type: "reasoning-delta", delta: text },
    {
      ...ids,
      type: "provider-retry",
      attempt: 3,
      delayMs: 750_000,
      retryAt: NOW + 750_000,
      message: text,
      code: text,
      reason: "overloaded",
      target: text,
      maxAttempts: 21
    },
    {
      ...ids,
      type: "provider-retry",
      attempt: 4,
      delayMs: 0,
      retryAt: NOW,
      message: text,
      credential: text,
      reason: "overloaded",
      target: text
    },
    {
      ...ids,
      type: "provider-retry",
      attempt: 5,
      delayMs: 9,
      retryAt: NOW,
      message: text,
      reason: "overloaded",
      target: text,
      asks: { because: "turn", tokens: 1, limit: 1, waitedMs: 1, message: text }
    },
    { ...ids, type: "tool-call", toolCallId: text, toolName: text, input: { [text]: text } },
    { ...ids, type: "tool-result", toolCallId: text, toolName: text, output: text, isError: true },
    { ...ids, type: "tools-missing", servers: [{ server: text, message: text }] },
    { ...ids, type: "step-discarded", step: 0, message: text },
    { ...ids, type: "model-change", from: text, to: text },
    { ...ids, type: "retry-end", success: false, attempt: 2, finalError: text },
    { ...ids, type: "error", message: text, reason: "overloaded", code: text },
    {
      ...ids,
      type: "message",
      message: { ...message, id: "m1" as Ids.MessageId, role: "user", content: [{ type: "text", text }] }
    },
    {
      ...ids,
      type: "message",
      message: {
        ...message,
        id: "m2" as Ids.MessageId,
        role: "assistant",
        content: [{ type: "text", text }],
        target: { provider: text, model: text }
      }
    },
    {
      ...ids,
      type: "message",
      message: {
        ...message,
        id: "m3" as Ids.MessageId,
        role: "tool",
        content: [{ type: "tool-result", toolCallId: text, toolName: text, output: text, isError: true }]
      }
    },
    {
      ...ids,
      type: "turn-end",
      status: "failed",
      endedAt: NOW,
      steps: 0,
      attempts: 1,
      sleptMs: 0,
      usage: {},
      error: { reason: "overloaded", message: text, retryable: true } as never
    }
  )
)

const snapshotOf = (
  events: ReadonlyArray<TurnEvent.TurnEvent>,
  typed: string,
  more: Partial<Snapshot.Snapshot> = {}
): Snapshot.Snapshot => {
  let seen = Transcript.nothing
  const entries = events.flatMap((event) => {
    const [next, added] = Transcript.take(seen, event)
    seen = next
    return added
  })
  return {
    conversationId: ids.conversationId,
    view: ConversationView.applyAll(ConversationView.empty, events),
    entries,
    keyboard: { ...KeyBindings.initial, editor: Editor.insert(Editor.empty, typed) },
    sent: [],
    model: undefined,
    budgetLeftMs: undefined,
    notice: undefined,
    isOpening: false,
    disconnected: undefined,
    ...more
  }
}

const textOf = (lines: ReadonlyArray<Line.Line>): string => lines.map(Line.textOf).join("\n")

describe("Frame", () => {
  it("whatever a model, a provider or a tool sends, no line has a character that a terminal would obey, and a frame fits the terminal", () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 8 }),
        Hostile.text,
        fc.integer({ min: 20, max: 100 }),
        fc.integer({ min: 4, max: 40 }),
        (events, text, columns, rows) => {
          const snapshot = snapshotOf(events, text, { notice: text, disconnected: text, model: text, sent: [text] })
          const { cursor, lines } = Frame.of(snapshot, { columns, rows, now: NOW })
          expect(lines.length).toBeLessThan(rows)
          const all = [...lines, ...snapshot.entries.flatMap((entry) => EntryLines.of(entry, columns))]
          for (const line of all) {
            expect(Line.widthOf(line)).toBeLessThanOrEqual(columns)
            expect(Line.textOf(line)).not.toMatch(Hostile.FORBIDDEN)
            expect(Line.textOf(line)).not.toMatch(/\n/)
          }
          if (cursor !== undefined) {
            expect(cursor.y).toBeLessThan(lines.length)
            expect(cursor.x).toBeLessThan(columns)
          }
        }
      ),
      Hostile.RUNS
    )
  })

  const wait: TurnEvent.TurnEvent = {
    ...ids,
    type: "provider-retry",
    attempt: 4,
    delayMs: 750_000,
    retryAt: NOW + 750_000,
    message: "Overloaded",
    code: "529",
    reason: "overloaded",
    target: "test/m",
    maxAttempts: 21
  }
  const display = { columns: 80, rows: 24, now: NOW }

  it("a wait has its countdown and its budget, and its end takes both away", () => {
    const waiting = textOf(Frame.of(snapshotOf([wait], "", { budgetLeftMs: 27_000_000 }), display).lines)
    expect(waiting).toContain("Retrying (5/21) in 12m 30s… (esc to cancel)")
    expect(waiting).toContain("budget left 7h 30m 0s")
    const end = { ...ids, type: "retry-end" as const, success: false, attempt: 4, finalError: "Retry cancelled" }
    const after = snapshotOf([wait, end], "")
    expect(textOf(Frame.of(after, display).lines)).not.toContain("Retrying")
    expect(after.entries.map((entry) => ("text" in entry ? entry.text : ""))).toEqual([
      "⚠ Overloaded (529), retrying in 12m 30s…",
      "Retry failed after 5 attempts: Retry cancelled"
    ])
  })

  it("a wait that comes again after a reconnect has one warning, and a moved one has its new end", () => {
    const moved = { ...wait, retryAt: NOW + 900_000 }
    const { entries } = snapshotOf([wait, wait, moved, moved], "")
    expect(entries).toHaveLength(2)
    expect(entries[1]).toMatchObject({ text: expect.stringMatching(/^The wait ends at \d\d:\d\d:\d\d now\.$/) })
  })

  it("a manual retry leaves no entry", () => {
    expect(snapshotOf([{ ...ids, type: "turn-start", startedAt: NOW, retry: true }], "").entries).toEqual([])
  })

  it("the editor keeps its cursor in view, however long its text is", () => {
    const { cursor, lines } = Frame.of(snapshotOf([wait], "line\n".repeat(50)), { ...display, rows: 12 })
    expect(lines.length).toBeLessThan(12)
    expect(Line.textOf(lines[cursor?.y ?? 0] ?? [])).toBe("  ")
  })
})
