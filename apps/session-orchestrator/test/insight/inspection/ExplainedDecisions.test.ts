/** Tests the sentences about decisions: retries with their time, and giving up with the reason. */
import { describe } from "@effect/vitest"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Basis, Profile } from "@holdfast/policy"
import { Duration } from "effect"
import * as ExplanationCases from "./ExplanationCases.ts"

const { answer, dies, emits, text, throws, unauthorized } = ScriptedProvider
const { asked, down, overloaded, quota, tooLong } = ExplanationCases

describe("a decision", () =>
  ExplanationCases.explains({
    "after content": [
      { scripts: [emits(overloaded, text("Hel"))] },
      'Attempt 1 failed after content had left: overloaded, 529 overloaded_error: "Overloaded".',
      "Gave up: content had left, and shown text is not produced twice: midStream is fail.",
      'The turn failed after 1 call: overloaded, 529 overloaded_error: "Overloaded".'
    ],
    "content that is void": [
      {
        scripts: [
          emits(overloaded, text("Hel"), { type: "usage", usage: { inputTokens: 12, outputTokens: 3 } }),
          emits(overloaded, text("Hel")),
          answer("Hello")
        ],
        retry: { midStream: "discard" }
      },
      'Attempt 1 failed after content had left: overloaded, 529 overloaded_error: "Overloaded". It used 12 input and 3 output tokens, which count.',
      "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's; 5 s of 8 h spent. The content of the failed attempt is void: midStream is discard.",
      'Attempt 2 failed after content had left: overloaded, 529 overloaded_error: "Overloaded". Its provider reported no tokens of it.',
      "The turn was answered after 3 calls and 15 s of waiting."
    ],
    "content that no client had received": [
      { scripts: [emits(overloaded, text("Hel")), answer("Hello")], retry: { midStream: "unseen" }, isUnseen: true },
      'Attempt 1 failed after content that no client had received: overloaded, 529 overloaded_error: "Overloaded". Its provider reported no tokens of it.',
      "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's; 5 s of 8 h spent. The content of the failed attempt is void: midStream is unseen."
    ],
    "content that a client had received": [
      { scripts: [emits(overloaded, text("Hel"))], retry: { midStream: "unseen" } },
      "Gave up: content had left, and shown text is not produced twice: midStream is unseen, and a client had received some of it."
    ],
    "a failure after content that is not the transport's": [
      { scripts: [emits(unauthorized, text("Hel"))], retry: { midStream: "discard" } },
      "Gave up: content had left, and shown text is not produced twice: midStream is discard, and this is no failure of the transport."
    ],
    "a failure that is final": [
      { scripts: [emits(unauthorized)] },
      "Gave up: a failure of this kind (auth) is not retried."
    ],
    "a provider that forbids a retry": [
      { scripts: [emits({ ...overloaded, retryable: false, evidence: { "x-should-retry": "false" } })] },
      "Gave up: the provider forbade a retry (x-should-retry)."
    ],
    "a quota without a reset is not waited for": [
      { scripts: [emits(quota)] },
      "Gave up: the quota is used up, and the provider named no time of its reset."
    ],
    "a quota with a reset is waited for": [
      {
        scripts: [
          emits({ ...quota, retryable: true, hint: { retryAfterMs: 3_600_000, source: "body" } }),
          answer("Hello")
        ]
      },
      "Retry 1 at 2031-04-01 23:58:00 UTC, after 1 h, the provider's, longer than the schedule's 5 s; 1 h of 8 h spent."
    ],
    "a context that is too long": [
      { scripts: [emits(tooLong)] },
      "Gave up: a context that is too long for the model is not sent again."
    ],
    "a bug": [
      { scripts: [1, 2, 3].map(() => dies(new TypeError("x is undefined"))) },
      'Attempt 1 failed before any content: unknown: "TypeError: x is undefined".',
      "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's; 5 s of 8 h spent.",
      "Gave up: this is a bug of the program, and it was retried twice already."
    ],
    "an abort that no client here requested": [
      { scripts: [throws({ reason: "aborted", message: "terminated", retryable: true }), answer("Hello")] },
      "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's; 5 s of 8 h spent."
    ],
    "no strategy": [{ scripts: down(1), isPatient: false }, "Gave up: no retries were configured."],
    "retries that are switched off in the configuration": [
      { scripts: down(1), retry: { enabled: false } },
      "Gave up: retries are switched off in the configuration (retry.enabled)."
    ],
    "retries that a person switched off": [
      {
        scripts: down(1),
        strategy: (strategy) => ({
          ...strategy,
          decide: (_attempt, _failure, spent) => ({ basis: Basis.switchedOff(Profile.resolve(), spent) })
        })
      },
      "Gave up: automatic retries had been switched off for this conversation."
    ],
    "the limit of retries": [
      { scripts: down(4), retry: { profile: "interactive" } },
      "Retry 2 at 2031-04-01 22:58:06 UTC, after 4 s, the schedule's.",
      "Gave up: 3 retries had been made, and there may be no more."
    ],
    "a wait longer than any may be": [
      { scripts: [emits(asked(600_000))], retry: { profile: "interactive" } },
      "Gave up: the next wait would be 10 m, and none may be longer than 5 m."
    ],
    "a budget by the clock": [
      { scripts: down(3), retry: { budget: Duration.seconds(20), measure: "wall-clock" } },
      "Retry 2 at 2031-04-01 22:58:15 UTC, after 10 s, the schedule's; 5 s of 20 s had passed.",
      "Gave up: the next wait of 30 s does not fit into the budget: 15 s of 20 s had passed."
    ],
    "a wait that is cut to what is left": [
      { scripts: [...down(3), answer("Hello")], retry: { budget: { total: Duration.seconds(20), clip: true } } },
      "Retry 3 at 2031-04-01 22:58:20 UTC, after 5 s: the schedule's 30 s, cut to what was left of the budget; 20 s of 20 s spent."
    ],
    "a hint that is shorter than the schedule": [
      { scripts: [emits(asked(2_000)), answer("Hello")] },
      "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's, no shorter than the provider's 2 s; 5 s of 8 h spent."
    ],
    "a hint that the configuration ignores": [
      { scripts: [emits(asked(60_000)), answer("Hello")], retry: { hints: false } },
      "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's, not the provider's 1 m, which is not followed (retry.hints); 5 s of 8 h spent."
    ],
    "a reason that has spent its own budget": [
      { scripts: down(4), retry: { reasons: { overloaded: { budget: Duration.seconds(20) } } } },
      "Retry 2 at 2031-04-01 22:58:15 UTC, after 10 s, the schedule's; 15 s of 8 h spent; 15 s of 20 s spent on overloaded.",
      "Gave up: the next wait of 30 s does not fit into the budget for overloaded (retry.reasons): 15 s of 20 s were spent."
    ],
    "a reason that has spent its own budget by the clock": [
      { scripts: down(4), retry: { measure: "wall-clock", reasons: { overloaded: { budget: Duration.seconds(20) } } } },
      "Gave up: the next wait of 30 s does not fit into the budget for overloaded (retry.reasons): 15 s of 20 s had passed."
    ],
    "as many retries as a reason may have": [
      { scripts: down(4), retry: { reasons: { overloaded: { maxRetries: 1 } } } },
      "Gave up: 1 retry had been made after overloaded, and there may be no more (retry.reasons)."
    ]
  }))
