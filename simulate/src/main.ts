/**
 * Runs nights: `simulate [--nights N] [--from SEED] [--workers N]`, one of them: `simulate --seed N [--whole]`, or those that find
 * defects put in by hand: `simulate --defects [--nights N]`. A cluster that loses runners: `simulate --cluster [--runners N] [--lost N] [--turns N]`.
 *
 * A night that breaks a law is run again, made smaller and shown, unless it is to be shown `--whole`. Each seed is a night; without `--from` the first is that of the day.
 * The service is loaded only where a night is run here: the workers start at once.
 */
import * as Chance from "./Chance.ts"
import { DEFECTS } from "./Defects.ts"
import * as Options from "./Options.ts"
import * as Sum from "./Sum.ts"
import * as Workers from "./Workers.ts"

const options = Options.read(process.argv.slice(2))
if (typeof options === "string") {
  console.error(`simulate: ${options}`)
  process.exit(2)
}

/** Shows one night; returns whether it broke no law. */
const show = async (seed: number): Promise<boolean> => {
  const Night = await import("./Night.ts")
  const Plan = await import("./Plan.ts")
  const Shrink = await import("./Shrink.ts")
  const night = await Night.run(Plan.make(seed))
  const shown = night.broken === undefined || options.whole ? night : await Shrink.shrink(night)
  console.log(Sum.story(shown))
  return night.broken === undefined
}

/** The first night that finds a defect: it breaks a law, and none without the defect. */
const finder = async (from: number, nights: number, defect: number): Promise<Sum.Sum["broken"][number] | undefined> => {
  for (let first = from; first < from + nights;) {
    const [found] = (await Workers.planted(first, from + nights - first, defect)).broken
    if (found === undefined || (await Workers.run(found.seed, 1, 1)).broken.length === 0) return found
    first = found.seed + 1
  }
  return undefined
}

/** Looks for each defect until a night finds it. */
const plant = async (from: number, nights: number): Promise<void> => {
  let found = 0
  for (const [n, { name }] of DEFECTS.entries()) {
    const by = await finder(from, nights, n)
    if (by !== undefined) found++
    const after = by === undefined ? "-" : String(by.seed - from + 1)
    console.log(`${after.padStart(6)}  ${name}${by === undefined ? "" : `: ${by.law}`}`)
  }
  console.log(`${found} of ${DEFECTS.length} defects are found within ${nights} nights.`)
}

/** Runs nights in workers, and shows the first that breaks a law. */
const many = async (from: number, nights: number): Promise<void> => {
  console.log(`Seeds ${from} to ${from + nights - 1}.`)
  const begun = Date.now()
  const sum = await Workers.run(from, nights, options.workers)
  console.log(Sum.text(sum, (Date.now() - begun) / 1000))
  const [first] = sum.broken
  if (first !== undefined) {
    console.log("")
    await show(first.seed)
    process.exitCode = 1
  }
}

const { cluster, defects, from = Chance.seedOfDay(), nights, seed } = options
if (seed !== undefined) process.exitCode = (await show(seed)) ? 0 : 1
else if (cluster !== undefined) {
  const ClusterLoss = await import("./ClusterLoss.ts")
  console.log(ClusterLoss.text(await ClusterLoss.run(cluster, from)))
} else if (defects) await plant(from, nights)
else await many(from, nights)
