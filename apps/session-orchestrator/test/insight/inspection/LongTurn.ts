/** The turn of a long night, which docs/explain.md shows. */
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Duration, Effect } from "effect"
import { readFileSync } from "node:fs"
import { type Hand, type Plan } from "./ScriptedTurn.ts"

const { answer, emits } = ScriptedProvider

const overloaded = (request: string) =>
  emits({
    reason: "overloaded",
    message: "Overloaded",
    retryable: true,
    status: 529,
    code: "overloaded_error",
    evidence: { "request-id": `req_${request}` }
  })

const limited = emits({
  reason: "rate-limited",
  message: "This request would exceed your organization's rate limit of 50 requests per minute.",
  retryable: true,
  status: 429,
  code: "rate_limit_error",
  hint: { retryAfterMs: 540_000, source: "retry-after" },
  evidence: { "retry-after": "540", "request-id": "req_04" }
})

const badGateway = emits({ reason: "server-error", message: "Bad Gateway", retryable: true, status: 502 })

export const plan: Plan = {
  startedAt: "2031-04-01T22:58:00Z",
  scripts: [
    ...["01", "02", "03"].map(overloaded),
    limited,
    ...["05", "06", "07", "08", "09", "10", "11"].map(overloaded),
    ...Array.from({ length: 4 }, () => badGateway),
    answer("Good morning.")
  ]
}

/** A person extends its budget at half past one, and retries at a quarter to three. */
export const live = ({ pass, wake }: Hand): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* pass(Duration.minutes(150))
    yield* wake({ type: "extended", byMs: 7_200_000, by: { commandId: "more-time", origin: "HTTP from 127.0.0.1" } })
    yield* pass(Duration.minutes(75))
    yield* wake({ type: "now", by: { commandId: "k7", origin: "HTTP from 127.0.0.1" } })
    yield* pass(Duration.hours(2))
  })

/** Its explanation; docs/explain.md shows parts of it. */
export const text: ReadonlyArray<string> = readFileSync(new URL("LongTurn.txt", import.meta.url), "utf8")
  .trim()
  .split("\n")
