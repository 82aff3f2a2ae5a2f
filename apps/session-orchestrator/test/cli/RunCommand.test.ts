import { describe, expect } from "@effect/vitest"
import type { TurnEvent } from "@holdfast/wire"
import { Deferred, Effect, Fiber, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as RunCommand from "../../src/cli/RunCommand.ts"
import { delta, end, modelChange, retry } from "../GivenTurn.ts"
import * as Recorder from "./Recorder.ts"
import * as It from "../It.ts"

/** Shows a turn whose events the test emits. */
const showing = Effect.fnUntraced(function* (
  recorder: Recorder.Recorder,
  interrupted: Effect.Effect<void> = Effect.never,
  time: Partial<Parameters<typeof RunCommand.show>[0]> = { timeOfDay: () => "02:14:05" }
) {
  const events = yield* Queue.unbounded<TurnEvent.TurnEvent>()
  let aborts = 0
  const fiber = yield* Effect.forkChild(
    RunCommand.show({
      events: ({ onConnection }) => {
        const lost = { state: "lost", message: "", retryAt: new Date() } as const
        for (const change of [lost, { state: "open" }, { state: "open" }] as const) onConnection(change)
        return Stream.fromQueue(events).pipe(Stream.takeUntil((event) => event.type === "turn-end"))
      },
      terminal: recorder.terminal,
      interrupted,
      abort: Effect.sync(() => void aborts++),
      ...time,
      head: "Turn t of conversation c."
    })
  )
  return {
    happens: (...happened: ReadonlyArray<TurnEvent.TurnEvent>) =>
      Effect.andThen(Queue.offerAll(events, happened), TestClock.adjust(0)),
    aborts: () => aborts,
    passes: TestClock.adjust,
    ended: Fiber.join(fiber)
  }
})

const wait = retry({ delayMs: 10_000, retryAt: 10_000 })

describe("run", () => {
  It.effect("rule D13: on a terminal the countdown runs below, in yellow, and is removed for the answer", function* () {
    const recorder = Recorder.make({ stdout: true, stderr: true }, {})
    const turn = yield* showing(recorder)
    yield* turn.happens(wait)
    expect(recorder.seen()).toEqual([
      "Turn t of conversation c.",
      "! anthropic/claude: 529 Overloaded",
      "  Retry 1 in 10 s, at 02:14:05 (Ctrl-C aborts)"
    ])
    expect(recorder.all()).toContain("\u001b[33m")
    yield* turn.passes("3 seconds")
    expect(recorder.seen()[2]).toBe("  Retry 1 in 7 s, at 02:14:05 (Ctrl-C aborts)")
    yield* turn.passes("7 seconds")
    expect(recorder.seen()[2]).toBe("  Retry 1 runs now …")
    yield* turn.happens(delta("Hello, "), delta("world."), end("completed"))
    expect(yield* turn.ended).toMatchObject({ status: "completed" })
    expect(recorder.seen()).toEqual([
      "Turn t of conversation c.",
      "! anthropic/claude: 529 Overloaded - retry 1 after 10 s",
      "Hello, world.",
      ""
    ])
    expect(recorder.stdout()).toBe("Hello, world.\n")
  })

  It.effect("a file gets the answer and nothing else; waits are printed beside it, at a modest rate", function* () {
    const recorder = Recorder.make({ stdout: false, stderr: true })
    const turn = yield* showing(recorder)
    yield* turn.happens(modelChange("openai/m"), retry({ delayMs: 600_000, retryAt: 600_000 }))
    yield* turn.passes("10 minutes")
    yield* turn.happens(delta("Hello\u001b[0m"), end("completed"))
    yield* turn.ended
    expect(recorder.stdout()).toBe("Hello\u001b[0m\n")
    expect(recorder.stderr()).toBe(
      "Turn t of conversation c.\nGoes on with openai/m instead of anthropic/claude.\n" +
        "anthropic/claude: 529 Overloaded - retry 1 in 10 m 0 s, at 02:14:05\nretry 1 in 5 m 0 s\n"
    )
  })

  It.effect("the time of the next retry is this machine's, to the second", function* () {
    const recorder = Recorder.make({ stdout: true, stderr: true })
    const turn = yield* showing(recorder, Effect.never, {})
    yield* turn.happens(wait)
    expect(recorder.seen()[2]).toContain(`, at ${new Date(10_000).toLocaleTimeString("en-GB")} (Ctrl-C aborts)`)
  })

  It.effect("rule P14: Ctrl-C asks for the turn's end, and shows the turn until that has come", function* () {
    const recorder = Recorder.make({ stdout: true, stderr: true })
    const signal = yield* Deferred.make<void>()
    const turn = yield* showing(recorder, Deferred.await(signal))
    yield* turn.happens(wait)
    yield* Deferred.succeed(signal, undefined)
    yield* turn.passes(0)
    const head = ["Turn t of conversation c.", "Aborting the turn. Ctrl-C again quits at once."]
    expect([turn.aborts(), recorder.seen()]).toEqual([1, [...head, ""]])
    yield* turn.happens(delta("Hello"), end("aborted"))
    expect([yield* turn.ended, turn.aborts()]).toEqual([end("aborted"), 1])
    expect(recorder.seen()).toEqual([...head, "! anthropic/claude: 529 Overloaded", "Hello", "Aborted.", ""])
  })

  It.effect("for programs prints every event as a line of JSON, and returns the end", function* () {
    const recorder = Recorder.make({ stdout: false, stderr: false })
    const happened = [wait, delta("Hello"), end("completed")]
    const events = () => Stream.fromIterable(happened)
    expect(yield* RunCommand.printEvents({ events, terminal: recorder.terminal })).toEqual(happened[2])
    expect(recorder.stdout()).toBe(happened.map((event) => `${JSON.stringify(event)}\n`).join(""))
    const codes = [...(["completed", "aborted", "failed"] as const).map((status) => end(status)), undefined]
    expect(codes.map(RunCommand.exitCodeOf)).toEqual([0, 130, 1, 1])
  })
})
