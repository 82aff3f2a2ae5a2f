/** Tests the sentences about decisions: retries with their time, and giving up with the reason. */
import { describe } from "@effect/vitest"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Basis, Profile } from "@holdfast/policy"
import { Duration } from "effect"
import * as ExplanationCases from "./ExplanationCases.ts"

const { answer, dies, emits, text, throws, unauthorized } = ScriptedProvider
const { asked, down, overloaded, quota, tooLong } = ExplanationCases

describe("a decision", () =>
  ExplanationCases.explains([
    {
      title: "after content",
      plan: { scripts: [emits(overloaded, text("Hel"))] },
      expects: [
        'Attempt 1 failed after content had left: overloaded, 529 overloaded_error: "Overloaded".',
        "Gave up: content had left, and shown text is not produced twice: midStream is fail.",
        'The turn failed after 1 call: overloaded, 529 overloaded_error: "Overloaded".'
      ]
    },
    {
      title: "content that is void",
      plan: {
        scripts: [
          emits(overloaded, text("Hel"), { type: "usage", usage: { inputTokens: 12, outputTokens: 3 } }),
          emits(overloaded, text("Hel")),
          answer("Hello")
        ],
        retry: { midStream: "discard" }
      },
      expects: [
        'Attempt 1 failed after content had left: overloaded, 529 overloaded_error: "Overloaded". It used 12 input and 3 output tokens, which count.',
        "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's; 5 s of 8 h spent. The content of the failed attempt is void: midStream is discard.",
        'Attempt 2 failed after content had left: overloaded, 529 overloaded_error: "Overloaded". Its provider reported no tokens of it.',
        "The turn was answered after 3 calls and 15 s of waiting."
      ]
    },
    {
      title: "content that no client had received",
      plan: {
        scripts: [emits(overloaded, text("Hel")), answer("Hello")],
        retry: { midStream: "unseen" },
        isUnseen: true
      },
      expects: [
        'Attempt 1 failed after content that no client had received: overloaded, 529 overloaded_error: "Overloaded". Its provider reported no tokens of it.',
        "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's; 5 s of 8 h spent. The content of the failed attempt is void: midStream is unseen."
      ]
    },
    {
      title: "content that a client had received",
      plan: { scripts: [emits(overloaded, text("Hel"))], retry: { midStream: "unseen" } },
      expects: [
        "Gave up: content had left, and shown text is not produced twice: midStream is unseen, and a client had received some of it."
      ]
    },
    {
      title: "a failure after content that is not the transport's",
      plan: { scripts: [emits(unauthorized, text("Hel"))], retry: { midStream: "discard" } },
      expects: [
        "Gave up: content had left, and shown text is not produced twice: midStream is discard, and this is no failure of the transport."
      ]
    },
    {
      title: "a failure that is final",
      plan: { scripts: [emits(unauthorized)] },
      expects: ["Gave up: a failure of this kind (auth) is not retried."]
    },
    {
      title: "a provider that forbids a retry",
      plan: { scripts: [emits({ ...overloaded, retryable: false, evidence: { "x-should-retry": "false" } })] },
      expects: ["Gave up: the provider forbade a retry (x-should-retry)."]
    },
    {
      title: "a quota without a reset is not waited for",
      plan: { scripts: [emits(quota)] },
      expects: ["Gave up: the quota is used up, and the provider named no time of its reset."]
    },
    {
      title: "a quota with a reset is waited for",
      plan: {
        scripts: [
          emits({ ...quota, retryable: true, hint: { retryAfterMs: 3_600_000, source: "body" } }),
          answer("Hello")
        ]
      },
      expects: [
        "Retry 1 at 2031-04-01 23:58:00 UTC, after 1 h, the provider's, longer than the schedule's 5 s; 1 h of 8 h spent."
      ]
    },
    {
      title: "a context that is too long",
      plan: { scripts: [emits(tooLong)] },
      expects: ["Gave up: a context that is too long for the model is not sent again."]
    },
    {
      title: "a bug",
      plan: { scripts: [1, 2, 3].map(() => dies(new TypeError("x is undefined"))) },
      expects: [
        'Attempt 1 failed before any content: unknown: "TypeError: x is undefined".',
        "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's; 5 s of 8 h spent.",
        "Gave up: this is a bug of the program, and it was retried twice already."
      ]
    },
    {
      title: "an abort that no client here requested",
      plan: { scripts: [throws({ reason: "aborted", message: "terminated", retryable: true }), answer("Hello")] },
      expects: ["Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's; 5 s of 8 h spent."]
    },
    {
      title: "no strategy",
      plan: { scripts: down(1), isPatient: false },
      expects: ["Gave up: no retries were configured."]
    },
    {
      title: "retries that are switched off in the configuration",
      plan: { scripts: down(1), retry: { enabled: false } },
      expects: ["Gave up: retries are switched off in the configuration (retry.enabled)."]
    },
    {
      title: "retries that a person switched off",
      plan: {
        scripts: down(1),
        strategy: (strategy) => ({
          ...strategy,
          decide: (_attempt, _failure, spent) => ({ basis: Basis.switchedOff(Profile.resolve(), spent) })
        })
      },
      expects: ["Gave up: automatic retries had been switched off for this conversation."]
    },
    {
      title: "the limit of retries",
      plan: { scripts: down(4), retry: { profile: "interactive" } },
      expects: [
        "Retry 2 at 2031-04-01 22:58:06 UTC, after 4 s, the schedule's.",
        "Gave up: 3 retries had been made, and there may be no more."
      ]
    },
    {
      title: "a wait longer than any may be",
      plan: { scripts: [emits(asked(600_000))], retry: { profile: "interactive" } },
      expects: ["Gave up: the next wait would be 10 m, and none may be longer than 5 m."]
    },
    {
      title: "a budget by the clock",
      plan: { scripts: down(3), retry: { budget: Duration.seconds(20), measure: "wall-clock" } },
      expects: [
        "Retry 2 at 2031-04-01 22:58:15 UTC, after 10 s, the schedule's; 5 s of 20 s had passed.",
        "Gave up: the next wait of 30 s does not fit into the budget: 15 s of 20 s had passed."
      ]
    },
    {
      title: "a wait that is cut to what is left",
      plan: { scripts: [...down(3), answer("Hello")], retry: { budget: { total: Duration.seconds(20), clip: true } } },
      expects: [
        "Retry 3 at 2031-04-01 22:58:20 UTC, after 5 s: the schedule's 30 s, cut to what was left of the budget; 20 s of 20 s spent."
      ]
    },
    {
      title: "a hint that is shorter than the schedule",
      plan: { scripts: [emits(asked(2_000)), answer("Hello")] },
      expects: [
        "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's, no shorter than the provider's 2 s; 5 s of 8 h spent."
      ]
    },
    {
      title: "a hint that the configuration ignores",
      plan: { scripts: [emits(asked(60_000)), answer("Hello")], retry: { hints: false } },
      expects: [
        "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's, not the provider's 1 m, which is not followed (retry.hints); 5 s of 8 h spent."
      ]
    },
    {
      title: "a reason that has spent its own budget",
      plan: { scripts: down(4), retry: { reasons: { overloaded: { budget: Duration.seconds(20) } } } },
      expects: [
        "Retry 2 at 2031-04-01 22:58:15 UTC, after 10 s, the schedule's; 15 s of 8 h spent; 15 s of 20 s spent on overloaded.",
        "Gave up: the next wait of 30 s does not fit into the budget for overloaded (retry.reasons): 15 s of 20 s were spent."
      ]
    },
    {
      title: "a reason that has spent its own budget by the clock",
      plan: {
        scripts: down(4),
        retry: { measure: "wall-clock", reasons: { overloaded: { budget: Duration.seconds(20) } } }
      },
      expects: [
        "Gave up: the next wait of 30 s does not fit into the budget for overloaded (retry.reasons): 15 s of 20 s had passed."
      ]
    },
    {
      title: "as many retries as a reason may have",
      plan: { scripts: down(4), retry: { reasons: { overloaded: { maxRetries: 1 } } } },
      expects: ["Gave up: 1 retry had been made after overloaded, and there may be no more (retry.reasons)."]
    }
  ]))
