/** The policies of the named profiles: configuration over the same primitives. */
import * as Backoff from "../decision/Backoff.ts"
import * as Budget from "../decision/Budget.ts"
import * as Jitter from "../decision/Jitter.ts"
import type { RetryPolicy } from "../decision/RetryPolicy.ts"
import * as Routing from "../routing/Routing.ts"
import * as WaitRules from "../decision/WaitRules.ts"
import type { ProfileName } from "./RetrySettings.ts"

/**
 * 10 minutes to the first content: the default of the SDKs of OpenAI and Anthropic, and enough for models that think before they answer. 5
 * minutes between contents.
 */
const requestTimeout = { firstContentMs: 600_000, idleMs: 300_000 }

/** A8: `llmTimeout`. */
const LLM_TIMEOUT_MS = 600_000

const overnight: RetryPolicy = {
  enabled: true,
  schedule: Backoff.overnight,
  reasons: {},
  jitter: Jitter.none,
  counts: "retries",
  budget: Budget.overnight,
  hints: true,
  requestTimeout,
  routing: Routing.noChains
}

/**
 * The policy behind each name.
 *
 * **Details**
 *
 * `overnight` (rules D) is the stepped schedule within 8 hours. It follows hints: a hint can only lengthen a wait, so the schedule stays
 * the lower bound. A hint beyond the rest of the budget ends the step at once, instead of spending the night on attempts that are known to
 * fail. It has no cap on a single wait.
 * `weekly` does the same within 8 days: a plan's weekly limit is waited for.
 *
 * `interactive` (rules P) makes 3 retries after 2, 4 and 8 seconds and fails rather than wait more than 5 minutes.
 *
 * Both switch from a used-up credential to the next credential of its provider (P7), and use a fallback chain if there is one (P8).
 *
 * `cycling` (rules A) makes 3 attempts, on its targets in turn, with a wait for each kind of failure; a step without progress for 10
 * minutes fails (A8), and a turn has 10 steps (A11). Its schedule applies to failures without a rule.
 */
export const profiles: { readonly [Name in ProfileName]: RetryPolicy } = {
  overnight,
  weekly: { ...overnight, budget: Budget.weekly },
  interactive: {
    enabled: true,
    schedule: Backoff.interactive,
    reasons: {},
    jitter: Jitter.none,
    maxRetries: 3,
    counts: "retries",
    budget: Budget.unlimited,
    maxDelayMs: 300_000,
    hints: true,
    requestTimeout,
    routing: Routing.noChains
  },
  cycling: {
    enabled: true,
    schedule: Backoff.linear(1_000, 1_000),
    reasons: WaitRules.cycling,
    jitter: Jitter.none,
    maxRetries: 3,
    counts: "attempts",
    budget: Budget.unlimited,
    hints: true,
    requestTimeout: { firstContentMs: LLM_TIMEOUT_MS, idleMs: LLM_TIMEOUT_MS },
    routing: Routing.ownTarget,
    maxTurns: 10
  }
}
