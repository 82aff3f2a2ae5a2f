/** Runs many nights, one seed after another. */
import type { Defect } from "./Defects.ts"
import * as Night from "./Night.ts"
import * as Plan from "./Plan.ts"
import * as Sum from "./Sum.ts"

/** One seed of so many is run twice: it has the same events, or it is no seed. */
const TWICE = 50

/** Whether a night has a part; all have those that are not named. */
const has = ({ aim, callers, runners }: Plan.Plan, part: Defect["needs"]): boolean =>
  part === undefined || (part === "programs" ? callers.length > 0 : part === "runners" ? runners > 1 : part === aim)

/** Runs nights until there are so many, or `isEnough`. Those without a part are counted, and not run. */
export const run = async (
  from: number,
  nights: number,
  isEnough: (sum: Sum.Sum) => boolean = () => false,
  part?: Defect["needs"]
): Promise<Sum.Sum> => {
  const sum = Sum.none()
  for (let seed = from; seed < from + nights && !isEnough(sum); seed++) {
    const plan = Plan.make(seed)
    if (!has(plan, part)) {
      sum.nights++
      continue
    }
    const night = await Night.run(plan)
    Sum.add(sum, night)
    await new Promise((resolve) => setImmediate(resolve)) // the event loop turns
    if (seed % TWICE === 0) {
      const again = await Night.run(Plan.make(seed))
      if (again.digest === night.digest) sum.twice++
      else
        sum.broken.push({ seed, law: "the same seed is the same night", what: `${night.digest} and ${again.digest}` })
    }
  }
  return sum
}
