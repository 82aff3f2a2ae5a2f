/** Compares the pictures and texts of dry runs and schedules with a file. `HOLDFAST_WRITE_DOCS=1` writes it. */
import { expect, it } from "@effect/vitest"
import { Profile, type RetrySettings } from "@holdfast/policy"
import { defined } from "@holdfast/wire"
import { Duration } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import type { DryTurnCourse } from "../../../src/insight/dry-run/DryTurnCourse.ts"
import * as DryRunText from "../../../src/insight/dry-run/DryRunText.ts"
import * as Picture from "../../../src/insight/dry-run/Picture.ts"
import type { Followed } from "../../../src/insight/dry-run/ReplayedTurn.ts"
import * as Trial from "../../../src/insight/dry-run/Trial.ts"
import { MODEL, outagesOf } from "./Beside.ts"

const file = new URL("Pictures.txt", import.meta.url)

type Outcomes = ReadonlyArray<DryTurnCourse["calls"][number]["outcome"]>

const turn = (n: number, outcomes: Outcomes, ms: number, status?: "completed" | "failed"): DryTurnCourse => {
  const target = `${"long/".repeat(4)}m${n % 2}`
  const calls = outcomes.map((outcome, i) => ({ at: i * ms, endedAt: i * ms + n, target, outcome }))
  const waits = outcomes.slice(1).map((_, i) => ({ from: i * ms + n, retryAt: (i + 1) * ms, endedAt: (i + 1) * ms }))
  const end = status && { status, at: (outcomes.length - 1) * ms + n }
  return { turnId: `turn-${n}`, startedAt: 0, calls, waits, ...defined({ end }) }
}
const outages = outagesOf(["529 for 7h"])
const trial = (
  name: string,
  endAt: number,
  turns: ReadonlyArray<DryTurnCourse>,
  followed?: ReadonlyArray<Followed>
) => ({
  ...Trial.of(name, { startAt: 0, endAt, turns }),
  ...defined({ followed })
})
const many = Array.from({ length: 21 }, (_, n) => turn(n, ["failed", "answered"], 100, "completed"))
const failing = ["failed", "shared", "failed"] as const
const end = { status: "failed", at: 62_804, because: "exhausted", reason: "overloaded" } as const
const failed = { ...turn(4, failing, 31_400), end }
const run = (turns: ReadonlyArray<DryTurnCourse>) => {
  const trials = [trial("overnight", 120, turns)] as const
  return { outages, assumptions: ["not drawn"], trials }
}
const [first = expect.fail("none"), ...others] = many
const replay = (by: ReadonlyArray<DryTurnCourse>, ...more: ReadonlyArray<Trial.Trial>) => ({
  ...run([]),
  was: trial("as it was", 130_000, [turn(3, failing, 31_400), failed, ...others.slice(1)]),
  trials: [trial("x", 9, by, [{ decisions: 1 }]), ...more] as const
})
const left = trial("y", 9, [], [{ decisions: 2, leftAt: 1 }, { decisions: 0 }])

it("rule X10: draws and writes runs, replays and schedules as the file has them", () => {
  const schedule = (settings: RetrySettings.RetrySettings, most: number) =>
    Picture.ofSchedule("schedule", Profile.resolve(settings), MODEL, most)
  const reasons = { network: { budget: Duration.seconds(9) } }
  const text = (of: Trial.Comparison) => DryRunText.lines("As text", of, String).join("\n")
  const all = [
    ...[many, many.slice(1), [first]].map((turns) => Picture.svg(`${turns.length}`, run(turns))),
    // The times of day are those of the machine.
    Picture.svg("replayed", replay([first])).replaceAll(/>\d\d:\d\d</g, ">hh:mm<"),
    schedule({ profile: "interactive", reasons }, 9),
    schedule({}, 3),
    schedule({ schedule: { type: "steps", delays: [Duration.millis(300)] }, maxRetries: 2 }, 5),
    schedule({ enabled: false }, 5),
    ...[run([failed]), run([first]), replay(many), replay([failed, failed, ...others.slice(1)], left)].map(text),
    text(replay(many.map(() => turn(5, failing, 7, "failed"))))
  ].join("\n")
  if (process.env["HOLDFAST_WRITE_DOCS"] === "1") writeFileSync(file, all)
  expect(all).toBe(readFileSync(file, "utf8"))
})
