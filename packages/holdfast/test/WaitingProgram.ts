/** A program whose turn waits for hours: prints the wait, and is killed. */
import { holdfast } from "../src/index.ts"
import { sqliteStore } from "../src/stores/Sqlite.ts"

const hf = holdfast({
  model: () => {
    throw Object.assign(new Error("Overloaded"), { status: 529 })
  },
  retry: { schedule: { type: "steps", delays: ["3 hours"], tail: "3 hours" } },
  store: sqliteStore(process.argv[2] ?? "")
})
hf.on("provider-retry", (event) => process.stdout.write(`${JSON.stringify(event)}\n`))
await hf.turn("Are you there?", { id: "t1" }).result
