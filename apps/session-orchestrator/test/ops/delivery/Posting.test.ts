import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, PlatformError, Redacted } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { ChildProcessSpawner } from "effect/process"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import * as DurationText from "../../../src/base/text/DurationText.ts"
import * as Deliveries from "../../../src/ops/delivery/Deliveries.ts"
import * as Posting from "../../../src/ops/delivery/Posting.ts"
import * as It from "../../It.ts"

const content = { id: "1", headers: {}, text: "A notice" }

const hook = { url: Redacted.make("http://hooks.test/secret-path"), headers: {} }

const answering = (status: number) =>
  Posting.webhook(
    hook,
    HttpClient.make((request) =>
      Effect.succeed(HttpClientResponse.fromWeb(request, new Response("Come later", { status })))
    ),
    String
  )

describe("a notice", () => {
  it("is tried nine times within two hours, later if the receiver asks for it, and once if it is refused", () => {
    const busy = { reason: "overloaded", message: "", retryable: true } as const
    const after = (failed: number, over: object = {}) =>
      Deliveries.waitAfter(Deliveries.OF_NOTICES, failed, { ...busy, ...over })
    const waits = Array.from({ length: 9 }, (_, n) => after(n + 1))
    const longest = [1_800_000, 1_800_000, 1_800_000, undefined]
    assert.deepStrictEqual(waits, [1_000, 5_000, 30_000, 120_000, 600_000, ...longest])
    assert.strictEqual(after(1, { hint: { retryAfterMs: 60_000 } }), 60_000)
    assert.strictEqual(after(1, { hint: { retryAfterMs: 10 * 3_600_000 } }), 3_600_000)
    assert.isUndefined(after(1, { reason: "auth", retryable: false }))
  })

  it("rule X15: a turn's end is tried after the times of docs/api.md, also where it is refused", () => {
    const after = (failed: number, over: object = {}) => {
      const failure = { reason: "auth", message: "", retryable: false, status: 401, ...over } as const
      return Deliveries.waitAfter(Deliveries.OF_TURN_ENDS, failed, failure)
    }
    const waits = Array.from({ length: 12 }, (_, n) => after(n + 1))
      .filter((ms) => ms !== undefined)
      .map(DurationText.format)
    const page = readFileSync(new URL("../../../../../docs/api.md", import.meta.url), "utf8")
    assert.include(page, `after ${waits.slice(0, 9).join(", ")} and then ${waits[9]}: ${waits.length + 1} attempts in`)
    assert.strictEqual(after(1, { hint: { retryAfterMs: 1e9 } }), 86_400_000)
    assert.isUndefined(after(1, { status: 410 }))
    assert.isUndefined(after(1, { status: undefined, reason: "refused" }))
  })

  It.effect("is delivered with any status of success, and with no other", function* () {
    for (const status of [200, 201, 299]) yield* answering(status)(content)
    assert.deepInclude(yield* Effect.flip(answering(300)(content)), { status: 300, message: "Come later" })
  })

  It.effect("is refused for good by 404, and no error has the address", function* () {
    const failure = yield* Effect.flip(answering(404)(content))
    assert.isFalse(failure.retryable)
    assert.notInclude(JSON.stringify(failure), "secret-path")
  })

  It.effect("names the program that could not be started, and none of its arguments", function* () {
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
    const send = Posting.command(["notify", "--token", "planted"], spawner, String)
    const message = "notify did not run: spawn notify ENOENT."
    assert.deepInclude(yield* Effect.flip(send(content)), { message, retryable: true })
  })

  It.effect("is taken by a program that ends with 0, and by no other", function* () {
    const ending = (code: number) => {
      const exitCode = () => Effect.succeed(ChildProcessSpawner.ExitCode(code))
      return Posting.command(["notify"], { ...ChildProcessSpawner.make(() => Effect.never), exitCode }, String)
    }
    yield* ending(0)(content)
    const message = (code: number) => ({ reason: "unknown", message: `notify ended with ${code}.`, retryable: true })
    for (const code of [1, 2]) assert.deepStrictEqual(yield* Effect.flip(ending(code)(content)), message(code))
  })

  It.effect("takes ten seconds of a receiver or a command that hangs", function* () {
    const spawner = ChildProcessSpawner.make(() => Effect.never)
    const hanging = Posting.webhook(
      hook,
      HttpClient.make(() => Effect.never),
      String
    )
    for (const send of [Posting.command(["notify"], spawner, String), hanging]) {
      const fiber = yield* Effect.forkChild(Effect.flip(send(content)))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).reason, "timeout")
    }
  })
})
