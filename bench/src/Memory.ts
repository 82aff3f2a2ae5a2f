/**
 * Memory of 1,000 open streams, and what a process keeps of them after they have ended; beside a plain server.
 *
 * Each stream has had its first delta and gets another one every two seconds. `held` is heap and buffers after a collection,
 * `resident` what the system counts. A small crowd comes first, so that compiled code does not count.
 */
import * as Client from "./Client.ts"
import * as Held from "./Held.ts"
import * as Processes from "./Processes.ts"
import * as FigureTable from "./FigureTable.ts"
import * as Rounds from "./Rounds.ts"
import * as Trees from "./Trees.ts"

const STREAMS = Number(process.env["HOLDFAST_BENCH_STREAMS"] ?? 1_000)
const WARM_UP = 50

/** Without an end: the provider ends all streams on a signal. */
const OPEN: Client.Manner = { deltas: 1_000_000, chunk: 1, every: 2_000 }

/** "Given back" in figures: a quarter of what an open stream may take. */
const GIVEN_BACK: FigureTable.Aim = { atMost: 20, of: "figure" }
/** The plain server keeps some too: compiled code, and tables that have grown. */
const GIVEN_BACK_HELD: FigureTable.Aim = { atMost: 1.5 }

/** Timers of sockets have gone by then. */
const SETTLE_MS = 8_000

/** The provider closes idle connections after two minutes, and the service gives its memory back a minute later (`MemoryReturn`). */
const GIVEN_BACK_MS = 190_000

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  Processes.inPlace(async (place) => {
    const provider = await Processes.server(place, "FakeProvider.ts")
    const providers = Client.providersFor(provider.port, [OPEN])
    const [model] = Object.keys(providers)
    let services = 0
    const service = (tree: Trees.Tree | undefined) =>
      tree &&
      (async () => {
        const name = `memory-${++services}`
        const process = await Processes.serve(place.children, place.folder, {
          name,
          tree,
          config: { database: { path: `./${name}.db` }, model: `${model}/m`, providers },
          node: Held.NODE_OPTIONS
        })
        return measure(provider, process, Client.holdfast(process.port))
      })
    const plain = async () => {
      const process = await Processes.serverWith(
        place,
        Held.NODE_OPTIONS,
        "PlainServer.ts",
        "raw-parse",
        String(provider.port)
      )
      return measure(provider, process, Client.plain(process.port))
    }
    const samples = await Rounds.alternate<"here" | "beside" | "bare", Cost>(
      { bare: plain, here: service(Trees.here), beside: service(Trees.beside) },
      Rounds.count(1)
    )
    const row = (what: string, of: (cost: Cost) => number, aim?: FigureTable.Aim): FigureTable.Row => ({
      what,
      holdfast: samples.here.map(of),
      beside: samples.beside.map(of),
      bare: samples.bare.map(of),
      unit: "KiB",
      aim
    })
    FigureTable.print(`${STREAMS} open streams, against raw-parse; KiB a stream`, [
      row("an open stream, resident", ({ open }) => open.resident, { atMost: 80, of: "figure" }),
      row("an open stream, held after a collection", ({ open }) => open.held),
      row("kept after all have ended, resident", ({ kept }) => kept.resident, GIVEN_BACK),
      row("kept after all have ended, held", ({ kept }) => kept.held, GIVEN_BACK_HELD),
      row("kept after as many again have ended, resident", ({ keptAgain }) => keptAgain.resident, GIVEN_BACK),
      row("kept after as many again have ended, held", ({ keptAgain }) => keptAgain.held, GIVEN_BACK_HELD)
    ])
  })

// --- internal

/** KiB a stream, above what there was before the first of them. */
interface Memory {
  readonly held: number
  readonly resident: number
}

interface Cost {
  readonly open: Memory
  readonly kept: Memory
  readonly keptAgain: Memory
}

const measure = async (
  provider: Processes.Process,
  process: Processes.Process,
  server: Client.Server
): Promise<Cost> => {
  await crowd(provider, server, WARM_UP)
  const before = await memoryOf(process)
  const above = (now: Memory): Memory => ({
    held: (now.held - before.held) / STREAMS,
    resident: (now.resident - before.resident) / STREAMS
  })
  let open = before
  const isOpen = async () => void (open = await memoryOf(process))
  await crowd(provider, server, STREAMS, isOpen)
  const kept = await memoryOf(process, GIVEN_BACK_MS)
  await crowd(provider, server, STREAMS)
  const keptAgain = await memoryOf(process, GIVEN_BACK_MS)
  await Processes.stop(process)
  return { open: above(open), kept: above(kept), keptAgain: above(keptAgain) }
}

/** Opens streams, waits until each has had its first delta, and ends them. */
const crowd = async (
  provider: Processes.Process,
  server: Client.Server,
  streams: number,
  isOpen: () => Promise<void> = async () => {}
): Promise<void> => {
  const prepared: Array<Client.Prepared> = []
  for (let n = 0; n < streams; n++) prepared.push(await server.prepare(OPEN))
  let begun = 0
  const all = Promise.withResolvers<void>()
  const ended = prepared.map((turn) => {
    let hasBegun = false
    return Client.stream(server, turn, () => {
      if (hasBegun) return
      hasBegun = true
      if (++begun === streams) all.resolve()
    })
  })
  await all.promise
  await isOpen()
  provider.child.kill("SIGUSR2")
  await Promise.all(ended)
}

/** In KiB. The collection comes first, and the resident set follows it. */
const memoryOf = async ({ child }: Processes.Process, settleMs = SETTLE_MS): Promise<Memory> => {
  await Processes.pause(settleMs)
  const held = (await Held.bytes(child)) / 1024
  return { held, resident: Processes.residentBytes(child) / 1024 }
}
