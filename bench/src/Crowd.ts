/**
 * Crowds before one endpoint, on a real socket and in real time: with the gate, without one, and the ideal of a crowd that knows the endpoint.
 *
 * Each world has an endpoint and a service of its own for each way; the ways of a world run at the same time, and meet the same luck. A world takes
 * two minutes at most (`HOLDFAST_BENCH_SECONDS`). `HOLDFAST_BENCH_WORLDS` is a part of the names of the worlds to play. With the gate never
 * fewer may be answered than without, but for a tolerance: the gate has to see an outage before it can know that it is one. Who is further ahead
 * when time is up has made more calls for more answers; so the calls for each answer are compared, too.
 */
import { request } from "node:http"
import type { Logged } from "./crowd/Endpoint.ts"
import * as World from "./crowd/World.ts"
import * as FigureTable from "./FigureTable.ts"
import * as Processes from "./Processes.ts"
import * as Trees from "./Trees.ts"

const SECONDS = Number(process.env["HOLDFAST_BENCH_SECONDS"] ?? 120)
const ONLY = process.env["HOLDFAST_BENCH_WORLDS"] ?? ""
const MARKS = [10, 30, 60, 120].filter((mark) => mark <= SECONDS)

/** When the budget of a turn that is always refused is read, and what it may have used by then: that time, and one wait of the schedule. */
const POISON_MS = 60_000
const POISON_BUDGET_S = 120

/** Of the crowd, how many fewer may be answered at a moment than without a gate. */
const TOLERANCE = 0.05

/**
 * From the crowd of one way to that of the next. The ways share the processors, and most of what a crowd costs comes at one moment: when it comes, and
 * after each step of the schedule (0, 5, 15, 45, 105 s). Moments of three ways at once would compare how soon each way got a processor.
 */
const APART_MS = 1_700

/** Outcomes of one moment come within it. */
const MOMENT_MS = 250

/** Calls for each answer, against those without a gate. */
const CALLS_MOST = 1.025

/** Runs the benchmark and prints it. */
export const run = async (): Promise<void> => {
  for (const world of World.worlds.filter(({ name }) => name.includes(ONLY))) {
    const ways = { here: way(Trees.here, true), none: way(Trees.here, false), beside: way(Trees.beside, true) }
    const [here, none, beside] = await Processes.inPlace((place) =>
      Promise.all([ways.here, ways.none, ways.beside].map((way, n) => play(place, world, way, n * APART_MS)))
    )
    if (here !== undefined && none !== undefined) print(world, here, none, beside)
  }
}

// --- internal

interface Way {
  readonly tree: Trees.Tree
  readonly hasGate: boolean
}

const way = (tree: Trees.Tree | undefined, hasGate: boolean): Way | undefined => tree && { tree, hasGate }

interface Outcome {
  readonly calls: ReadonlyArray<Logged>
  /** What the turn that is always refused has used of its budget, in seconds. */
  readonly poisonS: number | undefined
}

let services = 0

const play = async (
  place: Processes.Place,
  world: World.World,
  way: Way | undefined,
  afterMs: number
): Promise<Outcome | undefined> => {
  if (way === undefined) return undefined
  const endpoint = await Processes.server(place, "crowd/Endpoint.ts", JSON.stringify(world))
  const name = `crowd-${++services}`
  const service = await Processes.serve(place.children, place.folder, {
    name,
    tree: way.tree,
    config: {
      database: { path: `./${name}.db` },
      model: "own/m",
      providers: { own: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${endpoint.port}` } },
      gate: { enabled: way.hasGate }
    }
  })
  await Processes.pause(afterMs)
  const begin = world.crowd === "held" ? hold : submit
  const members: Array<Promise<string>> = []
  const start = performance.now()
  for (let n = 0; n < world.count; n++) {
    await Processes.pause(Math.max(0, start + n * world.everyMs - performance.now()))
    members.push(begin(service.port, World.promptOf(n)))
  }
  const poison = world.hasPoison ? spentBy(service.port, await members[0], start + POISON_MS) : undefined
  let calls: ReadonlyArray<Logged> = []
  do {
    await Processes.pause(1_000)
    calls = await logOf(endpoint.port)
  } while (endsOf(calls).length < World.answerable(world) && performance.now() - start < SECONDS * 1_000)
  const outcome = { calls, poisonS: await poison }
  await Promise.all([Processes.stop(service, "SIGKILL"), Processes.stop(endpoint)])
  await Promise.allSettled(members)
  return outcome
}

const logOf = async (port: number): Promise<ReadonlyArray<Logged>> => {
  const log = await (await fetch(`http://127.0.0.1:${port}/log`)).text()
  return JSON.parse(log)
}

/** Makes a call through the gateway; ends with its answer, or when it is cut. */
const hold = (port: number, content: string): Promise<string> =>
  new Promise((resolve) => {
    const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content }] })
    const headers = {
      "content-type": "application/json",
      "content-length": body.length,
      authorization: "Bearer sk-bench-0123456789"
    }
    const path = "/to/own/chat/completions"
    const call = request({ agent: false, port, host: "127.0.0.1", method: "POST", path, headers }, (response) => {
      response.on("error", () => {})
      response.on("close", () => resolve(content))
      response.resume()
    })
    call.on("error", () => resolve(content))
    call.end(body)
  })

/** Submits a turn; returns its path. */
const submit = async (port: number, prompt: string): Promise<string> => {
  const { conversationId = "" } = await Processes.post(port, "/v1/conversations", {})
  const path = `/v1/conversations/${conversationId}/turns`
  const accepted = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", prefer: "respond-async" },
    body: JSON.stringify({ prompt })
  })
  return `${path}/${/"turnId":"([^"]+)"/.exec(await accepted.text())?.[1] ?? ""}`
}

/** What a turn has used of its budget at `at`, in seconds, by its own account of its decisions; `NaN`: it has none. */
const spentBy = async (port: number, path: string | undefined, at: number): Promise<number> => {
  await Processes.pause(at - performance.now())
  const account = await (await fetch(`http://127.0.0.1:${port}${path}/explain`)).text()
  const spent = Array.from(account.matchAll(/"spentMs":(\d+)/g), ([, ms]) => Number(ms) / 1_000)
  return spent.length === 0 ? NaN : Math.max(...spent)
}

/** When each of the crowd was answered, in order. */
const endsOf = (calls: ReadonlyArray<Logged>): ReadonlyArray<number> =>
  calls.flatMap(({ answeredAt }) => (answeredAt > 0 ? [answeredAt] : [])).toSorted((a, b) => a - b)

const print = (world: World.World, here: Outcome, none: Outcome, beside: Outcome | undefined): void => {
  const all = World.answerable(world)
  const by = ({ calls }: Outcome, at: number): number => endsOf(calls).filter((end) => end <= at).length
  const doneAt = ({ calls }: Outcome): number =>
    (endsOf(calls).length < all ? Infinity : (endsOf(calls).at(-1) ?? 0)) / 1_000
  const row = (
    what: string,
    of: (outcome: Outcome) => number,
    unit: string,
    aim?: FigureTable.Row["aim"]
  ): FigureTable.Row => ({ what, holdfast: of(here), beside: beside && of(beside), bare: of(none), unit, aim })
  // Between two answers to the crowd without a gate nothing changes there.
  const behind = (ms: number): number =>
    Math.max(0, ...endsOf(none.calls).map((end) => by(none, end) - by(here, end + ms)))
  const poison: ReadonlyArray<FigureTable.Row> =
    here.poisonS === undefined
      ? []
      : [
          row("budget used by the refused one after 60 s", ({ poisonS = NaN }) => poisonS, "s", {
            atMost: POISON_BUDGET_S,
            of: "figure"
          })
        ]
  const title = `${world.name}: ${world.count} ${world.crowd === "held" ? "held calls" : "turns"}; bare is without a gate`
  FigureTable.print(title, [
    ...MARKS.map((mark) =>
      row(
        `answered after ${mark} s (ideal ${World.ideal(world, mark * 1_000)})`,
        (outcome) => by(outcome, mark * 1_000),
        ""
      )
    ),
    {
      what: "fewer than without a gate, at the worst moment",
      holdfast: behind(0),
      bare: undefined,
      unit: "",
      aim: undefined
    },
    {
      what: `and still ${MOMENT_MS} ms later`,
      holdfast: behind(MOMENT_MS),
      bare: undefined,
      unit: "",
      aim: { atMost: Math.max(2, Math.round(all * TOLERANCE)), of: "figure" }
    },
    row("calls", ({ calls }) => calls.length, ""),
    row("calls for each answer", (outcome) => outcome.calls.length / endsOf(outcome.calls).length, "", {
      atMost: CALLS_MOST
    }),
    row(`all answered (Infinity: not within ${SECONDS} s)`, doneAt, "s"),
    ...poison
  ])
}
