/**
 * Turns that wait: how fast they are parked, what one costs, how soon a new process has them, and how late they wake.
 *
 * Parking one turn is all of it, from the prompt handed in: the prompt accepted with `turn-start` and its message, then the failed
 * attempt with its decision, each on disk with a full sync before what follows. It is measured in process, of new conversations and
 * behind a history that every attempt has to read, and over HTTP with a provider on a socket. The bare limits are rows that are
 * inserted in groups of 500, the least that a record of a wait can cost, and loops by hand over HTTP (`parking/BareLoop.ts`) and for
 * wakes (`parking/BareWakes.ts`).
 *
 * `HOLDFAST_BENCH_TURNS=100000` takes some minutes; its conversations are new unless `HOLDFAST_BENCH_HISTORY` gives their number
 * of messages.
 */
import { join } from "node:path"
import * as Database from "./parking/Database.ts"
import * as FailingProvider from "./parking/FailingProvider.ts"
import * as OverHttp from "./parking/OverHttp.ts"
import * as Prepared from "./parking/Prepared.ts"
import * as Service from "./parking/Service.ts"
import * as Wakes from "./parking/Wakes.ts"
import * as Processes from "./Processes.ts"
import * as FigureTable from "./FigureTable.ts"
import * as Rounds from "./Rounds.ts"
import * as Trees from "./Trees.ts"

const TURNS = Number(process.env["HOLDFAST_BENCH_TURNS"] ?? 10_000)
const DUE = Math.min(2_000, TURNS / 2)
/** Messages of history that every conversation has. A hundred thousand times a hundred are five gigabytes. */
const HISTORY = Number(process.env["HOLDFAST_BENCH_HISTORY"] ?? (TURNS > 10_000 ? 0 : 100))
const GROUP = 500
/** What a collection leaves differs by a per cent or two. */
const NO_WORSE: FigureTable.Aim = { atMost: 1.05, of: "beside" }

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  Processes.inPlace(async (place) => {
    say(`making ${TURNS} conversations${HISTORY > 0 ? ` with ${HISTORY} messages` : ""}`)
    const prepared = await Trees.each((tree) => Prepared.prepare(place, tree, TURNS, HISTORY))
    const parked = await inProcess(place, prepared)
    await overHttp(place, prepared)
    const provider = await FailingProvider.start()
    try {
      await waiting(place, provider.port, prepared, parked)
      await wakes(place, provider, prepared, parked)
    } finally {
      provider.close()
    }
  })

// --- internal

/** Prints the progress of long runs. */
const say = (what: string): void => console.error(`  ... ${what}`)

interface Pair<A> {
  readonly here: A
  readonly beside: A | undefined
}

type Of<A> = (prepared: Prepared.Prepared) => Promise<A>

/** A measurement of each checkout, for rounds. */
const both = <A>({ beside, here }: Pair<Prepared.Prepared>, measure: Of<A>) => ({
  here: () => measure(here),
  beside: beside && (() => measure(beside))
})

/** The parked databases, behind the history where there is one. */
const inProcess = async (place: Processes.Place, prepared: Pair<Prepared.Prepared>): Promise<Pair<Prepared.Parked>> => {
  say("parking in process")
  let bares = 0
  const bare = async (): Promise<Prepared.Parked> => {
    const database = join(place.folder, `inserts-${++bares}.db`)
    return { ...Database.bareInserts(database, TURNS, GROUP), database }
  }
  const fresh = await Rounds.alternate(
    { bare, ...both(prepared, async (of) => Prepared.park(place, of, "fresh")) },
    Rounds.count(3)
  )
  const old =
    HISTORY === 0
      ? fresh
      : await Rounds.alternate(
          { bare, ...both(prepared, async (of) => Prepared.park(place, of, "old")) },
          Rounds.count(3)
        )
  const row = (what: string, samples: typeof fresh): FigureTable.Row => ({
    what,
    holdfast: samples.here.map(({ perSecond }) => perSecond),
    beside: samples.beside.map(({ perSecond }) => perSecond),
    bare: samples.bare.map(({ perSecond }) => perSecond),
    unit: "/s",
    aim: { atLeast: 5, of: "beside" }
  })
  const bytes = (samples: ReadonlyArray<{ readonly bytes: number }>) =>
    FigureTable.median(samples.map((one) => one.bytes))
  FigureTable.print(`Parking ${TURNS} turns in process, against grouped inserts`, [
    row("parks a second, new conversations", fresh),
    ...(HISTORY > 0 ? [row(`parks a second, behind ${HISTORY} messages`, old)] : []),
    {
      what: "disk a parked turn",
      holdfast: bytes(old.here),
      beside: bytes(old.beside),
      bare: bytes(old.bare),
      unit: "B",
      aim: NO_WORSE
    }
  ])
  const [here] = old.here
  if (here === undefined) throw new Error("there was no round")
  return { here, beside: old.beside[0] }
}

const overHttp = async (place: Processes.Place, prepared: Pair<Prepared.Prepared>): Promise<void> => {
  const rows: Array<FigureTable.Row> = []
  const { port } = await Processes.server(place, "parking/FailingServer.ts")
  for (const way of ["watched", "submitted"] as const) {
    say(`parking over HTTP, ${way}`)
    const samples = await Rounds.alternate<"here" | "beside" | "bare", OverHttp.Speed | undefined>(
      {
        bare: () => OverHttp.bare(place, port, TURNS, way),
        ...both(prepared, (of) => OverHttp.service(place, port, of, way))
      },
      Rounds.count(3)
    )
    const figures = (of: keyof OverHttp.Speed) => ({
      holdfast: samples.here.flatMap((speed) => speed?.[of] ?? []),
      beside: samples.beside.flatMap((speed) => speed?.[of] ?? []),
      bare: samples.bare.flatMap((speed) => speed?.[of] ?? [])
    })
    rows.push(
      {
        what: `parks a second, ${way}`,
        ...figures("perSecond"),
        unit: "/s",
        aim: way === "watched" ? [{ atLeast: 4, of: "beside" }, { atLeast: 0.5 }] : { atLeast: 0.5 }
      },
      { what: "  CPU of the server a park", ...figures("cpuAPark"), unit: "us", aim: undefined }
    )
  }
  FigureTable.print(`Parking ${TURNS} turns over HTTP, a provider on a socket; against a loop by hand`, rows)
}

/** In new processes, so that what parking itself left behind does not count. */
const waiting = async (
  place: Processes.Place,
  provider: number,
  prepared: Pair<Prepared.Prepared>,
  parked: Pair<Prepared.Parked>
): Promise<void> => {
  say("starting with all of them parked, and with none")
  const measure = async ({ sql, tree }: Prepared.Prepared, database: string) => {
    const full = await Service.start(place, tree, { database, provider, turns: TURNS })
    const after = await full.memory()
    await Processes.stop(full)
    const showAgain = sql.hide(database)
    const idle = await Service.start(place, tree, { database, provider, turns: 0 })
    const before = await idle.memory()
    await Processes.stop(idle)
    showAgain()
    return { bytes: (after - before) / TURNS, armedMs: full.armedMs, takingUpMs: full.takingUpMs }
  }
  const here = await measure(prepared.here, parked.here.database)
  const beside = prepared.beside && parked.beside && (await measure(prepared.beside, parked.beside.database))
  const timers = timeoutsMs()
  FigureTable.print("What waits, in a new process", [
    {
      what: "memory a parked turn, held after a collection",
      holdfast: here.bytes,
      beside: beside?.bytes,
      bare: 400,
      unit: "B",
      aim: NO_WORSE
    },
    {
      what: "process start to all re-armed, against timers",
      holdfast: here.armedMs,
      beside: beside?.armedMs,
      bare: timers,
      unit: "ms",
      aim: undefined
    },
    {
      what: "  of it, from the process up to all re-armed",
      holdfast: here.takingUpMs,
      beside: beside?.takingUpMs,
      bare: timers,
      unit: "ms",
      aim: undefined
    }
  ])
}

const wakes = async (
  place: Processes.Place,
  provider: FailingProvider.FailingProvider,
  prepared: Pair<Prepared.Prepared>,
  parked: Pair<Prepared.Parked>
): Promise<void> => {
  say(`waking ${DUE} of them within a second, twice`)
  const { beside, here } = prepared
  const samples = await Rounds.alternate<"here" | "beside" | "bare", Wakes.Crowds>(
    {
      bare: () => Wakes.bare(place, provider, here, parked.here.database, DUE),
      here: () => Wakes.service(place, provider, here, parked.here.database, DUE),
      beside: beside && (() => Wakes.service(place, provider, beside, parked.beside?.database ?? "", DUE))
    },
    Rounds.count(1)
  )
  const row = (
    what: string,
    unit: string,
    of: (crowds: Wakes.Crowds) => number,
    aim?: FigureTable.Aim
  ): FigureTable.Row => ({
    what,
    holdfast: samples.here.map(of),
    beside: samples.beside.map(of),
    bare: samples.bare.map(of),
    unit,
    aim
  })
  FigureTable.print(`${DUE} turns due within one second, no gate: lag up to the provider's socket`, [
    row("first crowd of a process, p99", "ms", ({ first }) => first.p99Ms, { atMost: 0.1, of: "beside" }),
    row("  median", "ms", ({ first }) => first.medianMs),
    row("second crowd, p99", "ms", ({ second }) => second.p99Ms, { atMost: 1, of: "beside" }),
    row("  median", "ms", ({ second }) => second.medianMs),
    row("CPU a wake, first crowd", "ms", ({ first }) => first.cpuAWake, { atMost: 0.2, of: "beside" }),
    row("CPU a wake, second crowd", "ms", ({ second }) => second.cpuAWake, { atMost: 0.2, of: "beside" })
  ])
}

/** As many timers as there are turns, set and cleared. */
const timeoutsMs = (): number => {
  const start = performance.now()
  const timers = Array.from({ length: TURNS }, () => setTimeout(() => {}, 3_600_000))
  const ms = performance.now() - start
  for (const timer of timers) clearTimeout(timer)
  return ms
}
