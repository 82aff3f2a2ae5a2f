/** Example data of a report, for the API's documentation (`WorkGroup`): a night with one outage and a revoked key. */
import { TurnId } from "../Ids.ts"
import type { PeriodReport } from "../PeriodReport.ts"

const target = "anthropic/claude-sonnet-4-5"
/** 2031-04-07T22:00:00Z, in epoch milliseconds. */
const since = 1_933_365_600_000
const hour = 3_600_000
const spend = {
  turns: 14,
  inputTokens: 42_000,
  outputTokens: 9_800,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  unreported: 0,
  cost: 0.273
}

/** The report of the night. */
export const night: PeriodReport = {
  since,
  until: since + 9 * hour,
  timeZone: "UTC",
  line: `14 answered, 6 failed, waited 6 h 42 m; ${target} down 00:10-06:52`,
  turns: { answered: 14, failed: 6, retried: 0, aborted: 0, waiting: 0, running: 0, queued: 0 },
  waitedMs: 24_120_000,
  turnWaitedMs: 337_680_000,
  waited: 14,
  calls: 61,
  savedCalls: 180,
  outages: [
    {
      target,
      beganAt: since + 7_800_000,
      endedAt: since + 31_920_000,
      lastFailureAt: since + 31_500_000,
      failures: 41,
      reason: "overloaded",
      code: "529"
    }
  ],
  causes: [
    {
      target: "openai/gpt-5",
      reason: "auth",
      code: "401",
      failed: 6,
      retried: 0,
      firstAt: since + hour,
      lastAt: since + 2 * hour,
      message: "Incorrect API key provided",
      turnId: TurnId.make("t_7hq2m1"),
      remedy: {
        advice: "Put a valid key into OPENAI_API_KEY and restart the service, then:",
        command: "holdfast retry --since 2031-04-07T22:00:00Z --model openai/gpt-5"
      }
    }
  ],
  switches: [],
  spend,
  models: [{ name: target, ...spend }],
  tags: [],
  conversations: [],
  forgotten: 0,
  timeline: { partMs: 3 * hour, waiting: [14, 14, 14], answered: [0, 0, 14], failed: [6, 0, 0] }
}
