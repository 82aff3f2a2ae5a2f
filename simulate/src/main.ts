/**
 * Runs nights: `simulate [--nights N] [--from SEED] [--workers N]`, one of them: `simulate --seed N [--whole]`, or those that find
 * defects put in by hand: `simulate --defects [--nights N]`. A cluster that loses runners: `simulate --cluster [--runners N] [--lost N] [--turns N]`.
 *
 * A night that breaks a law is run again, made smaller and shown, unless it is to be shown `--whole`. Each seed is a night; without `--from` the first is that of the day.
 */
import { fork } from "node:child_process"
import * as ClusterLoss from "./ClusterLoss.ts"
import { DEFECTS } from "./Defects.ts"
import * as Nights from "./Nights.ts"
import * as Night from "./Night.ts"
import * as Options from "./Options.ts"
import * as Plan from "./Plan.ts"
import * as Shrink from "./Shrink.ts"
import * as Sum from "./Sum.ts"

const options = Options.read(process.argv.slice(2))
if (typeof options === "string") {
  console.error(`simulate: ${options}`)
  process.exit(2)
}

/** Shows one night; returns whether it broke no law. */
const show = async (seed: number): Promise<boolean> => {
  const night = await Night.run(Plan.make(seed))
  const shown = night.broken === undefined || options.whole ? night : await Shrink.shrink(night)
  console.log(Sum.story(shown))
  return night.broken === undefined
}

/** Nights in a process of their own: its event loop stands still meanwhile. `defect` is put in by hand. */
const inWorker = (from: number, nights: number, defect?: number): Promise<Sum.Sum> =>
  new Promise((resolve, reject) => {
    let sum: Sum.Sum | undefined
    const planted = defect === undefined ? [] : ["--import", new URL("Planted.ts", import.meta.url).href]
    const worker = fork(
      new URL("Worker.ts", import.meta.url),
      [String(from), String(nights), defect === undefined ? "" : String(defect)],
      {
        execArgv: [...process.execArgv, ...planted],
        env: { ...process.env, HOLDFAST_DEFECT: String(defect) }
      }
    )
    worker.on("message", (message) => (sum = message as Sum.Sum)) // what `Worker.ts` sends
    worker.on("exit", (code) =>
      sum === undefined ? reject(new Error(`A worker from seed ${from} ended with code ${code}.`)) : resolve(sum)
    )
  })

/** The first night that finds a defect: it breaks a law, and none without the defect. */
const finder = async (from: number, nights: number, defect: number): Promise<Sum.Sum["broken"][number] | undefined> => {
  for (let first = from; first < from + nights;) {
    const [found] = (await inWorker(first, from + nights - first, defect)).broken
    if (found === undefined || (await inWorker(found.seed, 1)).broken.length === 0) return found
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

/** Runs nights here and in workers, and shows the first that breaks a law. */
const many = async (from: number, nights: number): Promise<void> => {
  const workers = Math.min(options.workers, nights)
  console.log(`Seeds ${from} to ${from + nights - 1}.`)
  const begun = Date.now()
  const share = Math.ceil(nights / workers)
  const others = Array.from({ length: workers - 1 }, (_, n) => {
    const first = (n + 1) * share
    return inWorker(from + first, Math.min(share, nights - first))
  })
  const sum = Sum.together([await Nights.run(from, share), ...(await Promise.all(others))])
  console.log(Sum.text(sum, (Date.now() - begun) / 1000))
  const [first] = sum.broken
  if (first !== undefined) {
    console.log("")
    await show(first.seed)
    process.exitCode = 1
  }
}

const { cluster, defects, from = Nights.seedOfDay(), nights, seed } = options
if (seed !== undefined) process.exitCode = (await show(seed)) ? 0 : 1
else if (cluster !== undefined) console.log(ClusterLoss.text(await ClusterLoss.run(cluster, from)))
else if (defects) await plant(from, nights)
else await many(from, nights)
