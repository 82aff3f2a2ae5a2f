import { describe, expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import * as WithCommand from "../../src/cli/WithCommand.ts"

describe("the command line of with", () => {
  it.each([
    ["with claude -p x", "with claude -- -p x"],
    [
      "with --profile interactive -c a.json --url=http://b codex exec --json",
      "with --profile interactive -c a.json --url=http://b codex -- exec --json"
    ],
    ["with npm run x -- --flag", "with npm -- run x -- --flag"],
    ["with -- -odd name", "with -- -odd name"],
    ["with --help", "with --help --"],
    ["run with claude -p x", "run with claude -p x"]
  ])("%s has the program's own arguments behind its name", (given, separated) => {
    expect(WithCommand.separated(given.split(" ")).join(" ")).toBe(separated)
  })
})

describe("the lines of a wait", () => {
  const both = { stdin: true, stdout: true }

  it.each([
    ["claude -p x", both, true],
    ["/usr/bin/codex exec x", both, true],
    ["claude", both, false],
    ["codex -p x", both, false],
    ["claude", { stdin: true, stdout: false }, true],
    ["python agent.py", { stdin: false, stdout: true }, true]
  ])("%s, %j: %s", (line, streams, isPrinting) => {
    const [program = "", ...args] = line.split(" ")
    expect(WithCommand.isPrinting({ program, args }, streams)).toBe(isPrinting)
  })
})

describe("the title of the terminal", () => {
  const now = new Date(2031, 3, 8, 1, 0).getTime()
  const error = { reason: "overloaded", message: "Overloaded" } as const
  const wait = { retry: 1, retryAt: now + 60_000, since: now }
  const conversationId = Ids.ConversationId.make("holdfast-call-1")

  it("has how many calls wait, for what, and until when the first does", () => {
    const first = { conversationId, error, wait }
    const later = { conversationId, wait: { ...wait, retryAt: now + 90_000 } }
    expect(WithCommand.titleOf([later, first], now)).toBe("Holdfast: 2 calls held, overloaded, next at 01:01:00")
    expect(WithCommand.titleOf([], now)).toBeUndefined()
  })

  it("rule X13: has of a call that waits for its program that alone, and the time of the others before", () => {
    const left = { conversationId, error, wait: { ...wait, retryAt: now } }
    expect(WithCommand.titleOf([left], now)).toBe("Holdfast: 1 call held, overloaded, waits for its program")
    expect(WithCommand.titleOf([left, { conversationId, wait }], now)).toBe(
      "Holdfast: 2 calls held, waiting, next at 01:01:00"
    )
  })

  it("is put over the former one once, and taken back once", () => {
    const written: Array<string> = []
    for (const title of [undefined, "A", "B", undefined, undefined, "C", undefined])
      WithCommand.entitle(title, (text) => written.push(text) > 0)
    const [push, pop] = ["\u001b[22;0t", "\u001b[23;0t"]
    const [a, b, c] = ["A", "B", "C"].map((title) => `\u001b]0;${title}\u0007`)
    expect(written).toEqual([`${push}${a}`, b, pop, `${push}${c}`, pop])
  })

  it("says that a turn asks", () => {
    const asks = { because: "request", tokens: 1, limit: 0, waitedMs: 0, message: "Go on?" } as const
    expect(WithCommand.titleOf([{ conversationId, error, wait: { ...wait, asks } }], now)).toContain("asks you")
  })
})
