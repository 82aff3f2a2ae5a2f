/** The turn of a long night, which docs/explain.md shows. */
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Duration, Effect } from "effect"
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
export const text: ReadonlyArray<string> = `
Turn t1 of conversation nightly: completed.
Times are UTC.

  2031-04-01
  22:58:00  The turn was accepted.

Step 1, on anthropic/claude-sonnet-4-5
  22:58:00  Attempt 1 failed before any content: overloaded, 529 overloaded_error: "Overloaded".
            Its answer had request-id: req_01.
            Retry 1 at 22:58:05, after 5 s, the schedule's; 5 s of 8 h spent.
  22:58:05  Attempt 2: same. Retry 2 at 22:58:15, after 10 s, the schedule's; 15 s of 8 h spent.
  22:58:15  Attempt 3: same. Retry 3 at 22:58:45, after 30 s, the schedule's; 45 s of 8 h spent.
  22:58:45  Attempt 4 failed before any content: rate-limited, 429 rate_limit_error: "This request would exceed your
            organization's rate limit of 50 requests per minute."
            The provider asked for 9 m (retry-after: 540). Its answer had request-id: req_04.
            Retry 4 at 23:07:45, after 9 m, the provider's, longer than the schedule's 1 m; 9 m 45 s of 8 h spent.
  23:07:45  Attempt 5 failed before any content: overloaded, 529 overloaded_error: "Overloaded".
            Its answer had request-id: req_05.
            Retry 5 at 23:12:45, after 5 m, the schedule's; 14 m 45 s of 8 h spent.
  23:12:45  Attempt 6: same. Retry 6 at 23:22:45, after 10 m, the schedule's; 24 m 45 s of 8 h spent.
  23:22:45  Attempt 7: same. Retry 7 at 23:37:45, after 15 m, the schedule's; 39 m 45 s of 8 h spent.
  23:37:45  Attempt 8: same. Retry 8 at 2031-04-02 00:07:45, after 30 m, the schedule's; 1 h 9 m 45 s of 8 h spent.
  2031-04-02
  00:07:45  Attempt 9: same. Retry 9 at 00:37:45, after 30 m, the schedule's; 1 h 39 m 45 s of 8 h spent.
  00:37:45  Attempt 10: same. Retry 10 at 01:07:45, after 30 m, the schedule's; 2 h 9 m 45 s of 8 h spent.
  01:07:45  Attempt 11: same. Retry 11 at 01:37:45, after 30 m, the schedule's; 2 h 39 m 45 s of 8 h spent.
  01:28:00  2 h were added to the budget by HTTP from 127.0.0.1, command more-time.
  01:37:45  Attempt 12 failed before any content: server-error, 502: "Bad Gateway".
            Retry 12 at 02:07:45, after 30 m, the schedule's; 3 h 9 m 45 s of 10 h spent.
  02:07:45  Attempt 13: same. Retry 13 at 02:37:45, after 30 m, the schedule's; 3 h 39 m 45 s of 10 h spent.
  02:37:45  Attempt 14: same. Retry 14 at 03:07:45, after 30 m, the schedule's; 4 h 9 m 45 s of 10 h spent.
  02:43:00  The wait was ended by HTTP from 127.0.0.1, command k7, to retry at once.
  02:43:00  Attempt 15: same. Retry 15 at 03:13:00, after 30 m, the schedule's; 4 h 39 m 45 s of 10 h spent.
  03:13:00  Attempt 16 was answered (stop).

  03:13:00  The turn was answered after 16 calls and 4 h 15 m of waiting (4 h 39 m 45 s were scheduled).
`
  .trim()
  .split("\n")
