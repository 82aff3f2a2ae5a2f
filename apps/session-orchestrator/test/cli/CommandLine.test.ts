import { describe, expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Fiber, Layer } from "effect"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { TestClock } from "effect/testing"
import process from "node:process"
import type { TurnReport } from "../../src/insight/inspection/TurnReport.ts"
import { Store } from "../../src/storage/Store.ts"
import type * as Backup from "../../src/storage/sqlite/Backup.ts"
import * as Logged from "../storage/Logged.ts"
import * as NumberedData from "../storage/NumberedData.ts"
import * as CommandLine from "./CommandLine.ts"
import * as Inspected from "./Inspected.ts"
import * as It from "../It.ts"

const SECRET = "planted-planted-planted"
const environment = { HOLDFAST_TOKEN: SECRET, HOLDFAST_DATABASE_PATH: "a.db" }
const postgres = { HOLDFAST_DATABASE_URL: "postgres://u:p@db/h", HOLDFAST_RUNNER_TOKEN: SECRET }

const conversationId = Ids.ConversationId.make("c-1")
const turnId = Ids.TurnId.make("t-1")

/** Stores a turn of a conversation. */
const accepted = Effect.fnUntraced(function* (conversationId: Ids.ConversationId) {
  yield* (yield* Store).createConversation(NumberedData.conversation(1, { conversationId, createdAt: 1_000 }))
  yield* Logged.accept(NumberedData.turn(1, 1, { conversationId, turnId, acceptedAt: 1_000 }))
})

describe("holdfast turns", () => {
  const turn = (over: Partial<TurnReport>): TurnReport => ({
    conversationId,
    turnId,
    state: "completed",
    model: "anthropic/claude",
    prompt: `Why? ${SECRET}`,
    acceptedAt: 0,
    ageMs: 1_000,
    attempts: 0,
    ...over
  })

  /** Local times, in the time zone of the machine. */
  const today = (hours: number, minutes: number, seconds: number) =>
    new Date(2031, 3, 1, hours, minutes, seconds).getTime()
  const waiting = turn({ state: "waiting", wait: { retry: 0, retryAt: today(22, 5, 9), leftMs: 9_000, since: 0 } })
  const acceptedAt = new Date(2031, 0, 9, 1, 2, 3).getTime()
  const failed = turn({ state: "failed", acceptedAt, endedAt: today(21, 0, 0) })

  const NOTE = "No service runs on this database: its turns continue when `holdfast serve` is started.\n"

  const turns = (
    args: ReadonlyArray<string>,
    {
      found = [],
      isUnserved = false,
      screen
    }: {
      readonly found?: ReadonlyArray<TurnReport>
      readonly isUnserved?: boolean
      readonly screen?: CommandLine.CommandInput["screen"]
    } = {}
  ) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(today(22, 5, 0))
      const asked: Array<boolean> = []
      const inspection = Inspected.layer(Effect.void, {
        turns: ({ all }) => Effect.sync(() => asked.push(all)).pipe(Effect.as(found)),
        isUnserved: Effect.succeed(isUnserved)
      })
      const outcome = yield* CommandLine.run(["turns", ...args], {
        parts: { environment, inspection },
        ...(screen && { screen })
      })
      return { ...outcome, asked }
    })

  It.effect("prints a table into a file, with times of this day, and with the date for other days", function* () {
    const { asked, code, stderr, stdout } = yield* turns([], {
      found: [waiting, failed],
      screen: { stdout: false, stderr: false, columns: 20 }
    })
    expect({ asked, code, stderr }).toEqual({ asked: [false], code: 0, stderr: "" })
    expect(stdout).toMatch(/^STATE +CONVERSATION .*\nwaiting +c-1 +t-1 .* 22:05:09, in 9 s /)
    expect(stdout).toMatch(/\nfailed .* 2031-01-09 01:02:03 +21:00:00 /)
    expect(stdout).toMatch(/Why\? \[redacted\]\n\n2 turns in a\.db: .*\n$/)
  })

  It.effect("notes that no service runs them if a turn is open and there is no service", function* () {
    for (const state of ["waiting", "running", "queued"] as const) {
      const { stderr } = yield* turns([], { found: [failed, turn({ state })], isUnserved: true })
      expect(stderr).toBe(NOTE)
    }
    const all = yield* turns(["--all"], { found: [failed, turn({})], isUnserved: true })
    expect(all).toMatchObject({ stderr: "", asked: [true] })
    expect(yield* turns([], { found: [waiting] })).toMatchObject({ stderr: "" })
    expect(yield* turns(["--json"], { found: [waiting], isUnserved: true })).toMatchObject({ stderr: "" })
  })

  It.effect("searches ended turns too with --failed and --since", function* () {
    const found = [waiting, failed, turn({ endedAt: today(21, 30, 0) })]
    const states = (outcome: { readonly stdout: string }) =>
      outcome.stdout.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line).state]))
    const ofFailed = yield* turns(["--json", "--failed"], { found })
    expect([ofFailed.asked, states(ofFailed)]).toEqual([[true], ["failed"]])
    const since = yield* turns(["--json", "--since", "21:30"], { found })
    expect([since.asked, states(since)]).toEqual([[true], ["waiting", "completed"]])
    const limited = yield* turns(["--json", "--limit", "1", "--model", "anthropic"], { found })
    expect([limited.asked, states(limited)]).toEqual([[false], ["completed"]])
    expect(states(yield* turns(["--json", "--model", "anthropic/claude"], { found }))).toHaveLength(3)
    const none = [(yield* turns(["--all"])).stdout, (yield* turns([])).stdout]
    expect(none).toEqual(["There are no such turns in a.db.\n", expect.stringMatching(/^No turn waits or runs in /)])
  })

  It.effect("refuses an invalid moment and an invalid number", function* () {
    for (const [args, stderr] of [
      [["--since", "soon"], expect.stringMatching(/^holdfast: --since: found "soon"; expected "12 hours"/)],
      [["--limit", "0"], 'holdfast: --limit: found "0"; expected a number from 1 on.\n'],
      [["--limit", "ten"], 'holdfast: --limit: found "ten"; expected a finite number.\n']
    ] as const)
      expect(yield* turns(args)).toMatchObject({ code: 2, stdout: "", stderr })
    expect(yield* turns(["--limit", "1"])).toMatchObject({ code: 0 })
  })
})

describe("holdfast report", () => {
  const fill = accepted(Ids.ConversationId.make("c1"))
  const report = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
    yield* TestClock.setTime(1_933_000_000_000)
    const inspection = Inspected.layer(args.includes("--conversation") ? fill : Effect.void)
    return yield* CommandLine.run(["report", ...args], { parts: { environment, inspection } })
  })
  const inJson = (...args: ReadonlyArray<string>) =>
    Effect.map(report("--json", ...args), ({ stdout }): { readonly [key: string]: number } => JSON.parse(stdout))

  It.effect("rule X12: reports the last twelve hours, or since a moment, as text, Markdown or JSON", function* () {
    const text = yield* report()
    expect(text).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/^0 answered, 0 failed\n\nFrom /) })
    const until = 1_933_000_000_000
    const line = "0 answered, 0 failed"
    expect(yield* inJson()).toMatchObject({ since: until - 12 * 3_600_000, until, line })
    expect(yield* inJson("--since", "2 hours")).toMatchObject({ since: until - 2 * 3_600_000, until })
    expect(yield* inJson("--conversation", "c1")).toMatchObject({ since: 1_000, turns: { queued: 1 } })
    expect(yield* report("--conversation", "c2")).toMatchObject({ code: 1, stdout: "" })
    expect((yield* report("--markdown")).stdout).toMatch(/^\*\*0 answered, 0 failed\*\*\n/)
  })

  It.effect("refuses a moment that it cannot read, and a picture that it cannot write", function* () {
    expect(yield* report("--since", "soon")).toMatchObject({ code: 2, stdout: "" })
    const stderr = expect.stringMatching(/^holdfast: --svg: nowhere\/night\.svg cannot be written/)
    expect(yield* report("--svg", "nowhere/night.svg")).toMatchObject({ code: 1, stdout: "", stderr })
  })
})

describe("holdfast explain", () => {
  const explain = (...args: ReadonlyArray<string>) =>
    CommandLine.run(["explain", ...args], {
      parts: { environment, inspection: Inspected.layer(accepted(conversationId)) }
    })

  It.effect("rule X9: prints a turn in words, or as JSON", function* () {
    const words = yield* explain("t-1")
    expect(words).toMatchObject({ code: 0, stderr: "" })
    expect(words.stdout).toMatch(/^Turn t-1 of conversation c-1: queued\b[^]*[^\n]\n$/)
    const json = yield* explain("t-1", "--json")
    expect(JSON.parse(json.stdout)).toMatchObject({ turnId: "t-1", status: "queued" })
    expect(json.stdout).toContain('\n  "turnId": "t-1"')
  })

  It.effect("reports an unknown turn, and refuses what is no id", function* () {
    for (const [id, code, stderr] of [
      ["t-2", 1, 'There is no turn "t-2" in this database. `holdfast turns --all` lists them.'],
      ["no id", 2, 'turn: found "no id"; expected 1 to 64 letters, digits, "_" or "-".']
    ] as const)
      expect(yield* explain(id)).toMatchObject({ code, stdout: "", stderr: `holdfast: ${stderr}\n` })
  })
})

describe("holdfast schedule", () => {
  const schedule = (...args: ReadonlyArray<string>) => CommandLine.run(["schedule", ...args])

  It.effect("rule D1: prints the waits of a profile, up to the requested number", function* () {
    const whole = yield* schedule()
    expect(whole).toMatchObject({ code: 0, stderr: "" })
    expect(whole.stdout).toMatch(/^Profile overnight\n\nretry +wait/)
    expect(whole.stdout).toContain("\n   21   30 m   7 h 31 m 45 s\n")
    const two = yield* schedule("--rows", "2", "--profile", "interactive")
    expect(two.stdout).toContain("Profile interactive\n")
    expect(two.stdout).toContain("2 of 3 retries, 6 s of waiting so far. 1 more follows, 14 s of waiting in all.")
  })

  It.effect("prints sixty rows of a longer schedule, and names the configuration's changes", function* () {
    const retry = { schedule: { type: "steps", delays: ["1 second"] }, maxRetries: 70 }
    const { stdout } = yield* CommandLine.run(["schedule"], {
      files: { "holdfast.config.json": JSON.stringify({ retry }) }
    })
    expect(stdout).toMatch(/^Profile overnight, with its own schedule, maxRetries\n/)
    expect(stdout).toContain("60 of 70 retries, 1 m of waiting so far.")
  })
})

describe("holdfast backup", () => {
  const backup = (summary: Partial<Effect.Success<ReturnType<typeof Backup.make>>>, ms = 0, totalBytes = 20) =>
    CommandLine.run(["backup", "copy.db"], {
      parts: {
        environment,
        backup: Effect.succeed((from, to, onProgress) =>
          Effect.gen(function* () {
            onProgress({ copiedBytes: totalBytes / 2, totalBytes })
            yield* TestClock.adjust(ms)
            for (const share of [0.95, 0.95, 1]) onProgress({ copiedBytes: share * totalBytes, totalBytes })
            expect([from, to]).toEqual([expect.stringMatching(/\/a\.db$/), "copy.db"])
            return { bytes: 2_048, conversations: 1, turns: 1, unsealed: 0, ...summary }
          })
        )
      }
    })

  It.effect("prints what was copied", function* () {
    expect(yield* backup({})).toEqual({
      code: 0,
      stderr: "",
      stdout: "copy.db: 2.0 KiB, 1 conversation with 1 turn. It was read to the end, and is whole.\n",
      seen: expect.anything()
    })
    expect(yield* backup({ conversations: 0, turns: 2, unsealed: 1 })).toMatchObject({
      stdout: expect.stringContaining(", 0 conversations with 2 turns (1 unfinished). It was")
    })
  })

  It.effect("writes a line for each tenth of a copy that is slow or large", function* () {
    const [slow, half, large] = ["Copied 90 % of 20.0 B\nChecking 20.0 B\n", "Copied 50 % of 64.0 MiB\n", 67_108_864]
    expect([(yield* backup({}, 1_999)).stderr, (yield* backup({}, 2_000)).stderr]).toEqual(["", slow])
    const whole = `${half}Copied 90 % of 64.0 MiB\nChecking 64.0 MiB\n`
    expect([(yield* backup({}, 0, large - 1)).stderr, (yield* backup({}, 0, large)).stderr]).toEqual(["", whole])
  })

  It.effect("leaves PostgreSQL to its own tools", function* () {
    const { code, stderr, stdout } = yield* CommandLine.run(["backup", "copy.db"], { parts: { environment: postgres } })
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toMatch(/^holdfast: The data is in PostgreSQL/)
  })
})

describe("holdfast run", () => {
  const shared = { parts: { environment: postgres } }
  const refusals: ReadonlyArray<
    [what: string, args: ReadonlyArray<string>, given: CommandLine.CommandInput, stderr: RegExp]
  > = [
    ["no prompt at a terminal", [], {}, /^holdfast: There is no prompt\. Give one/],
    [
      "an empty prompt",
      [],
      { stdin: " \n" },
      /^holdfast: The prompt is empty; expected its text as an argument or on standard input\.\n$/
    ],
    ["an empty system prompt", ["--system", "", "a"], {}, /^holdfast: --system: it is empty\.\n$/],
    ["U+0000", [], { stdin: "a\0" }, /^holdfast: The prompt: .*U\+0000.* position 1\.\n$/],
    ["two system prompts", ["--system", "a", "--system-file", "b", "c"], {}, /both give the system prompt/],
    ["a file that is not there", ["--system-file", "b", "c"], {}, /--system-file b: there is no such file\.\n$/],
    [
      "a file that cannot be read",
      ["--system-file", "b", "c"],
      { files: { b: "unreadable" } },
      /--system-file b: it cannot be read \(PermissionDenied\)\.\n$/
    ],
    ["an empty file", ["--system-file", "b", "c"], { files: { b: "\n" } }, /--system-file b: it is empty\.\n$/],
    ["an id with a blank", ["--conversation", "a b", "c"], {}, /--conversation: found "a b"; expected 1 to 64/],
    [
      "a conversation of runners",
      ["--conversation", "a", "c"],
      shared,
      /^holdfast: --conversation: with database\.url the conversations belong to the runners/
    ],
    ["a turn of runners", ["--turn-id", "a", "c"], shared, /^holdfast: --turn-id: with database\.url/]
  ]
  It.effect("a conversation of runners is that of the runner that is named", function* () {
    const args = ["run", "--conversation", "a", "--url", "http://127.0.0.1:1", "c"]
    const { code, stderr } = yield* CommandLine.run(args, shared)
    expect(code).toBe(1)
    expect(stderr).toContain("The service at http://127.0.0.1:1 does not answer (bad port).")
  })

  it.effect.each(refusals)("refuses %s before anything is asked", ([, args, given, expected]) =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* CommandLine.run(["run", ...args], given)
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
      expect(stderr).toMatch(expected)
    })
  )
})

describe("holdfast config check", () => {
  const check = (content: string | undefined, args: ReadonlyArray<string> = []) =>
    CommandLine.run(["config", "check", ...args], {
      parts: { environment },
      files: content === undefined ? {} : { "night.json": content }
    })
  const asked = ["--config", "night.json"]

  It.effect("prints the configuration in force with its origins, without secrets", function* () {
    const none = yield* check(undefined)
    expect(none).toMatchObject({ code: 0, stderr: "" })
    expect(none.stdout).toMatch(/^There is no configuration file\. In force:\n\n {2}server\.host +127\.0\.0\.1\b/)
    expect(none.stdout).toMatch(/\n {2}server\.token +\[redacted\] {2}\(HOLDFAST_TOKEN\)\n/)
    expect(none.stdout).toMatch(/\nKnown, and not in use: [^\n]*openai/)
    const good = yield* check('{ "server": { "port": 1 } }', asked)
    expect(good.stdout).toMatch(/night\.json is good\. In force, with the line or another source in brackets:\n/)
    expect(good.stdout).toMatch(/\n {2}server\.port +1 {2}\(line 1\)\n/)
  })

  It.effect("names the problems, and ends with 2", function* () {
    for (const [content, problem] of [
      [
        '{ "server": { "port": 99999 } }',
        "  server.port (line 1, column 15): found 99999; expected an integer from 0 to 65535."
      ],
      ["{", "  line 1, column 2: found the end of the text; expected a key in double quotes."],
      [
        '{ "model": "a\\u0000" }',
        "  model (line 1, column 3): expected text without the character U+0000, which is at position 1."
      ]
    ] as const) {
      const { code, stderr, stdout } = yield* check(content, asked)
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
      expect(stderr).toMatch(/^holdfast: night\.json has a problem\.\n/)
      expect(stderr).toContain(problem)
    }
    const refused = yield* CommandLine.run(["config", "check"], {
      parts: { environment: { HOLDFAST_DATABASE_PATH: "/dev/null/a.db" } }
    })
    expect(refused).toMatchObject({ code: 2, stdout: "" })
    expect(refused.stderr).toMatch(/^holdfast: Could not create the database \/dev\/null\/a\.db/)
    const missing = yield* check(undefined, asked)
    expect(missing.stderr).toMatch(/night\.json: there is no such file\.\n$/)
    expect(yield* check(" \n", asked)).toMatchObject({ code: 0 })
    expect((yield* check("unreadable", asked)).stderr).toContain("it cannot be read: PermissionDenied.")
  })
})

describe("holdfast serve", () => {
  const service = Layer.mock(HttpServer.HttpServer, {
    address: NetAddress.inetAddressUnsafe(NetAddress.ipv4Loopback, 4_747)
  })
  for (const [place, isTerminal] of [["into files"], ["on a terminal", true]] as const)
    It.effect(`runs until a signal, with its address and its end, ${place}`, function* () {
      const screen = { stdout: isTerminal === true, stderr: isTerminal === true }
      const before = process.listenerCount("SIGTERM")
      const signal = CommandLine.signalling()
      let isShown = false
      const page = Effect.sync(() => void (isShown = true))
      const serve = CommandLine.run(["serve"], { parts: { environment: {}, service, page }, screen })
      const running = yield* Effect.forkChild(serve, { startImmediately: true })
      yield* Effect.repeat(Effect.yieldNow, { until: () => process.listenerCount("SIGTERM") > before })
      yield* Effect.repeat(Effect.yieldNow, { times: 1_000 })
      signal("SIGTERM")
      const { code, stderr, stdout } = yield* Fiber.join(running)
      expect([code, isShown]).toEqual([0, true])
      expect(stderr).toMatch(/model\W+simulated\/outage-2/)
      expect(stderr.startsWith("{")).toBe(isTerminal !== true)
      expect(stdout).toMatch(/^Holdfast 1\.2\.3 listens on http:\/\/127\.0\.0\.1:4747\n/)
      expect(stdout).toContain("  data   ")
      expect(stderr).toMatch(
        /Holdfast has started\.[^]*Stopping after SIGTERM: answers that have begun may finish\.[^]*Holdfast has stopped\./
      )
      expect(/\n\n/.test(stderr)).toBe(isTerminal === true)
    })
})

describe("holdfast", () => {
  It.effect("prints its version and its help, and the mistake of a command line", function* () {
    expect(yield* CommandLine.run(["--version"])).toMatchObject({ code: 0, stdout: "holdfast 1.2.3\n", stderr: "" })
    const help = yield* CommandLine.run(["--help"])
    expect(help).toMatchObject({ code: 0, stderr: "" })
    expect(help.stdout).toContain("Keeps LLM agent turns alive")
    const wrong = yield* CommandLine.run(["sreve"])
    expect(wrong).toMatchObject({ code: 2, stdout: "" })
    expect(wrong.stderr).toMatch(/^holdfast: Unknown subcommand "sreve"[^]*\nSee: holdfast --help\n$/)
  })

  It.effect("reports a bug by its name, without secrets and without a stack trace", function* () {
    const inspection = Layer.effectContext(Effect.die(new TypeError(`x of ${SECRET} is undefined`)))
    expect(yield* CommandLine.run(["turns"], { parts: { environment, inspection } })).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "holdfast: this is a bug in Holdfast, not in what you did: TypeError: x of [redacted] is undefined\n"
    })
  })
})

describe("holdfast acp", () => {
  It.effect("is refused where runners share the conversations", function* () {
    const shared = yield* CommandLine.run(["acp"], { parts: { environment: postgres } })
    expect(shared).toMatchObject({ code: 2, stdout: "" })
    expect(shared.stderr).toContain("Give --config with a database.path of the editor's own.")
  })
})

describe("holdfast rpc", () => {
  It.effect("refuses wrong flags on standard error, before anything is on standard output", function* () {
    for (const [args, stderr] of [
      [["--after", "3"], "holdfast: --after: a new conversation has no events. Give --conversation too.\n"],
      [["--conversation", "c", "--after", "-1"], 'holdfast: --after: found "-1"; expected a number from 0 on.\n'],
      [
        ["--conversation", "a b"],
        'holdfast: --conversation: found "a b"; expected 1 to 64 letters, digits, "_" or "-".\n'
      ]
    ] as const) {
      expect(yield* CommandLine.run(["rpc", ...args])).toMatchObject({ code: 2, stdout: "", stderr })
    }
    const shared = yield* CommandLine.run(["rpc", "--conversation", "c"], { parts: { environment: postgres } })
    expect(shared).toMatchObject({ code: 2, stdout: "" })
    expect(shared.stderr).toContain("with database.url the conversations belong to the runners")
  })
})
