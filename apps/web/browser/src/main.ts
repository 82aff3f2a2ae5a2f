/**
 * Shows the page in a real Chromium, over the packed service and a provider on a socket: `npx --yes pnpm@12 test:browser`.
 *
 * The last line is the count. No page may request another host, report an error or violate its content security policy.
 */
import { isPassed, same, show, summary } from "../../../../tools/src/acceptance/Report.ts"
import * as HealthScenarios from "./HealthScenarios.ts"
import * as Looks from "./Looks.ts"
import * as BeforeScenarios from "./BeforeScenarios.ts"
import * as LongScenarios from "./LongScenarios.ts"
import * as NightScenarios from "./NightScenarios.ts"
import * as Rig from "./Rig.ts"
import * as Scenarios from "./Scenarios.ts"

const rig = await Rig.make()
try {
  await Scenarios.run(rig)
  await BeforeScenarios.run(rig)
  await NightScenarios.run(rig)
  await HealthScenarios.run(rig)
  await LongScenarios.run(rig)
  await Looks.run(rig)
  await show("no page has requested another host, reported an error or violated its policy", async () =>
    same(rig.problems, [], "problems")
  )
} finally {
  await rig.close()
}
console.log(summary())
process.exit(isPassed() ? 0 : 1)
