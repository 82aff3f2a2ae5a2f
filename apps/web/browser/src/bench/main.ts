/**
 * Measures the page beside bare pages, in alternation: `npx --yes pnpm@12 bench page`.
 *
 * The service is the packed one, over SQLite; the provider is on a socket. Ratios count: the machine is the same for both. Frames and times by the
 * clock are noise on a busy machine; processor time is not.
 *
 * | variable | |
 * |---|---|
 * | `HOLDFAST_BENCH_TURNS` | turns of the long conversation, and on the timeline; 5,000 by default |
 * | `HOLDFAST_BENCH_ROUNDS` | rounds of each part; 3 by default, and two more for the first paint |
 * | `HOLDFAST_BENCH_PARTS` | some of `paint,stream,messages,timeline,rest` |
 */
import { readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import * as Rig from "../Rig.ts"
import * as BarePages from "./BarePages.ts"
import * as Messages from "./Messages.ts"
import * as Paints from "./Paints.ts"
import * as Seed from "../Seed.ts"
import * as Rest from "./Rest.ts"
import * as Streaming from "./Streaming.ts"
import * as Table from "./Table.ts"
import * as Timeline from "./Timeline.ts"

const ROUNDS = Number(process.env["HOLDFAST_BENCH_ROUNDS"] ?? 3)
const TURNS = Number(process.env["HOLDFAST_BENCH_TURNS"] ?? 5_000)
const PARTS = (process.env["HOLDFAST_BENCH_PARTS"] ?? "paint,stream,messages,timeline,rest").split(",")

Table.progress("the service and its page are built")
const rig = await Rig.make()
const folder = join(dirname(rig.program), "page")
/** The bytes of what the index names: the parts of the first use. */
const bytesOf = (ending: string): number =>
  [...readFileSync(join(folder, "index.html"), "utf8").matchAll(/"\/(assets\/[^"]+)"/g)].reduce(
    (sum, [, name = ""]) => sum + (name.endsWith(ending) ? statSync(join(folder, name)).size : 0),
    0
  )
const bare = await BarePages.start({
  scriptBytes: bytesOf(".js"),
  styleBytes: bytesOf(".css"),
  pieces: Streaming.PIECES,
  everyMs: Streaming.EVERY_MS,
  texts: Array.from({ length: TURNS }, (_, n) => [Seed.promptOf(n), Seed.answerOf(n)]).flat()
})

try {
  Table.progress(`${TURNS} turns of a conversation and ${TURNS} of a night are written`)
  const address = await Seed.fill(rig, TURNS)
  Table.head()
  if (PARTS.includes("paint")) await Paints.measure(rig, bare, ROUNDS + 2)
  if (PARTS.includes("stream")) await Streaming.measure(rig, bare, ROUNDS)
  if (PARTS.includes("messages")) await Messages.measure(rig, bare, address, TURNS, ROUNDS)
  if (PARTS.includes("timeline")) await Timeline.measure(rig, bare, ROUNDS)
  if (PARTS.includes("rest")) await Rest.measure(rig, bare, ROUNDS)
  Table.progress("done")
} finally {
  bare.close()
  await rig.close()
}
process.exit(0)
