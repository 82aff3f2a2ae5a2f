/**
 * Kills a process with -9 at random points, and checks its turns after a restart.
 *
 * `test` runs every phase once or more. The nightly form runs as many as requested:
 *
 *     HOLDFAST_CRASH_RUNS=100 vitest run --config vitest.workspace.ts Crash.e2e
 *
 * The title of a run has its seed; `HOLDFAST_SEED=... HOLDFAST_CRASH_RUNS=...` as they stand there repeats the same runs.
 */
import { describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/providers/testing"
import { Effect, Fiber, Semaphore } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as ToolsGiven from "../tools/Given.ts"
import * as CrashHarness from "./CrashHarness.ts"
import { assertWhole } from "./CrashChecks.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import { toolCalls } from "./ToolFrames.ts"

const { ErrorBody, answerFrames, errorFrame } = ScriptedServer

/** Brings the process of some turns to its death, and leaves another one running. */
type Phase = (stage: CrashHarness.Stage) => Effect.Effect<void, Error, CrashHarness.Requirements>

const words = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n}`).join(" ")

/** The text of the attempt that a death may cut, and the text of every other attempt. */
const CUT = words("cut", 40)
const WHOLE = words("whole", 60)

const failures = (): ReadonlyArray<ScriptedServer.ScriptedResponse> => [
  ProcessSetup.overloaded,
  { status: 502, headers: { "content-type": "text/html" }, body: ErrorBody.page(502) },
  { status: 429, body: ErrorBody.envelope("rate-limit", "openai") },
  { frames: [errorFrame("openai", "overloaded")] },
  { frames: answerFrames("openai", "never shown").slice(0, 1), cutAfter: 1 },
  { status: 200, body: "" },
  "reset"
]

/** The provider fails so many times, each time in another way. */
const fails = ({ chance, provider }: CrashHarness.Stage, times: number): void => {
  const first = chance.from(0, failures().length - 1)
  for (let n = 0; n < times; n++) {
    const failure = failures()[(first + n) % failures().length]
    if (failure !== undefined) provider.respond(failure)
  }
}

/** An answer that stops at a gate after so many of its frames; the first is a preamble. */
const gated = ({ provider }: CrashHarness.Stage, behind: number): ScriptedServer.Gate => {
  const { gate, response } = ProcessSetup.gated(CUT, behind)
  provider.respond(response)
  return gate
}

const LAST = answerFrames("openai", CUT).length - 1

const both = (stage: CrashHarness.Stage) => Effect.andThen(stage.post("one"), stage.post("two"))

const waits = (stage: CrashHarness.Stage, attempt: number) =>
  stage.sees(`wait ${attempt}`, ({ retries }) => retries.at(-1)?.attempt === attempt)

/** The first of two turns is in its second wait, after a short one; its provider fails so many times in total. */
const asleep = Effect.fnUntraced(function* (
  stage: CrashHarness.Stage,
  failures: number,
  ...delays: ReadonlyArray<string>
) {
  yield* stage.begin("100 millis", ...delays)
  fails(stage, failures)
  yield* both(stage)
  yield* waits(stage, 1)
})

/** The first of two turns is being answered, up to a gate after so many frames; it may have failed before. */
const answering = Effect.fnUntraced(function* (stage: CrashHarness.Stage, behind: number, mostFailures = 1) {
  yield* stage.begin("50 millis", "100 millis")
  fails(stage, stage.chance.from(0, mostFailures))
  const gate = gated(stage, behind)
  yield* both(stage)
  yield* gate.reached
  return gate
})

/** The tool runs that are recorded by now. */
const runsOf = ({ runs }: CrashHarness.Stage) =>
  Effect.sync(() => (fs.existsSync(runs) ? fs.readFileSync(runs, "utf8").trim().split("\n") : []))

/** A turn whose tools run, or one of them, or are requested. They answer once the returned file exists. */
const runsTools = Effect.fnUntraced(function* (stage: CrashHarness.Stage) {
  const gate = path.join(stage.directory, "gate")
  const names = ["append", "append_again"]
  stage.tools = {
    unruly: { ...ToolsGiven.unrulyEntry(), allow: names, idempotent: ["append_again"] }
  }
  yield* stage.begin("50 millis")
  fails(stage, stage.chance.from(0, 1))
  const input = { file: stage.runs, gate }
  stage.provider.respond({ frames: toolCalls(...names.map((name) => ({ name, input }))) })
  yield* both(stage)
  const running = stage.chance.from(0, 2)
  yield* Process.eventually("tools to run", runsOf(stage), (lines) => lines.length >= running)
  return gate
})

const phases: ReadonlyArray<readonly [name: string, phase: Phase]> = [
  [
    "before a prompt is acknowledged",
    Effect.fnUntraced(function* (stage) {
      yield* stage.begin("100 millis")
      fails(stage, stage.chance.from(0, 1))
      const posting = yield* Effect.forkScoped(stage.post("one"), { startImmediately: true })
      yield* stage.passes(0, 12)
      yield* stage.kill
      yield* Fiber.join(posting)
      yield* stage.revive
    })
  ],
  [
    "in an attempt, before its first content",
    Effect.fnUntraced(function* (stage) {
      yield* answering(stage, stage.chance.from(0, 1), 2)
      yield* stage.passes(0, 20)
      yield* stage.kill
      yield* stage.revive
    })
  ],
  [
    "in an attempt, after its first content",
    Effect.fnUntraced(function* (stage) {
      yield* answering(stage, stage.chance.from(2, LAST), 2)
      if (stage.chance.of(true, false)) yield* stage.sees("some of it", ({ current }) => current !== "")
      yield* stage.kill
      yield* stage.revive
    })
  ],
  [
    "asleep, for longer than it is away",
    Effect.fnUntraced(function* (stage) {
      yield* asleep(stage, 2, `${stage.chance.from(2_000, 3_000)} millis`)
      yield* stage.passes(0, 400)
      yield* stage.kill
      yield* stage.revive
    })
  ],
  [
    "asleep, for less than it is away",
    Effect.fnUntraced(function* (stage) {
      yield* asleep(stage, stage.chance.from(2, 3), `${stage.chance.from(200, 400)} millis`)
      yield* stage.kill
      yield* stage.revive
    })
  ],
  [
    "on disk alone, for long, and woken by hand",
    Effect.fnUntraced(function* (stage) {
      yield* asleep(stage, stage.chance.from(2, 3), `${stage.chance.from(6_000, 8_000)} millis`, "100 millis")
      yield* stage.passes(0, 300)
      if (stage.chance.of(true, false)) yield* stage.command("retry-now")
      yield* stage.kill
      yield* stage.revive
      stage.promises.length = 0 // a command will break it
      yield* stage.command("retry-now")
    })
  ],
  [
    "right after it has told that it wakes",
    Effect.fnUntraced(function* (stage) {
      // Delays for a wait in memory, and for a wait on disk alone.
      yield* asleep(stage, stage.chance.from(2, 3), `${stage.chance.of(3_000, 8_000)} millis`, "100 millis")
      yield* stage.passes(0, 300)
      yield* stage.wakes
      yield* stage.kill
      yield* stage.revive
    })
  ],
  [
    "right after it has told that it is aborted",
    Effect.fnUntraced(function* (stage) {
      yield* stage.begin("100 millis", `${stage.chance.of(3_000, 8_000)} millis`)
      fails(stage, stage.chance.of(1, 2))
      const gate = gated(stage, stage.chance.from(0, LAST))
      yield* both(stage)
      yield* Effect.raceFirst(waits(stage, 1), gate.reached)
      yield* stage.passes(0, 300)
      yield* stage.aborts("one")
      yield* stage.kill
      yield* gate.open // for "two", if "one" never reached it
      yield* stage.revive
    })
  ],
  [
    "as it wakes",
    Effect.fnUntraced(function* (stage) {
      yield* asleep(stage, 2, `${stage.chance.from(300, 800)} millis`)
      const retryAt = stage.onlooker.retries.at(-1)?.retryAt ?? 0
      yield* Effect.sleep(Math.max(0, retryAt - Date.now() + stage.chance.from(-15, 15)))
      yield* stage.kill
      yield* stage.revive
    })
  ],
  [
    "in a tool",
    Effect.fnUntraced(function* (stage) {
      const gate = yield* runsTools(stage)
      if (stage.chance.of(true, false)) fs.writeFileSync(gate, "")
      yield* stage.passes(0, 20)
      yield* stage.kill
      fs.writeFileSync(gate, "")
      yield* stage.revive
    })
  ],
  [
    "at the seal",
    Effect.fnUntraced(function* (stage) {
      const gate = yield* answering(stage, LAST)
      yield* stage.sees("all of it", ({ current }) => current === CUT)
      yield* gate.open
      yield* stage.passes(0, 12)
      yield* stage.kill
      yield* stage.revive
    })
  ],
  [
    "on its way down, in an answer",
    Effect.fnUntraced(function* (stage) {
      const gate = yield* answering(stage, stage.chance.from(2, LAST))
      stage.alive.child.kill("SIGTERM")
      yield* stage.passes(0, 150)
      if (stage.chance.of(true, false)) yield* gate.open
      yield* stage.passes(0, 50)
      yield* stage.kill
      yield* stage.revive
    })
  ],
  [
    "on its way down, in a tool",
    Effect.fnUntraced(function* (stage) {
      const gate = yield* runsTools(stage)
      stage.alive.child.kill("SIGTERM")
      yield* stage.passes(0, 150)
      fs.writeFileSync(gate, "")
      yield* stage.passes(0, 50)
      yield* stage.kill
      yield* stage.revive
    })
  ],
  [
    "by a second signal, in an answer",
    Effect.fnUntraced(function* (stage) {
      yield* answering(stage, stage.chance.from(2, LAST))
      // Before that there is no answer to wait for, and the first signal is enough.
      yield* stage.sees("some of the answer", ({ current }) => current !== "")
      yield* stage.quit
      yield* stage.revive
    })
  ],
  [
    "on its way down, asleep",
    Effect.fnUntraced(function* (stage) {
      yield* asleep(stage, 2, `${stage.chance.from(500, 2_500)} millis`)
      stage.alive.child.kill("SIGTERM")
      yield* stage.passes(0, 60)
      yield* stage.kill
      yield* stage.revive
    })
  ],
  [
    "asleep, and twice more on its way up",
    Effect.fnUntraced(function* (stage) {
      yield* asleep(stage, stage.chance.from(2, 3), `${stage.chance.from(200, 2_000)} millis`)
      yield* stage.kill
      yield* stage.stillborn(200, 1_200)
      yield* stage.stillborn(200, 1_200)
      yield* stage.revive
    })
  ],
  [
    "in an answer, and twice more as it is taken up",
    Effect.fnUntraced(function* (stage) {
      yield* stage.begin("50 millis")
      fails(stage, stage.chance.from(0, 1))
      const gates = [
        gated(stage, 12),
        gated(stage, stage.chance.from(0, LAST)),
        gated(stage, stage.chance.from(2, LAST))
      ]
      yield* both(stage)
      for (const gate of gates) {
        yield* gate.reached
        yield* stage.passes(0, 20)
        yield* stage.kill
        yield* stage.revive
      }
    })
  ],
  [
    "at any moment",
    Effect.fnUntraced(function* (stage) {
      yield* stage.begin("50 millis", "200 millis", "300 millis")
      fails(stage, stage.chance.from(0, 3))
      yield* both(stage)
      yield* stage.passes(0, 700)
      yield* stage.kill
      yield* stage.revive
    })
  ]
]

const environment = (name: string): number | undefined => {
  const value = Number(process.env[name] ?? Number.NaN)
  return Number.isSafeInteger(value) ? value : undefined
}

const runs = environment("HOLDFAST_CRASH_RUNS") ?? phases.length
const seed = environment("HOLDFAST_SEED") ?? Date.now() % 1_000_000

/** With more at once, on two cores, turns would wake late for that reason alone. */
const AT_ONCE = 3

const places = Semaphore.makeUnsafe(AT_ONCE)

/** Includes the time that a run waits for its place. The waits inside a run have shorter deadlines. */
const TIMEOUT_MS = 600_000

describe.concurrent(`X1: a process is killed (HOLDFAST_SEED=${seed} HOLDFAST_CRASH_RUNS=${runs})`, () => {
  for (let run = 0; run < runs; run++) {
    const [name, phase] = phases[run % phases.length] ?? phases[0] ?? never()
    it.live(
      `run ${run}: ${name}`,
      () =>
        Effect.gen(function* () {
          const stage = yield* CrashHarness.make(seed + run)
          stage.provider.otherwise(ProcessSetup.answer(WHOLE))
          yield* phase(stage)
          yield* assertWhole(stage, { turns: ["one", "two"], texts: [CUT, WHOLE] })
        }).pipe(Effect.scoped, places.withPermits(1)),
      TIMEOUT_MS
    )
  }
})

function never(): never {
  throw new Error("there are phases")
}
