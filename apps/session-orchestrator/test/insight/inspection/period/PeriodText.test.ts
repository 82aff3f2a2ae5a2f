/** Checks the report's texts and picture, and that docs/report.md shows them as they are printed. */
import { describe, expect, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import * as PeriodPicture from "../../../../src/insight/inspection/period/PeriodPicture.ts"
import * as PeriodText from "../../../../src/insight/inspection/period/PeriodText.ts"
import * as Night from "./Night.ts"

const { reportOf } = Night

const read = (path: string): string => readFileSync(new URL(`../../../../../../docs/${path}`, import.meta.url), "utf8")

/** All but line feeds. */
const CONTROLS = /(?!\n)\p{Cc}|\p{Bidi_Control}/u

const night = () => reportOf(Night.turns)

const HOSTILE = "x/<script>alert(1)</script>|`*[a](b)\u001b[31m\n# \u202eend"
const hostile = () =>
  reportOf([
    Night.turn("a", {
      state: "failed",
      target: HOSTILE,
      error: { reason: "overloaded", message: HOSTILE },
      waits: [{ from: Night.at("01:00"), to: Night.at("02:00") }],
      endpoints: [
        { target: HOSTILE, at: Night.at("01:00"), why: { reason: "overloaded", code: HOSTILE } },
        { target: HOSTILE, at: Night.at("02:00") }
      ],
      usage: [Night.used(HOSTILE, 1, 1)]
    })
  ])

describe("the texts of a report", () => {
  it("rule X12: reports when a limit of a provider was used up", () => {
    const target = "anthropic~client/claude"
    const why = { reason: "quota-exhausted", code: undefined } as const
    const endpoints = [
      { target, at: Night.at("01:00"), why },
      { target, at: Night.at("03:00") }
    ]
    const limited = reportOf([Night.turn("a", { target, endpoints })])
    expect(limited.line).toContain("; anthropic~client/claude at its limit 01:00-03:00")
  })

  it("rule X12: docs/report.md shows the report of a night as it is printed, and its picture", () => {
    expect(read("report.md")).toContain(`\`\`\`text\n${PeriodText.lines(night()).join("\n")}\n\`\`\``)
    expect(read("images/report.svg")).toBe(PeriodPicture.svg(night()))
  })

  it("rule X12: names the questions that wait for a person, the most urgent first, with the command that answers", () => {
    const asks = (message: string, because: "spend" | "tools") =>
      ({ because, tokens: 0, limit: 0, waitedMs: 0, message }) as const
    const question = (id: string, message: string, until: string, because: "spend" | "tools") =>
      Night.turn(id, {
        state: "waiting",
        endedAt: undefined,
        question: { asks: asks(message, because), since: Night.at("23:00"), until: Night.at(until) }
      })
    const failed = { target: Night.CLAUDE, at: Night.at("01:00"), why: Night.OVERLOADED }
    const report = reportOf([
      question("b", "The day has cost 5 USD.", "06:59", "spend"),
      question("a", "A person has to approve send sk-secret.", "06:30", "tools"),
      Night.turn("failed", { endpoints: [failed, { ...failed, at: Night.at("05:00") }] })
    ])
    expect(report.line).toContain("2 not ended, 2 waiting for a person")
    expect(report.questions?.map(({ turnId }) => turnId)).toEqual(["a", "b"])
    const text = PeriodText.lines(report).join("\n")
    expect(text).toContain("Questions to you\n  A person has to approve send [redacted]. Asked 23:00, answer until")
    expect(text).toContain("\n    holdfast chat --conversation c-a\n")
    expect(text).not.toContain("sk-secret")
  })

  it("keeps markup and control characters of models and messages out of all of them", () => {
    const text = PeriodText.lines(hostile()).join("\n")
    expect(text).not.toMatch(CONTROLS)
    // The command quotes what a shell would read.
    expect(text).toContain("--model 'x/<script>")
    const outsideOfCode = PeriodText.markdown(hostile())
      .join("\n")
      .replaceAll(/```[^]*?```/g, "")
    expect(outsideOfCode).not.toMatch(/(?<!\\)<script>|\n# /)
    expect(outsideOfCode).not.toMatch(CONTROLS)
    const svg = PeriodPicture.svg(hostile())
    expect(svg).not.toContain("<script>")
    expect(svg.replaceAll(/<[^<>]*>/g, "")).not.toMatch(/[<>]/)
  })

  it("writes a figure of one, and leaves out what there is none of", () => {
    const none = reportOf([])
    const { answeredCalls: _, ...older } = none
    expect(PeriodText.lines(older)).toEqual(PeriodText.lines(none))
    const words = (report: typeof none) =>
      PeriodText.lines({ ...report, line: PeriodText.line(report) }).map((line) => line.replaceAll(/ +/g, " ").trim())
    const model = (name: string, unreported: number) =>
      ({ ...none.spend, name, turns: 1, unreported, cost: "unknown" }) as const
    const spend = { ...none.spend, turns: 1, unreported: 1 }
    const switches = Array.from({ length: 21 }, (_, n) => ({ from: "a/m", to: `b/${n}`, count: 1 }))
    const once = { ...none, turns: { ...none.turns, aborted: 1, queued: 1 }, answeredCalls: 1, forgotten: 1, switches }
    const of = { waited: 1, turnWaitedMs: 1, waitedMs: 1, spend, models: [model("a/m", 1)] }
    const all = [...words(none), "---", ...words({ ...once, ...of }), ""].join("\n")
    expect(all).toBe(readFileSync(new URL("PeriodText.txt", import.meta.url), "utf8"))
    const priced = PeriodText.lines({ ...none, models: [model("a/m", 0), model("b/m", 1)] })
    expect(priced.filter((line) => /price/.test(line))).toEqual([
      "  a/m has no price: set prices in the configuration."
    ])
  })

  it("draws the shortest outage, a long name, a tick every two hours, and that no turn waited", () => {
    const target = `a/${"x".repeat(29)}`
    const short = { target, at: Night.at("01:00") }
    const why = { reason: "network", code: undefined } as const
    const turn = Night.turn("a", {
      endpoints: [
        { ...short, why },
        { ...short, at: short.at + 16 }
      ]
    })
    const svg = PeriodPicture.svg(reportOf([turn], { ...Night.period, until: Night.at("10:30") }))
    const texts = Array.from(svg.matchAll(/<text[^>]*>([^<]*)/g), ([, text]) => text)
    const ticks = "22:00 00:00 02:00 04:00 06:00 08:00 10:00".split(" ")
    const words = [`a/${"x".repeat(27)}…`, "waiting turns, 0 at most", "turns that ended"]
    expect(texts.slice(2, -3)).toEqual([...ticks, ...words])
    expect(svg).toContain('<rect class="bad" x="399.44" y="73" width="2" height="14">')
  })

  it("writes small money with enough digits, and unknown money as unknown", () => {
    expect([0, 0.000_123, 0.015, 1, 1_234.5].map((cost) => PeriodText.money(cost)).join()).toBe(
      "0.0000 USD,0.00012 USD,0.0150 USD,1.00 USD,1234.50 USD"
    )
    expect(PeriodText.money("unknown")).toBe("unknown")
    expect(PeriodText.money(2, true)).toBe("2.00 USD and an unknown part")
  })

  it("names no remedy for a cause whose turns were all run again", () => {
    const first = Night.turns.find(({ state }) => state === "failed") ?? expect.fail("no failed turn")
    const { conversationId } = first
    const again = Night.turn("again", { conversationId, isRetry: true, acceptedAt: Night.at("06:59") })
    const text = (turns: typeof Night.turns) => PeriodText.lines(reportOf(turns)).join("\n")
    expect(text([first])).toContain("holdfast retry")
    expect(text([first, again])).not.toContain("holdfast retry")
    expect(text([first, again])).toContain("(1 retried since)")
  })
})
