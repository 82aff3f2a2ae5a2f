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
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect, Fiber, Semaphore } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as TestToolServers from "@holdfast/mcp/testing"
import * as CrashHarness from "./CrashHarness.ts"
import { assertWhole } from "./CrashChecks.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import { toolCalls } from "./ToolFrames.ts"

const { ErrorBody, answerFrames, errorFrame } = ScriptedServer

/** Brings the process of some turns to its death, and leaves another one running. */
type Phase = (harness: CrashHarness.Harness) => Effect.Effect<void, Error, CrashHarness.Requirements>

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
const fails = ({ chance, provider }: CrashHarness.Harness, times: number): void => {
  const first = chance.from(0, failures().length - 1)
  for (let n = 0; n < times; n++) {
    const failure = failures()[(first + n) % failures().length]
    if (failure !== undefined) provider.respond(failure)
  }
}

/** An answer that stops at a gate after so many of its frames; the first is a preamble. */
const gated = ({ provider }: CrashHarness.Harness, behind: number): ScriptedServer.ResponseGate => {
  const { gate, response } = ProcessSetup.gated(CUT, behind)
  provider.respond(response)
  return gate
}

const LAST = answerFrames("openai", CUT).length - 1

const both = (harness: CrashHarness.Harness) => Effect.andThen(harness.post("one"), harness.post("two"))

/** The wait may be over by then: on a busy machine it is shorter than the time between two looks. */
const waits = (harness: CrashHarness.Harness, attempt: number) =>
  harness.waitUntilSeen(`wait ${attempt}`, ({ retries }) => retries.some((retry) => retry.attempt >= attempt))

/** The first of two turns is in its second wait, after a short one; its provider fails so many times in total. */
const asleep = Effect.fnUntraced(function* (
  harness: CrashHarness.Harness,
  failures: number,
  ...delays: ReadonlyArray<string>
) {
  yield* harness.begin("100 millis", ...delays)
  fails(harness, failures)
  yield* both(harness)
  yield* waits(harness, 1)
})

/** The first of two turns is being answered, up to a gate after so many frames; it may have failed before. */
const answering = Effect.fnUntraced(function* (harness: CrashHarness.Harness, behind: number, mostFailures = 1) {
  yield* harness.begin("50 millis", "100 millis")
  fails(harness, harness.chance.from(0, mostFailures))
  const gate = gated(harness, behind)
  yield* both(harness)
  yield* gate.reached
  return gate
})

/** The tool runs that are recorded by now. */
const runsOf = ({ runs }: CrashHarness.Harness) =>
  Effect.sync(() => (fs.existsSync(runs) ? fs.readFileSync(runs, "utf8").trim().split("\n") : []))

/** A turn whose tools run, or one of them, or are requested. They answer once the returned file exists. */
const runsTools = Effect.fnUntraced(function* (harness: CrashHarness.Harness) {
  const gate = path.join(harness.directory, "gate")
  const names = ["append", "append_again"]
  harness.tools = { unruly: { ...TestToolServers.unrulyEntry(), allow: names, idempotent: ["append_again"] } }
  yield* harness.begin("50 millis")
  fails(harness, harness.chance.from(0, 1))
  const input = { file: harness.runs, gate }
  harness.provider.respond({ frames: toolCalls(...names.map((name) => ({ name, input }))) })
  yield* both(harness)
  const running = harness.chance.from(0, 2)
  yield* Process.eventually("tools to run", runsOf(harness), (lines) => lines.length >= running)
  return gate
})

const phases = Object.entries<Phase>({
  "before a prompt is acknowledged": Effect.fnUntraced(function* (harness) {
    yield* harness.begin("100 millis")
    fails(harness, harness.chance.from(0, 1))
    const posting = yield* Effect.forkScoped(harness.post("one"), { startImmediately: true })
    yield* harness.waitBriefly(0, 12)
    yield* harness.kill
    yield* Fiber.join(posting)
    yield* harness.restart
  }),
  "in an attempt, after its first content": Effect.fnUntraced(function* (harness) {
    yield* answering(harness, harness.chance.from(2, LAST), 2)
    if (harness.chance.of(true, false)) yield* harness.waitUntilSeen("some of it", ({ current }) => current !== "")
    yield* harness.kill
    yield* harness.restart
  }),
  "asleep, for longer than it is away": Effect.fnUntraced(function* (harness) {
    yield* asleep(harness, 2, `${harness.chance.from(2_000, 3_000)} millis`)
    yield* harness.waitBriefly(0, 400)
    yield* harness.kill
    yield* harness.restart
  }),
  "on disk alone, for long, and woken by hand": Effect.fnUntraced(function* (harness) {
    yield* asleep(harness, harness.chance.from(2, 3), `${harness.chance.from(6_000, 8_000)} millis`, "100 millis")
    yield* harness.waitBriefly(0, 300)
    if (harness.chance.of(true, false)) yield* harness.command("retry-now")
    yield* harness.kill
    yield* harness.restart
    harness.promises.length = 0 // a command will break it
    yield* harness.command("retry-now")
  }),
  "right after it has told that it is aborted": Effect.fnUntraced(function* (harness) {
    yield* harness.begin("100 millis", `${harness.chance.of(3_000, 8_000)} millis`)
    fails(harness, harness.chance.of(1, 2))
    const gate = gated(harness, harness.chance.from(0, LAST))
    yield* both(harness)
    yield* Effect.raceFirst(waits(harness, 1), gate.reached)
    yield* harness.waitBriefly(0, 300)
    yield* harness.abort("one")
    yield* harness.kill
    yield* gate.open // for "two", if "one" never reached it
    yield* harness.restart
  }),
  "in a tool": Effect.fnUntraced(function* (harness) {
    const gate = yield* runsTools(harness)
    if (harness.chance.of(true, false)) fs.writeFileSync(gate, "")
    yield* harness.waitBriefly(0, 20)
    yield* harness.kill
    fs.writeFileSync(gate, "")
    yield* harness.restart
  }),
  "at the seal": Effect.fnUntraced(function* (harness) {
    const gate = yield* answering(harness, LAST)
    yield* harness.waitUntilSeen("all of it", ({ current }) => current === CUT)
    yield* gate.open
    yield* harness.waitBriefly(0, 12)
    yield* harness.kill
    yield* harness.restart
  }),
  "on its way down, in an answer": Effect.fnUntraced(function* (harness) {
    const gate = yield* answering(harness, harness.chance.from(2, LAST))
    harness.alive.child.kill("SIGTERM")
    yield* harness.waitBriefly(0, 150)
    if (harness.chance.of(true, false)) yield* gate.open
    yield* harness.waitBriefly(0, 50)
    yield* harness.kill
    yield* harness.restart
  }),
  "asleep, and twice more on its way up": Effect.fnUntraced(function* (harness) {
    yield* asleep(harness, harness.chance.from(2, 3), `${harness.chance.from(200, 2_000)} millis`)
    yield* harness.kill
    yield* harness.dieDuringStart(200, 1_200)
    yield* harness.dieDuringStart(200, 1_200)
    yield* harness.restart
  }),
  "at any moment": Effect.fnUntraced(function* (harness) {
    yield* harness.begin("50 millis", "200 millis", "300 millis")
    fails(harness, harness.chance.from(0, 3))
    yield* both(harness)
    yield* harness.waitBriefly(0, 700)
    yield* harness.kill
    yield* harness.restart
  })
})

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

describe.concurrent(`rule X1: a process is killed (HOLDFAST_SEED=${seed} HOLDFAST_CRASH_RUNS=${runs})`, () => {
  for (let run = 0; run < runs; run++) {
    const [name, phase] = phases[run % phases.length] ?? phases[0] ?? never()
    it.live(
      `run ${run}: ${name}`,
      () =>
        Effect.gen(function* () {
          const harness = yield* CrashHarness.make(seed + run)
          harness.provider.fallback(ProcessSetup.answer(WHOLE))
          yield* phase(harness)
          yield* assertWhole(harness, { turns: ["one", "two"], texts: [CUT, WHOLE] })
        }).pipe(Effect.scoped, places.withPermits(1)),
      TIMEOUT_MS
    )
  }
})

function never(): never {
  throw new Error("there are phases")
}
