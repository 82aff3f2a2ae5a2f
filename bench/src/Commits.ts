/** Commits with a full sync, and CPU, of a turn that runs alone: in all, and before the client has its first delta. */
import { join } from "node:path"
import * as Client from "./Client.ts"
import * as Processes from "./Processes.ts"
import * as FigureTable from "./FigureTable.ts"
import * as Rounds from "./Rounds.ts"
import * as Trees from "./Trees.ts"
import * as WriteAheadLog from "./WriteAheadLog.ts"

/** So slow that what is committed before the first delta can be counted before anything else is committed. */
const SLOW: Client.Manner = { deltas: 3, chunk: 1, every: 300 }
/** What follows a turn's end is on disk by then. */
const SETTLE_MS = 300
const TURNS = 20
/** A service's first turns compile what they run. */
const WARM_UP = 5

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  Processes.inPlace(async (place) => {
    const provider = await Processes.server(place, "FakeProvider.ts")
    const providers = Client.providersFor(provider.port, [SLOW])
    const [model] = Object.keys(providers)
    const databaseOf = (name: string) => join(place.folder, `${name}.db`)
    const bare = await Processes.server(
      place,
      "PlainServer.ts",
      "raw-durable",
      String(provider.port),
      databaseOf("bare")
    )
    const service = await Trees.each((tree) =>
      Processes.serve(place.children, place.folder, {
        name: tree.name,
        tree,
        config: { database: { path: databaseOf(tree.name) }, model: `${model}/m`, providers }
      })
    )
    const lone = (process: Processes.Process | undefined, server: typeof Client.plain, name: string) =>
      process && (() => turn(process, server(process.port), databaseOf(name)))
    const turns = await Rounds.alternate(
      {
        bare: lone(bare, Client.plain, "bare"),
        here: lone(service.here, Client.holdfast, "here"),
        beside: lone(service.beside, Client.holdfast, "beside")
      },
      TURNS,
      WARM_UP
    )
    const row = (what: string, unit: string, of: keyof Lone, atMost?: number): FigureTable.Row => ({
      what,
      holdfast: turns.here.map((lone) => lone[of]),
      beside: turns.beside.map((lone) => lone[of]),
      bare: turns.bare.map((lone) => lone[of]),
      unit,
      aim: atMost === undefined ? undefined : { atMost, of: "figure" }
    })
    FigureTable.print("A lone turn, against raw-durable", [
      row("commits with a full sync", "", "commits", 3),
      row("  before its first delta", "", "beforeFirst", 2),
      row("CPU", "ms", "cpuMs")
    ])
  })

// --- internal

interface Lone {
  readonly commits: number
  readonly beforeFirst: number
  readonly cpuMs: number
}

const turn = async (process: Processes.Process, server: Client.Server, database: string): Promise<Lone> => {
  const prepared = await server.prepare(SLOW)
  await Processes.pause(SETTLE_MS)
  const before = { commits: WriteAheadLog.commits(database), cpuMs: Processes.cpuMs(process) }
  let beforeFirst = NaN
  await Client.stream(server, prepared, () => {
    if (Number.isNaN(beforeFirst)) beforeFirst = WriteAheadLog.commits(database) - before.commits
  })
  await Processes.pause(SETTLE_MS)
  const commits = WriteAheadLog.commits(database) - before.commits
  return { commits, beforeFirst, cpuMs: Processes.cpuMs(process) - before.cpuMs }
}
