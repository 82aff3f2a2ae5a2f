/** Checks that the lines and settings in docs/troubleshooting.md exist in the program. */
import type { Failure, TurnExplanation } from "@holdfast/wire"
import { Ids } from "@holdfast/wire"
import { describe, expect, it } from "@effect/vitest"
import { Duration } from "effect"
import { readFileSync } from "node:fs"
import { Classification, Gate } from "@holdfast/policy"
import * as MissingTools from "../src/engine/turn/MissingTools.ts"
import * as Warnings from "../src/engine/driver/Warnings.ts"
import * as Words from "../src/insight/inspection/Words.ts"

const pageOf = (name: string): string => readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), "utf8")
const page = pageOf("troubleshooting")

const failed: Failure.Failure = { reason: "auth", message: "Wrong key", retryable: false }
const MINUTE = 60_000

/** Without its full stop: a cell of a table. */
const gaveUp = (
  because: TurnExplanation.GaveUpBecause,
  more: Partial<TurnExplanation.GaveUp> = {},
  failure: Failure.Failure = failed
): string =>
  Words.decision({ type: "gave-up", because, rules: [], ...more }, failure)
    .replace(/^Gave up: /, "")
    .replace(/\.$/, "")

const made = { target: "openai/gpt-5", rules: [] }

const identity = { conversationId: Ids.ConversationId.make("c1"), turnId: Ids.TurnId.make("t4") }

const MISSING_REPORT =
  "TURN-FAILED: The response had neither a tool call nor a final report. " +
  "Call a tool to go on, or final_report to end with your report: nothing else is accepted."

describe("docs/troubleshooting.md", () => {
  it.each([
    gaveUp("max-retries", { limit: 3 }),
    gaveUp("max-delay", { refusedMs: 60 * MINUTE, limit: 5 * MINUTE }),
    gaveUp("budget", { refusedMs: 30 * MINUTE }),
    gaveUp("disabled").replace(/ \(.*/, ""),
    gaveUp("switched-off"),
    gaveUp("not-retryable"),
    gaveUp("not-retryable", {}, { ...failed, reason: "quota-exhausted" }),
    gaveUp("after-content"),
    gaveUp("defect"),
    Words.waitEnd({ type: "elapsed", heldMs: 40_000, rules: [] }, 0, "c1").replace(/^.*?, and |\.$/g, ""),
    Words.attempt({
      ...made,
      attempt: 3,
      outcome: "failed",
      hasContent: false,
      failure: { ...failed, shared: true }
    }).split(":", 1)[0],
    Words.attempt({ ...made, attempt: 0, outcome: "lost", hasContent: true }).replace(/^Attempt 1 |\. .*/g, ""),
    Words.asking({
      ...failed,
      hint: { retryAfterMs: 9 * MINUTE, source: "retry-after" },
      evidence: { "retry-after": "540" }
    }).replace(/\.$/, ""),
    ...Warnings.of({ type: "synthetic-retry", ...identity, step: 0, guidance: MISSING_REPORT }),
    ...Warnings.of({ type: "final-turn", ...identity, step: 1, cause: "max-turns" }).map(
      (line) => line.split(":", 1)[0]
    )
  ])("quotes %j", (line) => {
    expect(page).toContain(line)
  })

  /** Rows such as "OpenAI: `message`, `message` | `reason`, not retried". */
  const classified = Array.from(
    page.matchAll(/^\| [^|]*: (`[^|]*) \| `([a-z-]+)`(, not retried)? \|$/gm),
    ([, messages = "", reason = "", final]) =>
      Array.from(messages.matchAll(/`([^`]+)`/g), ([, message = ""]) => ({
        message,
        reason,
        retryable: final === undefined
      }))
  ).flat()

  it.each(classified)("rule P1: $message is $reason", ({ message, reason, retryable }) => {
    expect(Classification.ofThrown(new Error(message), 0)).toMatchObject({ reason, retryable })
  })

  it("has messages of agents and providers", () => {
    expect(classified.length).toBeGreaterThan(20)
  })

  it("names the longest hold of a gate and of a required tool server", () => {
    expect(Gate.HOLD_LIMIT_MS).toBe(10 * MINUTE)
    expect(Duration.toMillis(MissingTools.HOLD)).toBe(10 * MINUTE)
    expect(page).toContain("ten minutes at most")
  })

  it("names settings that exist", () => {
    const settings = pageOf("settings")
    const named = Array.from(page.matchAll(/`((?:retry|gate|tools)\.[\w.*]+)`/g), ([, key = ""]) => key)
    expect(named.length).toBeGreaterThan(20)
    // A key, or an object whose keys have rows.
    const exists = (key: string) => settings.includes(`| \`${key}\` |`) || settings.includes(`| \`${key}.`)
    expect(named.filter((key) => !exists(key))).toEqual([])
  })

  it("links to what is there", () => {
    const headings = (name: string): ReadonlyArray<string> =>
      Array.from(pageOf(name).matchAll(/^#+ (.*)$/gm), ([, title = ""]) => title.toLowerCase().replaceAll(" ", "-"))
    const links = Array.from(page.matchAll(/\]\(([a-z]+)\.md(?:#([\w-]+))?\)/g))
    expect(links.length).toBeGreaterThan(4)
    expect(links.filter(([, name = "", anchor]) => anchor !== undefined && !headings(name).includes(anchor))).toEqual(
      []
    )
  })
})
