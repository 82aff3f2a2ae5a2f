import { describe, expect } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as SafeLogger from "../../../../src/config/redaction/SafeLogger.ts"
import * as Secrets from "../../../../src/config/redaction/Secrets.ts"
import * as FailedTurnLog from "../../../../src/ops/telemetry/logs/FailedTurnLog.ts"
import * as Observations from "../Observations.ts"
import * as It from "../../../It.ts"

const KEY = "sk-planted-0123456789"
const secrets = Secrets.make([Redacted.make(KEY)])

/** The log lines of a turn's seal, as JSON. */
const logged = (...ends: ReadonlyArray<Parameters<typeof Observations.seal>[0]>) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const logger = SafeLogger.layer({ format: "json", colors: false, write: (line) => lines.push(line) })
    yield* Effect.gen(function* () {
      const observer = FailedTurnLog.observer(secrets.redact, yield* Effect.context<never>())
      for (const end of ends) observer.seal?.(Observations.seal(end))
    }).pipe(Effect.provide(Layer.provide(logger, Layer.succeed(Secrets.Secrets, secrets))))
    return lines.map((line) => JSON.parse(line))
  })

describe("the log of turns", () => {
  It.effect("rule A16: has one WARN for a failed turn, with target and cause, and without a key", function* () {
    const error = { reason: "auth" as const, message: `Incorrect API key: ${KEY}.`, retryable: false, status: 401 }
    const [line, ...others] = yield* logged({ status: "failed", error, attempts: 1 })
    expect(others).toEqual([])
    expect(line).toMatchObject({
      level: "WARN",
      message: "Turn failed: Incorrect API key: [redacted].",
      annotations: { conversation: "c1", turn: "t1", target: "openai/gpt-5", reason: "auth", code: "401", attempts: 1 }
    })
  })

  It.effect("has no line for a completed or aborted turn", function* () {
    expect(yield* logged({ status: "completed" }, { status: "aborted" })).toEqual([])
  })

  It.effect("has the beginning of a message that is a whole page", function* () {
    const error = { reason: "bad-request" as const, message: "x".repeat(100_000), retryable: false }
    const [line] = yield* logged({ status: "failed", error })
    expect(line.message).toBe(`Turn failed: ${"x".repeat(999)}…`)
  })
})
