/**
 * Leaves sixty turns for a night, and compares its report with what their providers saw (X12).
 *
 * Schedules are in parts of a second. The service runs as a process, is killed with -9 at half, and runs again; commands are processes too.
 */
import { assert, describe } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { PeriodReport, type TurnState } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { promisify } from "node:util"
import { freePort } from "../FreePort.ts"
import { assertSeen, PRICES, TARGETS, timeless } from "./NightChecks.ts"
import { ANSWERED, answerTo, NightProviders } from "./NightProviders.ts"
import * as Process from "./Process.ts"
import type { Running } from "./ProcessSetup.ts"
import { MAIN } from "./Program.ts"
import * as It from "../It.ts"

const execute = promisify(execFile)

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(PeriodReport.PeriodReport))

/** Turns by their model; two of `large` have a stand-in. */
const LEFT = { large: 28, moved: 2, medium: 20, review: 10 }

const KEYS = { SOUTH_KEY: "south-0123456789", TEAM_KEY: "revoked-0123456789" }
const VALID_KEY = "valid-0123456789"

const fileOfTurns = (): string =>
  [
    ...numbered("large", LEFT.large).map((id) => ({ id, model: TARGETS.large, tags: ["nightly"] })),
    ...numbered("moved", LEFT.moved).map((id) => ({
      id,
      model: TARGETS.large,
      retry: { routing: { type: "fallback-chain", chains: { default: [TARGETS.small] } } }
    })),
    ...numbered("medium", LEFT.medium).map((id) => ({ id, model: TARGETS.medium })),
    ...numbered("review", LEFT.review).map((id) => ({ id, model: TARGETS.review }))
  ]
    .map((turn) => `${JSON.stringify({ ...turn, prompt: turn.id })}\n`)
    .join("")

describe("a night", () => {
  It.live(
    "rule X1, X12: after an outage, a quota, a revoked key and kill -9 the report has what providers saw",
    function* () {
      const night = new NightProviders()
      const [north, south] = [yield* ScriptedServer.start(), yield* ScriptedServer.start()]
      for (const server of [north, south]) server.fallback(night.respond)
      const directory = yield* Process.directory
      const config = {
        server: { port: yield* freePort },
        database: { path: "night.db" },
        providers: {
          north: { type: "openai-compatible", baseUrl: `${north.url}/v1` },
          south: { type: "openai-compatible", baseUrl: `${south.url}/v1`, apiKeyEnv: ["SOUTH_KEY"] },
          spare: { type: "openai-compatible", baseUrl: `${south.url}/v1` },
          team: { type: "openai-compatible", baseUrl: `${south.url}/v1`, apiKeyEnv: ["TEAM_KEY"] }
        },
        model: TARGETS.large,
        prices: PRICES,
        retry: { schedule: { type: "steps", delays: ["300 millis", "600 millis"] } },
        telemetry: { notifications: { after: "500 millis", command: ["true"] } }
      }
      const env = { ...KEYS, TZ: "Europe/Berlin" }
      const holdfast = (...args: ReadonlyArray<string>) => Process.run({ args, directory, env })
      const print = (...args: ReadonlyArray<string>) =>
        Effect.flatMap(holdfast(...args), ({ exit }) =>
          Effect.map(exit, ({ code, stderr, stdout }) => {
            assert.strictEqual(code, 0, stderr)
            return stdout
          })
        )
      const begun = Date.now()

      // The evening: the work is left, and a part of it ends.
      const first = yield* Process.start({ directory, config, env })
      fs.writeFileSync(path.join(directory, "turns.jsonl"), fileOfTurns())
      const ids = lines(yield* print("submit", "--each", "turns.jsonl"))
      assert.strictEqual(ids.length, 60)
      const waiting = yield* holdfast("wait", ...ids) // over the kill
      const ended = Effect.zipWith(
        count(first, "completed"),
        count(first, "failed"),
        (answered, failed) => answered + failed
      )
      yield* Process.eventually("the evening's ends", ended, (turns) => turns === 2 * ANSWERED + LEFT.review)
      yield* Effect.all([north.received(LEFT.large + LEFT.moved), south.received(LEFT.medium + LEFT.review)])

      // The night: outages begin. With half of the turns ended and one call under way, all else on disk, the process is killed.
      const darkAt = Date.now()
      yield* night.dusk.open
      yield* night.midnight.reached
      yield* Process.eventually("all else to wait", count(first, "running"), (turns) => turns === 1)
      assert.isAtLeast(yield* ended, 30)
      yield* first.end("SIGKILL")
      const second = yield* Process.start({ directory, config, env })

      // The morning: all have ended. Some have failed, so `wait` ends with 1.
      const waited = yield* waiting.exit
      assert.deepStrictEqual([waited.code, lines(waited.stdout).length], [1, 60], waited.stderr)
      const reportArgs = ["report", "--since", new Date(begun).toISOString()]
      const [text, json] = yield* Effect.all([print(...reportArgs), print(...reportArgs, "--json")], { concurrency: 2 })
      const report = decode(json)
      assertSeen(report, { night, since: begun, darkAt, database: path.join(directory, config.database.path) })
      const overHttp = yield* second.call({ path: `/v1/report?since=${begun}` })
      assert.deepStrictEqual(settled(decode(overHttp.text)), settled(report))
      assert.strictEqual(timeless(text), timeless(fs.readFileSync(REPORT, "utf8")), text)

      // X1: the attempt that was cut had shown nothing, and was made again.
      const [{ prompt: cut = "" } = {}, ...others] = night.cut
      assert.deepStrictEqual(others, [])
      const { attempts, conversationId, status } = yield* second.turn(cut)
      assert.deepStrictEqual([status, attempts], ["completed", night.callsOf(cut).length - 1])
      assert.deepStrictEqual(yield* second.history(conversationId), [`user: ${cut}`, `assistant: ${answerTo(cut)}`])

      // What the report advises against its only cause of failures: a valid key, a restart, and a command.
      const { advice, command = "" } = report.causes[0]?.remedy ?? {}
      assert.strictEqual(advice, "Put a valid key into TEAM_KEY and restart the service, then:")
      assert.include(text, `    ${advice}\n    ${command}\n`)
      night.validKey = VALID_KEY
      yield* second.end("SIGTERM")
      const third = yield* Process.start({ directory, config, env: { ...env, TEAM_KEY: VALID_KEY } })
      const retried = yield* shell(command, directory, env)
      const again = lines(retried).map((line) => line.split(" ").at(-1) ?? "")
      assert.strictEqual(new Set(again).size, LEFT.review, retried)
      yield* Process.eventually("their answers", count(third, "completed"), (turns) => turns === 60)
      const mended = decode((yield* third.call({ path: `/v1/report?since=${begun}` })).text)
      assert.deepInclude(mended.turns, { answered: 60, failed: LEFT.review, retried: LEFT.review })
      assert.strictEqual(mended.calls, night.calls.length - 1)
      // It has no price.
      assert.deepInclude(
        mended.models.find(({ name }) => name === TARGETS.review),
        { cost: "unknown", turns: LEFT.review }
      )
      assert.deepInclude(mended.spend, { cost: report.spend.cost, isPartial: true })
    }
  )
})

// --- internal

const REPORT = path.join(import.meta.dirname, "night-report.txt")

/** All but the moment at which the report was made, and what depends on it. */
const settled = (report: PeriodReport.PeriodReport) => ({ ...report, timeline: undefined, until: undefined })

const lines = (text: string): ReadonlyArray<string> => text.trim().split("\n")

/** The number of turns with a status. */
const count = (service: Running, status: TurnState.TurnState["status"]) =>
  Effect.map(
    service.call({ path: `/v1/turns?status=${status}&limit=200` }),
    ({ text }): number => JSON.parse(text).turns.length
  )

function numbered(name: string, count: number): ReadonlyArray<string> {
  return Array.from({ length: count }, (_, n) => `${name}-${n}`)
}

/** Runs a command line as a person does. */
function shell(command: string, cwd: string, env: Readonly<Record<string, string>>): Effect.Effect<string, Error> {
  return Effect.tryPromise(() =>
    execute("sh", ["-c", `holdfast() { "${process.execPath}" "${MAIN}" "$@"; }; ${command}`], { cwd, env })
  ).pipe(Effect.map(({ stdout }) => stdout))
}
