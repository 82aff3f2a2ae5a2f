/** The chapters of the rules, as scenarios. */
import * as AutoRetry from "./AutoRetry.ts"
import * as Compaction from "./Compaction.ts"
import * as Cooldowns from "./Cooldowns.ts"
import * as Credentials from "./Credentials.ts"
import * as Cycling from "./Cycling.ts"
import * as Fallback from "./Fallback.ts"
import * as Failures from "./Failures.ts"
import * as FinalReportScenarios from "./FinalReportScenarios.ts"
import * as LastStepScenarios from "./LastStepScenarios.ts"
import * as LimitScenarios from "./LimitScenarios.ts"
import * as ManualRetry from "./ManualRetry.ts"
import * as Overnight from "./Overnight.ts"

export const chapters = [
  { name: "the truth about a failure", scenarios: Failures.scenarios },
  { name: "stepped backoff within a budget", scenarios: Overnight.scenarios },
  { name: "automatic retries of a conversation", scenarios: AutoRetry.scenarios },
  { name: "fallback chains", scenarios: Fallback.scenarios },
  { name: "cooldowns", scenarios: Cooldowns.scenarios },
  { name: "credentials", scenarios: Credentials.scenarios },
  { name: "the scope of a limit", scenarios: LimitScenarios.scenarios },
  { name: "a context that is too long", scenarios: Compaction.scenarios },
  { name: "cycling", scenarios: Cycling.scenarios },
  { name: "the final report", scenarios: FinalReportScenarios.scenarios },
  { name: "the last step", scenarios: LastStepScenarios.scenarios },
  { name: "manual retry", scenarios: ManualRetry.scenarios }
]
