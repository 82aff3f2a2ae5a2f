/** Tests `holdfast explain` as a process: after a turn, and beside a running service. */
import { assert, describe, it } from "@effect/vitest"
import { TurnExplanation } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import * as Process from "../service/Process.ts"

const config = (model: string, delay: string) => ({
  model,
  retry: { schedule: { type: "steps", delays: [delay], tail: delay } }
})

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(TurnExplanation.TurnExplanation))

const holdfast = (directory: string, ...args: ReadonlyArray<string>) =>
  Effect.flatMap(Process.run({ args, directory, env: { TZ: "UTC" } }), ({ exit }) => exit)

describe("holdfast explain", () => {
  it.live("rule X9: prints the decisions of a turn in words, and as JSON, when no service runs", () =>
    Effect.gen(function* () {
      const directory = yield* Process.directory
      Process.writeConfig(directory, config("simulated/529x2+instant", "10 millis"))
      const turn = yield* holdfast(directory, "run", "--json", "Hello")
      const { turnId } = JSON.parse(turn.stdout.split("\n", 1)[0] ?? "")

      const words = yield* holdfast(directory, "explain", turnId)
      assert.deepInclude(words, { code: 0, stderr: "" })
      assert.match(words.stdout, /: completed\.\nTimes are UTC\.\n/)
      assert.match(
        words.stdout,
        /Attempt 1 failed before any content: overloaded, 529 overloaded_error: "Overloaded"\./
      )
      assert.match(words.stdout, /Attempt 2: same\. Retry 2 at .*, after 10 ms, the schedule's/)
      assert.match(words.stdout, /The turn was answered after 3 calls and 20 ms of waiting\.\n$/)

      const json = yield* holdfast(directory, "explain", turnId, "--json")
      assert.deepInclude(decode(json.stdout), { turnId, status: "completed", isForgotten: false })
    }).pipe(Effect.scoped)
  )

  it.live(
    "rule X9: prints those of a turn that waits in a running service; reports an unknown one and the command that lists turns",
    () =>
      Effect.gen(function* () {
        const directory = yield* Process.directory
        const service = yield* Process.start({ directory, config: config("simulated/outage-1", "1 hour") })
        const id = yield* service.create()
        const live = yield* service.open({
          path: `/v1/conversations/${id}/turns`,
          headers: { accept: "application/x-ndjson" },
          body: { prompt: "Hello", turnId: "nightly-1" }
        })
        yield* live.until("provider-retry")
        const { code, stdout } = yield* holdfast(directory, "explain", "nightly-1")
        assert.strictEqual(code, 0)
        assert.match(
          stdout,
          /^Turn nightly-1 of conversation .*: waiting, to retry at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\n/
        )
        assert.match(stdout, /, after 1 h, the schedule's; 1 h of 8 h spent\.\n$/)
        const { signal: _, ...unknown } = yield* holdfast(directory, "explain", "no-such-turn")
        assert.deepStrictEqual(unknown, {
          code: 1,
          stderr: 'holdfast: There is no turn "no-such-turn" in this database. `holdfast turns --all` lists them.\n',
          stdout: ""
        })
      }).pipe(Effect.scoped)
  )
})
