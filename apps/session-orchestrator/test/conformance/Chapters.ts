/** The chapters of the rules, as scenarios. */
import * as AutoRetry from "./AutoRetry.ts"
import * as Cycling from "./Cycling.ts"
import * as Failures from "./Failures.ts"
import * as ManualRetry from "./ManualRetry.ts"
import * as Overnight from "./Overnight.ts"

export const chapters = [
  { name: "the truth about a failure", scenarios: Failures.scenarios },
  { name: "stepped backoff within a budget", scenarios: Overnight.scenarios },
  { name: "automatic retries of a conversation", scenarios: AutoRetry.scenarios },
  { name: "cycling and the final report", scenarios: Cycling.scenarios },
  { name: "manual retry", scenarios: ManualRetry.scenarios }
]
