/** Runs simulated nights: those that once broke a law, then for some seconds the seeds of the day, which are printed. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "vitest"
import * as Chance from "../src/Chance.ts"
import { DEFECTS } from "../src/Defects.ts"
import * as Night from "../src/Night.ts"
import * as Nights from "../src/Nights.ts"
import * as Plan from "../src/Plan.ts"
import * as Sum from "../src/Sum.ts"

/** `HOLDFAST_NIGHTS_SEED` replays another day. */
const from = Number(process.env["HOLDFAST_NIGHTS_SEED"] ?? Chance.seedOfDay())

/** Of this machine, whatever else it does. */
const LONGEST_MS = 15_000
const MOST_NIGHTS = 300

/** Nights that broke a law, each by a fault that is mended, of the service or of a simulated part; the last by one put in by hand. */
const MENDED = [
  [
    400001348,
    "rule X6: a turn that a command of before a freeze reads from disk stays in a runner that has lost it, before all later ones"
  ],
  [140001658, "rule C1: a turn that was aborted in the queue hides the running one from an acceptance that comes late"],
  [320004544, "rule X13: the law expects the wait of a call that a command aimed at another turn has ended"],
  [310004665, "rule X3: an owner's messages that are delivered again are shown again by a runner that forwards them"],
  [140000446, "rule X6: the law takes records that are appended again for new ones"],
  [300004785, "rule X3: a watcher who comes while a taken-over turn is written gets text after its message"],
  [3001099, "rule X5: an extension of the budget begins the gate's hold anew"],
  [6000669, "rule X3: a turn runs behind later ones after a commit that was stored and reported as failed"],
  [8004405, "rule P3: a wait that the gate has ended early is given to the next one whole"],
  [11001647, "rule X4: a command that is sent again after the end of its turn has had no effect"],
  [11001995, "rule X13: a held call whose acceptance was stored and reported as failed has no end"],
  [207860944, "rule X13: a held call whose first records were refused has no end"],
  [207860120, "rule D5: a held call whose client comes back announces its wait again"],
  [40028155, "rule X13: a call whose answer was cut once gives up after the next start"],
  [40035470, "rule D1: a held call waits for the start before it is on disk"],
  [40038603, "rule X13: a held call that is asked again during the start is another turn"],
  [40050074, "rule X4: an abort does not reach a turn that its client has just resumed"],
  [18000145, "rule X3: a turn is read on by its client after a prompt behind it was cancelled"],
  [40028113, "rule X11: a simulated runner does not know that others spend"],
  [40011683, "rule X3: a simulated commit after the last fault kills a runner whose log is read"],
  [120006124, "rule X3: the log is read while a prompt that was edited late still runs"],
  [110026549, "rule C1: an acceptance and a take-up both bring a turn, which is run again for ever behind its end"],
  [207870134, "rule X1: a turn that a take-up brings while its lock is not sure does not begin with its acceptance"],
  [100005821, "rule X1: the law takes a call for one too many, whose runner got the lock that it had lost"],
  [110005229, "rule X7: the law takes an answer for withdrawn, whose turn failed with its process"],
  [110011235, "rule X13: the law takes half a call of a tool for nothing, and asks for its wait"],
  [207882233, "rule X6: a runner calls before it is sure of its lock again, and not after it"]
] as const

describe("a fault that is mended", () => {
  it.each(MENDED)("night %i: %s", async (seed) => assert.isUndefined((await Night.run(Plan.make(seed))).broken))
})

describe("a defect that is put in by hand", () => {
  it.each(DEFECTS)("$name: stands once in its source", ({ find, path }) =>
    assert.strictEqual(readFileSync(new URL(`../../${path}`, import.meta.url), "utf8").split(find).length, 2)
  )
})

describe("a night is a seed", () => {
  it(`rule X1: no law is broken, from seed ${from} on`, async () => {
    const until = performance.now() + LONGEST_MS
    // However slow the machine is, a night is run twice.
    const sum = await Nights.run(from, MOST_NIGHTS, ({ twice }) => performance.now() > until && twice > 0)
    console.log(`Nights: seeds ${from} to ${from + sum.nights - 1}; any of them: npx --yes pnpm@12 simulate --seed N`)
    assert.deepStrictEqual(sum.broken, [], Sum.text(sum, LONGEST_MS / 1000))
    assert.isAbove(sum.twice, 0)
  })
})
