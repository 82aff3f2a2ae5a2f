import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, PlatformError, Redacted } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { ChildProcessSpawner } from "effect/process"
import { TestClock } from "effect/testing"
import * as Delivery from "../../../src/telemetry/incidents/Delivery.ts"
import type { Notice } from "../../../src/telemetry/incidents/Notice.ts"

const notice: Notice = {
  type: "incident-began",
  incidentId: "openai/gpt-5@1000",
  target: { provider: "openai", model: "gpt-5" },
  since: 1_000,
  at: 301_000,
  said: { reason: "overloaded", message: "Overloaded" },
  waiting: 3
}

const hook = { url: Redacted.make("http://hooks.test/secret-path"), headers: {} }

/** A receiver with an answer for each attempt, the last one repeated; and the times of the attempts. */
const webhook = (...answers: ReadonlyArray<number | "nothing">) =>
  Effect.map(TestClock.testClockWith(Effect.succeed), (clock) => {
    const tries: Array<number> = []
    const client = HttpClient.make((request) =>
      Effect.suspend(() => {
        const answer = answers[Math.min(tries.push(clock.currentTimeMillisUnsafe()), answers.length) - 1]
        return typeof answer === "number"
          ? Effect.succeed(HttpClientResponse.fromWeb(request, new Response("", { status: answer })))
          : Effect.never
      })
    )
    return { tries, deliver: Delivery.patiently(Delivery.toWebhook(hook, client), Effect.sleep) }
  })

const outcomeOf = Effect.fnUntraced(function* (deliver: Delivery.Deliver) {
  const fiber = yield* Effect.forkChild(Effect.exit(deliver(notice)))
  yield* TestClock.adjust("1 day")
  return yield* Fiber.join(fiber)
})

describe("a notice", () => {
  it.effect("Delivery.Y1: is posted again to a webhook that hangs, and given up after nine attempts", () =>
    Effect.gen(function* () {
      const { deliver, tries } = yield* webhook("nothing")
      const outcome = yield* outcomeOf(deliver)
      assert.isTrue(Exit.isFailure(outcome))
      assert.strictEqual(tries.length, 9)
      // Ten seconds for each attempt, and the waits between them.
      const waits = tries.map((at, n) => (at - (tries[n - 1] ?? 0)) / 1_000 - (n === 0 ? 0 : 10))
      assert.deepStrictEqual(waits, [0, 1, 5, 30, 120, 600, 1_800, 1_800, 1_800])
    })
  )

  it.effect("Delivery.Y1: is posted again after a transient failure", () =>
    Effect.gen(function* () {
      const { deliver, tries } = yield* webhook(503, 429, 200)
      assert.isTrue(Exit.isSuccess(yield* outcomeOf(deliver)))
      assert.deepStrictEqual(tries, [0, 1_000, 6_000])
    })
  )

  it.effect("is delivered with any status of success, and with no other", () =>
    Effect.gen(function* () {
      for (const status of [200, 201, 299]) {
        const { deliver } = yield* webhook(status)
        assert.isTrue(Exit.isSuccess(yield* outcomeOf(deliver)))
      }
      const { deliver } = yield* webhook(300)
      assert.isTrue(Exit.isFailure(yield* outcomeOf(deliver)))
    })
  )

  it.effect("Delivery.Y3: is posted once to a webhook that refuses it; no error has the address", () =>
    Effect.gen(function* () {
      const { deliver, tries } = yield* webhook(404)
      const outcome = yield* outcomeOf(deliver)
      assert.strictEqual(tries.length, 1)
      assert.isTrue(Exit.isFailure(outcome))
      if (Exit.isFailure(outcome)) assert.notInclude(Cause.pretty(outcome.cause), "secret-path")
    })
  )

  it.effect("Delivery.Y3: names the program that could not be started, and none of its arguments", () =>
    Effect.gen(function* () {
      const cause = Object.assign(new Error("spawn notify ENOENT"), { code: "ENOENT" })
      const spawner = ChildProcessSpawner.make((command) =>
        Effect.fail(
          PlatformError.systemError({
            _tag: "NotFound",
            module: "ChildProcess",
            method: "spawn",
            pathOrDescriptor: command._tag === "StandardCommand" ? [command.command, ...command.args].join(" ") : "",
            cause
          })
        )
      )
      const { message } = yield* Effect.flip(Delivery.toCommand(["notify", "--token", "planted"], spawner)(notice))
      assert.strictEqual(message, "notify did not run: spawn notify ENOENT.")
    })
  )

  it.effect("ends a command that hangs", () =>
    Effect.gen(function* () {
      const spawner = ChildProcessSpawner.make(() => Effect.never)
      const fiber = yield* Effect.forkChild(Effect.flip(Delivery.toCommand(["notify"], spawner)(notice)))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).reason, "timeout")
    })
  )
})
