/** Makes objects that survive, in many tasks, and prints the largest size of the nursery. Run as a process of its own. */
import * as Nursery from "../../../src/system/Nursery.ts"

Nursery.limit()

/** Some hundred megabytes: a nursery without a limit grows to its largest size. */
const TASKS = 300
const OBJECTS_OF_A_TASK = 5_000

const kept: Array<object> = []
let largest = 0
for (let task = 0; task < TASKS; task++) {
  for (let n = 0; n < OBJECTS_OF_A_TASK; n++) kept.push({ task, n, text: [n, n] })
  largest = Math.max(largest, Nursery.bytes())
  await new Promise((resolve) => setImmediate(resolve))
}
process.stdout.write(String(largest))
