/** Tests that a response is played as the provider in this process gives it. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Exit, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Course from "../src/Course.ts"
import * as Simulated from "../src/Simulated.ts"
import { request } from "./Request.ts"

const SCRIPTS = [
  "steady+rate-20",
  "529 for 7h",
  "429;retry-after=7",
  "reset",
  "cut",
  "cut-after-3+delay-50ms",
  "ends-after-2",
  "error-in-stream-after-2+first-token-3s",
  "html",
  "empty",
  "quota",
  "too-long",
  "refuse",
  "tool-call;name=look_up;input={}",
  "half-tool-call",
  "nonsense"
]

const play = (script: string) =>
  Course.make()({ turn: "t", startedAt: 0, script, step: 0, afterTool: false, inputTokens: 0, bytes: () => 0 }, 0)

describe("Course", () => {
  it.effect.each(SCRIPTS)("%s has the content, the times and the end of the provider", (script) =>
    Effect.gen(function* () {
      const provider = yield* Simulated.make
      const contentAt: Array<number> = []
      const seen = { text: "", failure: "", finish: "" }
      const fiber = yield* provider.stream(request({ model: script, prompt: "" })).pipe(
        Stream.runForEach((event) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            if (event.type === "error") seen.failure = event.failure.reason
            else if (event.type === "finish") seen.finish = event.finishReason
            else contentAt.push(now)
            if (event.type === "text-delta") seen.text += event.delta
          })
        ),
        Effect.exit,
        Effect.forkScoped
      )
      yield* TestClock.adjust(Duration.minutes(1))
      const exit = yield* Fiber.join(fiber)
      const course = play(script)
      const text = course.content.map((part) => (part.type === "text" ? part.text : "")).join("")
      assert.strictEqual(text, seen.text)
      assert.deepStrictEqual(course.contentAt.map(Math.round), contentAt.map(Math.round))
      if (course.end._tag === "Finished") assert.strictEqual(course.end.finishReason, seen.finish)
      else if (seen.failure !== "")
        assert.strictEqual(course.end._tag === "Broken" ? course.end.failure.reason : "", seen.failure)
      else assert.isTrue(course.end._tag === "Broken" && (Exit.isFailure(exit) || seen.finish === ""))
    })
  )
})
