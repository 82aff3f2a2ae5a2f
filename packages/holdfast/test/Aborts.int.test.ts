/** What is left in the process after aborts in a wait. */
import { assert, it } from "vitest"
import { holdfast, type Turn } from "../src/index.ts"

/** Aborted turns. */
const TURNS = 500

const timers = (): number => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length

const waiting = async (turn: Turn): Promise<Turn> => {
  for await (const { type } of turn) if (type === "provider-retry") break
  return turn
}

it("D8: 500 turns that are aborted in their waits leave no timer", async () => {
  const hf = holdfast({
    model: () => {
      throw Object.assign(new Error("Overloaded"), { status: 529 })
    },
    retry: { schedule: { type: "steps", delays: ["3 hours"], tail: "3 hours" } }
  })
  const before = timers()
  const turns = await Promise.all(Array.from({ length: TURNS }, () => waiting(hf.turn("Are you there?"))))
  assert.isAtLeast(timers(), before + TURNS)
  for (const turn of turns) turn.abort()
  const results = await Promise.all(turns.map(({ result }) => result))
  assert.deepStrictEqual(new Set(results.map(({ status }) => status)), new Set(["aborted"]))
  assert.isAtMost(timers(), before)
  assert.isFalse(hf.isRetrying)
})
