/** A program that aborts 500 turns in their waits, prints what is left of them, and ends by itself. */
import { holdfast, type Turn } from "../src/index.ts"

const TURNS = 500

const timers = (): number => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length

const waiting = async (turn: Turn): Promise<Turn> => {
  for await (const { type } of turn) if (type === "provider-retry") break
  return turn
}

const hf = holdfast({
  model: () => {
    throw Object.assign(new Error("Overloaded"), { status: 529 })
  },
  retry: { schedule: { type: "steps", delays: ["3 hours"], tail: "3 hours" } }
})
const turns = await Promise.all(Array.from({ length: TURNS }, () => waiting(hf.turn("Are you there?"))))
const timersInWaits = timers()
for (const turn of turns) turn.abort()
const results = await Promise.all(turns.map(({ result }) => result))
const aborted = results.filter(({ status }) => status === "aborted").length
process.stdout.write(`${JSON.stringify({ timersInWaits, aborted, timers: timers(), isRetrying: hf.isRetrying })}\n`)
