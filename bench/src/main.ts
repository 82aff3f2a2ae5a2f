/**
 * Every benchmark, or those that are named: `npx pnpm@12 bench [turn-loop] [live-path] [parking] [survive]`.
 *
 * Each figure stands beside the bare limit that was measured in the same run on the same machine; the ratio is what counts.
 */
import * as os from "node:os"

const all = {
  "turn-loop": () => import("./TurnLoop.ts"),
  "live-path": () => import("./LivePath.ts"),
  parking: () => import("./Parking.ts"),
  survive: () => import("./Survive.ts")
}

const wanted = process.argv.slice(2)
console.log(`${os.cpus()[0]?.model ?? "?"}, ${os.availableParallelism()} cores, Node ${process.version}`)
for (const [name, load] of Object.entries(all)) {
  if (wanted.length === 0 || wanted.includes(name)) await (await load()).run()
}
