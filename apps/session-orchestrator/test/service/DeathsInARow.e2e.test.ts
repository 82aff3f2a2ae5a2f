/** Tests a turn that kills its process repeatedly, beside harmless turns (rule X14). */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as SideBySide from "./SideBySide.ts"

/** The answer to each prompt, up to a gate that the test may open. */
const WORDS = "some words of an answer"

/** A provider that yields so many frames of each answer, the first of them a preamble, and lists its callers. */
const setup = Effect.fnUntraced(function* (frames: number) {
  const setup = yield* ProcessSetup.setup({ isGated: false })
  const calls: Array<{ readonly prompt: string; readonly gate: ReturnType<typeof ProcessSetup.gated>["gate"] }> = []
  setup.provider.fallback(({ body }) => {
    const prompt = ["killer", "long", "young"].findLast((prompt) => body.includes(`"${prompt}"`)) ?? ""
    const { gate, response } = ProcessSetup.gated(WORDS, frames)
    calls.push({ prompt, gate })
    return response
  })
  /** Waits for the call with this number, and until its content has left. */
  const reached = Effect.fnUntraced(function* (number: number) {
    yield* Process.eventually(
      `call ${number}`,
      Effect.sync(() => calls.length),
      (count) => count > number
    )
    const call = calls[number] ?? assert.fail("there is no such call")
    yield* call.gate.reached
    return call
  })
  return { ...setup, calls, reached }
})

/** Posts a turn whose id is its prompt, and disconnects. */
const post = Effect.fnUntraced(function* (service: ProcessSetup.Running, prompt: string) {
  const id = yield* service.create()
  const { until } = yield* service.open(ProcessSetup.request(id, prompt))
  yield* until("turn-start")
  return id
})

const test = SideBySide.atOnce(2)

describe.concurrent("turns whose process dies", () => {
  test("rule X14: a turn that kills its process is taken up alone after three deaths, sealed after the next, and harms no other", function* () {
    const { calls, directory, reached, start } = yield* setup(3)
    const prompts = (from: number) => calls.slice(from).map(({ prompt }) => prompt)

    const first = yield* start
    const killer = yield* post(first, "killer")
    yield* reached(0)
    const long = yield* post(first, "long")
    yield* reached(1)
    yield* first.end("SIGKILL")

    // They die together twice more: the service cannot know which of them is the cause.
    const second = yield* start
    for (const number of [2, 3]) yield* reached(number)
    yield* second.end("SIGKILL")
    const third = yield* start
    for (const number of [4, 5]) yield* reached(number)
    const young = yield* post(third, "young")
    yield* reached(6)
    assert.deepStrictEqual(prompts(2).toSorted(), ["killer", "killer", "long", "long", "young"])
    yield* third.end("SIGKILL")

    // The young turn is taken up first; then one of the others, alone.
    const fourth = yield* start
    const { gate, prompt } = yield* reached(7)
    assert.deepStrictEqual([prompt, calls.length], ["young", 8])
    yield* gate.open
    assert.strictEqual(ProcessSetup.endOf(yield* ProcessSetup.turn(fourth, young, "young")).status, "completed")
    assert.deepStrictEqual([(yield* reached(8)).prompt, calls.length], ["killer", 9])
    assert.include(fourth.stdout() + fourth.stderr(), "deaths of their process in a row")
    yield* fourth.end("SIGKILL")

    // It is not called again, and the other one runs alone.
    const fifth = yield* start
    const end = ProcessSetup.endOf(yield* ProcessSetup.turn(fifth, killer, "killer"))
    assert.strictEqual(end.status, "failed")
    assert.deepInclude(end.error, { reason: "unknown", retryable: false, defect: true })
    const last = yield* reached(9)
    assert.strictEqual(last.prompt, "long")
    yield* last.gate.open
    assert.strictEqual(ProcessSetup.endOf(yield* ProcessSetup.turn(fifth, long, "long")).status, "completed")
    assert.deepStrictEqual(prompts(9), ["long"])
    // Its shown text is void, and an event declares that.
    const events = yield* ProcessSetup.turn(fifth, killer, "killer")
    assert.strictEqual(
      events
        .slice(-3)
        .map(({ type }) => type)
        .join(),
      "step-discarded,error,turn-end"
    )
    yield* fifth.end("SIGTERM")

    const explained = yield* Process.run({ args: ["explain", "killer"], directory })
    const { stdout } = yield* explained.exit
    const words = stdout.replaceAll(/\s+/g, " ")
    assert.include(words, "The process died 4 times in a row in the middle of this turn.")
    assert.include(words, "so the turn is not run again")
  })
})
