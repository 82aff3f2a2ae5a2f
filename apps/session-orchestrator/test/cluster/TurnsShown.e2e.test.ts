/** `holdfast turns` beside runners that share a PostgreSQL: which of them has each turn. */
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as ProcessSetup from "../service/ProcessSetup.ts"
import * as Process from "../service/Process.ts"
import * as PostgresServer from "../storage/PostgresServer.ts"
import * as Runners from "./Runners.ts"
import * as UnderWay from "./UnderWay.ts"

/** Only what is asked for wakes a turn. */
const DELAYS = ["1 hour"]

it.live(
  "rule X6, X15: shows each turn with the runner that has it: the one that made its conversation until it dies, then the next one, and none when all are dead",
  () =>
    Effect.gen(function* () {
      const postgres = yield* PostgresServer.start
      const runners = yield* Runners.make(postgres, DELAYS, { telemetry: { retryLog: { path: RETRY_LOG } } })
      const both = yield* runners.startAll(2)
      const [first, second] = [at(both, 0), at(both, 1)]
      const shown = turnsOf(runners)

      yield* runners.undisturbed(
        Effect.gen(function* () {
          const ids = yield* UnderWay.waiting(runners, both, 12)
          // Each runner logs the waits of its own turns.
          const owned = yield* Process.eventually(
            "every wait to be logged",
            Effect.sync(() => new Map(both.flatMap((runner) => logged(runner, ids)))),
            ({ size }) => size === ids.length
          )
          // LocalId.L1: the runner that made a conversation has it, wherever its prompt came in.
          for (const [i, id] of ids.entries()) assert.strictEqual(owned.get(id), addressOf(at(both, i % both.length)))
          const turns = yield* shown
          for (const [id, address] of owned) assert.strictEqual(turns.get(id), address)
          // Any runner answers for any turn, its own or not.
          for (const id of ids) {
            const [one, other] = yield* Effect.all([first.turn(id), second.turn(id)])
            assert.deepInclude(one, { status: "waiting", attempts: 1 })
            assert.deepStrictEqual(other, one)
          }
        })
      )
      const id = yield* first.create()
      const submitted = yield* second.call(ProcessSetup.submission(id, "submitted"))
      assert.deepStrictEqual([submitted.status, submitted.headers.location], [202, "/v1/turns/submitted"])
      for (const runner of both) {
        const { text } = yield* Process.eventually(
          "the answer",
          runner.turn("submitted"),
          ({ status }) => status === "completed"
        )
        assert.strictEqual(text, UnderWay.WHOLE)
      }
      assert.strictEqual((yield* first.call(ProcessSetup.submission(id, "submitted"))).status, 202)

      const all = [...(yield* shown).keys()]
      const allAt = (address: string | null) => new Map(all.map((id) => [id, address]))

      yield* first.end("SIGKILL")
      yield* runners.settled(1)
      assert.deepStrictEqual(yield* shown, allAt(addressOf(second)))

      yield* second.end("SIGKILL")
      yield* runners.settled(0)
      assert.deepStrictEqual(yield* shown, allAt(null))
      const { stderr, stdout } = yield* holdfast(runners, "turns")
      assert.match(stdout, /^STATE +CONVERSATION +TURN +RUNNER /)
      assert.include(stderr, "No service runs on this database")
      assert.include(stdout, `${all.length} have no runner at the moment.`)
    }).pipe(Effect.scoped)
)

// --- internal

const RETRY_LOG = "retries.jsonl"

const at = (runners: ReadonlyArray<Runners.Reached>, i: number): Runners.Reached =>
  runners[i] ?? assert.fail("there is no such runner")

const addressOf = ({ runnerPort }: Runners.Reached): string => `127.0.0.1:${runnerPort}`

/** Of some conversations those whose retries a runner has logged, with its address. */
const logged = (runner: Runners.Reached, ids: ReadonlyArray<string>) => {
  const file = path.join(runner.directory, RETRY_LOG)
  const text = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : ""
  return ids.filter((id) => text.includes(`"sessionId":"${id}"`)).map((id) => [id, addressOf(runner)] as const)
}

/** Runs the program on the database only, without the cluster's part of the configuration. */
const holdfast = (runners: Runners.Runners, ...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const directory = yield* Process.directory
    const env = { HOLDFAST_DATABASE_URL: Redacted.value(runners.url) }
    const { exit } = yield* Process.run({ args, directory, env })
    return yield* exit
  }).pipe(Effect.scoped)

/** The runner that is shown for each conversation. */
const turnsOf = (runners: Runners.Runners) =>
  Effect.map(holdfast(runners, "turns", "--json"), ({ code, stderr, stdout }) => {
    assert.strictEqual(code, 0, stderr)
    const turns = stdout
      .trim()
      .split("\n")
      .map((line): Shown => JSON.parse(line))
    return new Map(turns.map(({ conversationId, runner }) => [conversationId, runner]))
  })

interface Shown {
  readonly conversationId: string
  readonly runner: string | null
}
