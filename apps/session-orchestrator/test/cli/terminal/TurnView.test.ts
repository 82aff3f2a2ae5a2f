import { describe, expect, it } from "@effect/vitest"
import type { TurnEvent } from "@holdfast/wire"
import { CliOutput } from "effect/cli"
import * as fc from "fast-check"
import * as TurnView from "../../../src/cli/terminal/TurnView.ts"
import { answer, delta, end, modelChange, retry, stepDiscarded, stepStart } from "../../GivenTurn.ts"
import * as Law from "../../Law.ts"

const surroundings = { columns: 80, timeOfDay: () => "02:14:05" }

const after = (...events: ReadonlyArray<TurnEvent.TurnEvent>): TurnView.ViewState =>
  events.reduce((state, event) => TurnView.update(state, event)[0], TurnView.initial)

const written = (...events: ReadonlyArray<TurnEvent.TurnEvent>): ReadonlyArray<string> => {
  let state = TurnView.initial
  return events.flatMap((event) => {
    const [next, outputs] = TurnView.update(state, event)
    state = next
    return outputs.map((output) => (output._tag === "Answer" ? output.text : `[${output.tone}] ${output.text}`))
  })
}

describe("TurnView", () => {
  it("rule D13: a wait shows its error, its code, which retry it is, and the time left", () => {
    const state = after(retry({ attempt: 2, maxAttempts: 10 }))
    expect(TurnView.view(state, 1000, surroundings)).toEqual([
      "! anthropic/claude: 529 Overloaded",
      "  Retry 3/10 in 4 m 59 s, at 02:14:05 (Ctrl-C aborts)"
    ])
  })

  it("rule D13: shows how to abort if there is room and time for it", () => {
    const line = "  Retry 1 in 5 m 0 s, at 02:14:05 (Ctrl-C aborts)"
    const last = (columns: number, now = 0) => TurnView.view(after(retry()), now, { ...surroundings, columns }).at(-1)
    expect(last(line.length)).toBe(line)
    expect(last(line.length - 1)).toBe("  Retry 1 in 5 m 0 s, at 02:14:05")
    expect(last(80, 300_000)).toBe("  Retry 1 runs now …")
  })

  it("a code that the message begins with is shown once", () => {
    expect(TurnView.view(after(retry({ code: "502", message: "502 Bad Gateway" })), 0, surroundings)[0]).toBe(
      "! anthropic/claude: 502 Bad Gateway"
    )
  })

  it("rule X3: an answer that was on disk before watching began is shown, and one that was streamed is not shown again", () => {
    expect(written(answer("Hello"), end("completed"))).toEqual(["Hello"])
    const three = written(answer("One."), answer("Two."), stepStart(2), delta("Three."), answer("Three."))
    expect(three).toEqual(["One.", "\nTwo.", "\n", "Three."])
    const two = written(stepStart(0), delta("Hel"), delta("lo"), answer("Hello"), stepStart(1), delta("Bye"))
    expect(two).toEqual(["Hel", "lo", "\n", "Bye"])
  })

  it("rule X3: a connection that is made anew repeats nothing, and what came meanwhile is shown", () => {
    const step = (...deltas: ReadonlyArray<string>) => [stepStart(0), ...deltas.map(delta)]
    const again = written(...step("He", "llo"), ...step("Hel", "lo, w"), answer("Hello, world."))
    expect(again).toEqual(["He", "llo", ", w", "orld."])
    // The same text is written again after it was discarded, and in another step.
    expect(written(...step("Hello"), stepDiscarded("It broke off."), ...step("Hello"))).toHaveLength(3)
    expect(written(...step("Hello"), answer("Hello"), stepStart(1), delta("Hello"))).toEqual(["Hello", "\n", "Hello"])
    const file = { ...delta(""), type: "file", file: { type: "file", mediaType: "image/png", data: "AAAA" } } as const
    const files = (text: string, ...events: ReadonlyArray<TurnEvent.TurnEvent>) =>
      written(...step(text), ...events).filter((line) => line.includes("image/png")).length
    expect([files("He", ...step("He"), file), files("He", file, ...step("He"), file, file)]).toEqual([1, 2])
    expect([files("He", file, file, ...step("He"), file, file, file), files("He", file, answer("He"))]).toEqual([3, 1])
    const message = { role: "user", content: [file.file] }
    const asked = { ...answer(""), message } as unknown as TurnEvent.MessageEvent
    expect(written(asked)).toEqual([])
    const wait = "[wait] ! anthropic/claude: 529 Overloaded - retry 1 after 5 m"
    expect(written(retry(), retry(), delta("Hello"))).toEqual([wait, "Hello"])
  })

  it("rule X11: a wait that asks shows its question, and the deadline of the answer", () => {
    const asks = { because: "turn" as const, tokens: 9, limit: 1, waitedMs: 0, message: "May it go on?" }
    const asking = retry({ asks })
    expect(TurnView.view(after(retry(), asking), 1000, surroundings)).toEqual([
      "! anthropic/claude: 529 Overloaded",
      "? May it go on?",
      "  Gives up without an answer in 4 m 59 s, at 02:14:05 (Ctrl-C aborts)"
    ])
    expect(written(retry(), asking, delta("Hello"))).toEqual(["[wait] ? May it go on?", "Hello"])
    expect(TurnView.plainLine(asking, 0, undefined, () => "02:14:05")).toBe(
      "May it go on? - gives up without an answer in 5 m 0 s, at 02:14:05"
    )
  })

  it("a wait that was aborted claims no retry", () => {
    const [aborting] = TurnView.aborting(after(retry()))
    expect(TurnView.view(aborting, 0, surroundings)[1]).toBe("  Retry 1 in 5 m 0 s, at 02:14:05")
    const [, outputs] = TurnView.update(aborting, end("aborted"))
    expect(outputs).toEqual([
      { _tag: "Line", tone: "wait", text: "! anthropic/claude: 529 Overloaded" },
      { _tag: "Line", tone: "failure", text: "Aborted." }
    ])
  })

  it("a failed turn shows its error, its attempts and its waiting time", () => {
    const error = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 } as const
    const saysOf = (tally: { readonly sleptMs: number; readonly waitedMs?: number }) =>
      written(end("failed", { error, attempts: 22, ...tally }))
    expect(saysOf({ sleptMs: 27_105_000, waitedMs: 27_105_040 })).toEqual([
      "[failure] Failed: 529 Overloaded (22 calls, 7 h 31 m 45 s of waiting)"
    ])
    // A cancelled wait counts with its actual time.
    expect(saysOf({ sleptMs: 27_105_000, waitedMs: 7_200_000 })).toEqual([
      "[failure] Failed: 529 Overloaded (22 calls, 2 h of waiting (7 h 31 m 45 s were scheduled))"
    ])
    const once = end("failed", { error, attempts: 1, sleptMs: 5_000, waitedMs: 5_000 })
    expect(written(once)).toEqual(["[failure] Failed: 529 Overloaded"])
    expect(written({ ...once, attempts: 2 })).toEqual(["[failure] Failed: 529 Overloaded (2 calls, 5 s of waiting)"])
    expect(written(end("failed", { attempts: 1 }))).toEqual(["[failure] Failed: no reason was given"])
    expect(saysOf({ sleptMs: 0, waitedMs: 0 })).toEqual(["[failure] Failed: 529 Overloaded (22 calls)"])
    expect(saysOf({ sleptMs: 5_000 })).toEqual([
      "[failure] Failed: 529 Overloaded (22 calls, 5 s of scheduled waiting)"
    ])
  })

  it("shows the tools that a turn waits for or runs without, its calls, and its new targets", () => {
    const ids = { conversationId: end("completed").conversationId, turnId: end("completed").turnId }
    const servers = [
      { server: "files", message: "exit code 3" },
      { server: "web", message: "refused" }
    ]
    const missing = { type: "tools-missing", ...ids, servers } as const
    const call = { type: "tool-call", ...ids, toolCallId: "1", toolName: "search", input: {} } as const
    expect(written(missing, { ...missing, until: 9 }, retry(), call, modelChange("openai/gpt-5"))).toEqual([
      "[notice] Runs without the tools of files (exit code 3), web (refused).",
      "[notice] Waits for the tools of files (exit code 3), web (refused).",
      "[wait] ! anthropic/claude: 529 Overloaded - retry 1 after 5 m",
      "[aside] calls search",
      "[notice] Goes on with openai/gpt-5 instead of anthropic/claude."
    ])
  })

  it("a countdown is never negative and never grows, and no line is too wide", () => {
    Law.holds(
      [
        fc.integer({ min: -1000, max: 10_000_000 }),
        fc.integer({ min: -10_000_000, max: 10_000_000 }),
        fc.array(fc.nat({ max: 100_000 }), { maxLength: 20, size: "max" }),
        fc.integer({ min: 10, max: 120 }),
        fc.string({ maxLength: 300, size: "max", unit: "grapheme" })
      ],
      (delayMs, retryAt, steps, columns, message) => {
        const wait = retry({ delayMs, retryAt, message })
        let now = 0
        let last = Infinity
        for (const step of steps) {
          now += step
          const left = TurnView.timeLeft(wait, now)
          expect(left).toBeGreaterThanOrEqual(0)
          expect(left).toBeLessThanOrEqual(last)
          last = left
          const lines = TurnView.view(after(wait), now, { ...surroundings, columns })
          expect(lines.join("")).not.toMatch(/ -\d/)
          for (const line of lines) expect(CliOutput.displayWidth(line)).toBeLessThanOrEqual(columns)
        }
      }
    )
  })

  it("rule D13: a wait that is over, or has no length, has no time left, and the last millisecond is one", () => {
    expect([0, -5].map((delayMs) => TurnView.timeLeft(retry({ delayMs }), 0))).toEqual([0, 0])
    expect(TurnView.timeLeft(retry(), 1_000_000)).toBe(0)
    expect(TurnView.view(after(retry()), 299_999, surroundings).at(-1)).toBe(
      "  Retry 1 in 1 s, at 02:14:05 (Ctrl-C aborts)"
    )
    expect(TurnView.plainLine(retry(), 299_999, 300_001, () => "")).toBe("retry 1 in 1 s")
    expect(TurnView.plainLine(retry(), 300_000, 300_001, () => "")).toBeUndefined()
  })

  it("rule P7: a retry without a wait is at once, and one with the shortest wait is not", () => {
    const begins = (delayMs: number) =>
      TurnView.plainLine(retry({ delayMs, retryAt: delayMs }), 0, undefined, () => "02:14:05")
    expect(begins(0)).toBe("anthropic/claude: 529 Overloaded - retry 1 at once")
    expect(begins(1)).toBe("anthropic/claude: 529 Overloaded - retry 1 in 1 s, at 02:14:05")
  })

  it("shows three lines of an error at most", () => {
    const wait = retry({ message: "an error page ".repeat(100) })
    expect(TurnView.view(after(wait), 0, { ...surroundings, columns: 40 })).toHaveLength(3 + 1)
  })

  it("steps without text leave no empty lines, and a discarded answer is answered again", () => {
    const steps = written(stepStart(0), delta("One."), stepStart(1), stepStart(2), delta("Two."))
    expect(steps).toEqual(["One.", "\n", "Two."])
    const again = written(delta("Hel"), stepDiscarded("The line broke."), answer("Hello"))
    expect(again).toEqual(["Hel", "[notice] The line broke.", "Hello"])
  })

  it("the next repaint is when the seconds change", () => {
    const state = after(retry({ delayMs: 5000, retryAt: 5000 }))
    const until = [0, 250, 2000, 3750, 4999].map((now) => TurnView.untilChange(state, now))
    expect(until).toEqual([1000, 750, 1000, 250, 1])
    expect(TurnView.untilChange(TurnView.initial, 0)).toBe(1000)
  })

  it("without repainting, a wait has a line when it begins and one every five minutes", () => {
    const wait = retry({ delayMs: 1_800_000, retryAt: 1_800_000 })
    const lines: Array<string> = []
    let said: number | undefined
    for (let now = 0; now <= 1_800_000; now += 1000) {
      const line = TurnView.plainLine(wait, now, said, surroundings.timeOfDay)
      if (line === undefined) continue
      lines.push(line)
      said = TurnView.timeLeft(wait, now)
    }
    expect(lines).toEqual([
      "anthropic/claude: 529 Overloaded - retry 1 in 30 m 0 s, at 02:14:05",
      "retry 1 in 25 m 0 s",
      "retry 1 in 20 m 0 s",
      "retry 1 in 15 m 0 s",
      "retry 1 in 10 m 0 s",
      "retry 1 in 5 m 0 s"
    ])
  })
})
