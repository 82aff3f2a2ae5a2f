/** Tests `holdfast dry-run` and the pictures of `holdfast schedule`. */
import { describe } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { assert, expect } from "vitest"
import { Lists } from "../../src/storage/Lists.ts"
import type { Recording } from "../../src/storage/Recording.ts"
import * as GivenTurn from "../GivenTurn.ts"
import * as CommandLine from "./CommandLine.ts"
import * as Inspected from "./Inspected.ts"
import * as It from "../It.ts"

const CONFIG = {
  providers: {
    one: { type: "openai-compatible", baseUrl: "http://one/v1" },
    two: { type: "openai-compatible", baseUrl: "http://two/v1" }
  },
  model: "one/m",
  retry: { routing: { type: "fallback-chain", chains: { default: ["two/x"] } } }
}
const files = {
  "holdfast.config.json": JSON.stringify(CONFIG),
  "other.json": JSON.stringify({ ...CONFIG, retry: { profile: "interactive" } })
}
const dryRun = (...args: ReadonlyArray<string>) => CommandLine.run(["dry-run", ...args], { files })

describe("holdfast dry-run", () => {
  It.effect("rule X10: tries two configurations side by side, with an outage for each endpoint", function* () {
    const outages = ["--outage", "one=529 for 2h", "--outage", "two/x=503 for 30m"]
    const { code, stdout } = yield* dryRun(...outages, "--turns", "20", "--against", "other.json")
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^20 turns of one\/m within 1 m, by overnight, holdfast.config.json beside interactive, other/
    )
    expect((yield* dryRun("--outage", "529")).stdout).toMatch(/^A turn of one\/m, by overnight, holdfast.config.json\n/)
    expect(stdout).toMatch(/overnight, holdfast.config.json +interactive, other.json/)
    expect(stdout).toMatch(/answered +20 of 20 +0 of 20/)
    expect(stdout).toContain("20 because no retries were left (overloaded)")
    expect(stdout).toMatch(/two\/x +\d+ calls, 20 answered +-/)
  })

  It.effect("needs no key of a provider, as it calls none", function* () {
    const chains = { default: ["anthropic/claude-sonnet-4-5"] }
    const keyed = { model: "openai/gpt-5", retry: { routing: { type: "fallback-chain", chains } } }
    const files = { "holdfast.config.json": JSON.stringify(keyed), "other.json": JSON.stringify(keyed) }
    const args = ["dry-run", "--outage", "openai=529 for 2h", "--against", "other.json"]
    const { code, stderr, stdout } = yield* CommandLine.run(args, { files })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(/anthropic\/claude-sonnet-4-5 +1 call, 1 answered +1 call, 1 answered/)
  })

  It.effect("prints one JSON object, and is the same every time", function* () {
    const run = () => dryRun("--outage", "429x3;retry-after=7", "--turns", "3", "--json")
    const [one, other] = [yield* run(), yield* run()]
    expect(one.stdout.split("\n")).toHaveLength(2)
    expect(one.stdout).toBe(other.stdout)
    expect(JSON.parse(one.stdout)).toMatchObject({
      outages: { "*": "429x3;retry-after=7" },
      runs: [{ report: { turns: 3, answered: 3, failed: 0 }, turns: [{ turnId: "turn-1" }, {}, {}] }]
    })
  })

  It.effect("rule X10: writes a picture without a script or an address to load", function* () {
    const written = new Map<string, string>()
    const args = ["dry-run", "--outage", "529 for 7h", "--turns", "50", "--svg", "/night.svg"]
    yield* CommandLine.run(args, { files, written })
    const svg = written.get("/night.svg") ?? ""
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" [^]*<\/svg>\n$/)
    expect(svg).toContain("prefers-color-scheme:dark")
    expect(svg).toContain(">turn-50</text>")
    assert.notMatch(svg, /<script|href|url\(|@import/)
    assert.isBelow(svg.length, 40_000)
  })

  It.effect("names what was wrong, where, and what was expected", function* () {
    const refusals: ReadonlyArray<readonly [ReadonlyArray<string>, string]> = [
      [[], "expected --outage with what the turns meet, such as '529 for 7h', or --replay"],
      [
        ["--outage", "one=ok, 529 fro 7h"],
        '"one=ok, 529 fro 7h", character 9: "529 fro 7h" is not valid. Expected phases'
      ],
      [["--outage", "529", "--outage", "503"], "there are two scripts for every endpoint"],
      [["--outage", "three=529"], 'no turn calls "three"; expected one of one, two, one/m, two/x.'],
      [["--outage", "529", "--within", "soon"], '--within: found "soon"; expected a duration such as "10 minutes".'],
      [["--outage", "529", "--turns", "0"], '--turns: found "0"; expected a number from 1 to 10000.'],
      [["--outage", "529", "--hours", "745"], '--hours: found "745"; expected a number from 1 to 744.'],
      [["--outage", "529", "--against", "missing.json"], "there is no such file"],
      [["--outage", "529", "--model", "nobody/m"], "nobody"]
    ]
    for (const [args, message] of refusals) {
      const { code, stderr, stdout } = yield* dryRun(...args)
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" })
      expect(stderr).toContain(message)
    }
    expect(yield* dryRun("--outage", "529", "--turns", "1", "--hours", "744")).toMatchObject({ code: 0, stderr: "" })
    const unwritable = yield* dryRun("--outage", "529", "--svg", "/readonly.svg")
    expect(unwritable.code).toBe(1)
    expect(unwritable.stderr).toContain("--svg: /readonly.svg cannot be written")
  })

  It.effect("a run ends at its hours, and turns that still wait are counted", function* () {
    const { stdout } = yield* dryRun("--outage", "down", "--hours", "1", "--turns", "2")
    expect(stdout).toMatch(/still waiting +2 after 1 h/)
  })
})

describe("holdfast dry-run --replay", () => {
  const NOW = 1_933_000_000_000
  const at = (ms: number) => NOW - 3_600_000 + ms
  const turnId = Ids.TurnId.make("t_left")
  const place = { step: 0, number: 0 }
  const failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 } as const
  const recording: Recording = {
    without: 1,
    isCut: false,
    turns: [
      {
        turnId,
        conversationId: Ids.ConversationId.make("c"),
        acceptedAt: at(0),
        target: { provider: "one", model: "m" },
        retry: undefined,
        autoRetryEnabled: true,
        isSubmitted: false,
        records: [
          {
            kind: "Attempt",
            ...place,
            value: { _tag: "Failed", content: [], endedAt: at(100), failure, contentSeen: false, spread: 0 }
          },
          { kind: "Decision", ...place, value: { _tag: "GiveUp", because: "exhausted" } }
        ],
        end: GivenTurn.end("failed", { turnId, endedAt: at(100), steps: 0 })
      }
    ]
  }
  const replay = Effect.fnUntraced(function* (given: Recording, ...args: ReadonlyArray<string>) {
    yield* TestClock.setTime(NOW)
    const asked: Array<number> = []
    const inspection = Layer.merge(
      Inspected.layer(),
      Layer.mock(Lists, { recording: (since) => Effect.sync(() => (asked.push(since), given)) })
    )
    const written = new Map<string, string>()
    const outcome = yield* CommandLine.run(["dry-run", ...args], { files, parts: { inspection }, written })
    return { ...outcome, asked, written }
  })

  It.effect("rule X10: puts what would have been beside what was, and lists what it assumes", function* () {
    const args = ["--replay", "2 hours", "--against", "other.json", "--svg", "/replay.svg"]
    const { asked, code, stderr, stdout, written } = yield* replay(recording, ...args)
    expect({ code, stderr, asked }).toEqual({ code: 0, stderr: "", asked: [NOW - 7_200_000] })
    expect(stdout).toMatch(/^1 turn since /)
    expect(stdout).toMatch(/: 0 of 1 turn follows its record to the end; \d+ decisions? (was|were) made again as /)
    expect(stdout).toMatch(/By [^\n]+ 1 turn ends otherwise:/)
    expect(stdout).toMatch(/answered +0 of 1 +1 of 1 +0 of 1/)
    expect(stdout).toMatch(/t_left +failed .*1 call, no attempts were left \(overloaded\) +answered .* 2 calls/)
    expect(stdout).toContain("- An endpoint is down between two failed calls")
    expect(stdout).toContain("- two/x is assumed to answer at once: 1 call, and the record has none.")
    expect(stdout).toContain("- 1 turn is left out, because its records are gone")
    expect(written.get("/replay.svg")).toContain(">as it was</text>")
  })

  It.effect("prints the same as JSON, and refuses what it cannot read", function* () {
    const { stdout } = yield* replay(recording, "--replay", "2 hours", "--json")
    expect(JSON.parse(stdout)).toMatchObject({
      since: NOW - 7_200_000,
      was: { report: { failed: 1 }, turns: [{ turnId }] },
      runs: [{ report: { answered: 1, calls: 2 }, followed: [{ decisions: 0 }] }]
    })
    const other = yield* replay(recording, "--replay", "2 hours", "--json", "--model", "two/x")
    const { report } = JSON.parse(other.stdout).runs[0]
    expect(report.endpoints).toEqual([{ target: "two/x", calls: 1, answered: 1, failed: 0 }])
    const wrong = yield* replay(recording, "--replay", "yesternight")
    expect(wrong).toMatchObject({ code: 2, stdout: "" })
    expect(wrong.stderr).toContain('--replay: found "yesternight"; expected "12 hours", a time of day')
    const everywhere = yield* replay(recording, "--replay", "2 hours", "--outage", "529")
    expect(everywhere.stderr).toContain("--outage: a replay has the record's outages; name the target")
    const empty = yield* replay({ turns: [], without: 0, isCut: false }, "--replay", "2 hours")
    expect(empty).toMatchObject({ code: 0 })
    expect(empty.stdout).toMatch(/^No turn was accepted or ended since /)
  })
})

describe("holdfast schedule --svg", () => {
  It.effect("draws the retries of a policy, and the kinds that it treats in their own way", function* () {
    const written = new Map<string, string>()
    const args = ["schedule", "--profile", "cycling", "--svg", "/s.svg"]
    expect((yield* CommandLine.run(args, { written })).code).toBe(0)
    const svg = written.get("/s.svg") ?? ""
    expect(svg).toContain('<title id="t">Profile cycling</title>')
    expect(svg).toContain(">each failure</text>")
    expect(svg).toContain(">rate-limited")
  })
})
