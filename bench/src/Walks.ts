/**
 * How many files a walk through the service enters, counted by running it: a prompt, a delta, a failure, a command.
 *
 * A file is entered when one of its functions is called. The service runs from its sources, with the default configuration and with a fallback
 * chain. Files of packages and of the service count; a function that an idle service calls too does not, nor does the import of a
 * module. The walks were made once before they are counted, so that nothing is made for the first time, and a file counts if every round
 * enters it. `HOLDFAST_BENCH_FILES=1` prints the files.
 */
import { request, type ServerResponse } from "node:http"
import { join, relative } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import * as FigureTable from "./FigureTable.ts"
import * as Postgres from "./Postgres.ts"
import * as Processes from "./Processes.ts"
import * as Rounds from "./Rounds.ts"
import * as Trees from "./Trees.ts"
import * as Endpoint from "./walks/Endpoint.ts"

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  Processes.inPlace(async (place) => {
    const provider = await Endpoint.start()
    try {
      for (const [name, retry] of Object.entries(CONFIGURATIONS)) {
        const counted = await Trees.each((tree) => countIn(place, tree, provider, { name, retry }))
        FigureTable.print(
          `Files that a walk enters, ${name}`,
          WALKS.map(({ aim, name: what }) => ({
            what,
            holdfast: counted.here.get(what)?.size ?? NaN,
            beside: counted.beside?.get(what)?.size,
            bare: undefined,
            unit: "files",
            aim: { atMost: aim, of: "figure" }
          }))
        )
        if (process.env["HOLDFAST_BENCH_FILES"] === undefined) continue
        for (const [walk, files] of counted.here)
          console.log([`\n${walk}:`, ...Array.from(files).toSorted()].join("\n  "))
      }
    } finally {
      provider.close()
    }
  })

// --- internal

/** Waits that park; a target of the chain is not skipped by the next round. */
const RETRY = { schedule: { type: "steps", delays: ["1 minute"], tail: "1 minute" } }

const CONFIGURATIONS = {
  "default configuration": RETRY,
  "with a fallback chain": {
    ...RETRY,
    routing: { type: "fallback-chain", chains: { default: ["second/m"] }, cooldown: "1 milli" }
  }
}

const WALKS = [
  { name: "a prompt, until its request is written to the socket", aim: 35 },
  { name: "a delta of a stream, until its client has it", aim: 15 },
  { name: "a failure (429), until the turn is parked", aim: 25 },
  { name: "a command (retry-now of a parked turn), until its answer", aim: 20 }
] as const

type Walk = (typeof WALKS)[number]["name"]

/** What `walks/Recorder.mjs` answers. */
interface Calls {
  readonly all: ReadonlyArray<string>
  readonly request?: ReadonlyArray<string>
  readonly answer?: ReadonlyArray<string>
}

/** Longer than the intervals at which an idle service does something. */
const IDLE_MS = 5_500
/** Without new calls for so long, what an act led to is over. */
const QUIET_MS = 250

const countIn = async (
  place: Processes.Place,
  tree: Trees.Tree,
  provider: Endpoint.Endpoint,
  { name, retry }: { readonly name: string; readonly retry: object }
): Promise<ReadonlyMap<Walk, ReadonlySet<string>>> => {
  const recorder = await Postgres.freePort()
  const endpoint = { type: "openai-compatible", baseUrl: `http://127.0.0.1:${provider.port}/v1` }
  const file = `walks-${tree.name}-${name.replaceAll(" ", "-")}`
  const { child, port } = await Processes.serve(place.children, place.folder, {
    name: file,
    tree,
    node: ["--import", join(import.meta.dirname, "walks/Recorder.mjs")],
    config: {
      database: { path: join(place.folder, `${file}.db`) },
      model: "first/m",
      providers: { first: endpoint, second: endpoint },
      retry
    },
    env: { HOLDFAST_BENCH_RECORDER: String(recorder) }
  })
  const ask = async (path: string): Promise<Calls> =>
    (await (await fetch(`http://127.0.0.1:${recorder}${path}`)).json()) as Calls // what Recorder.mjs answers
  const begin = () => ask("/begin")
  const quiet = async (): Promise<Calls> => {
    for (let before = -1; ;) {
      const calls = await ask("/")
      const own = calls.all.filter((call) => !idle.has(call)).length
      if (own === before) return calls
      before = own
      await pause(QUIET_MS)
    }
  }
  let idle: ReadonlySet<string> = new Set()
  const round = () => walkAll({ port, provider, hasChain: name !== "default configuration", begin, quiet })
  await round()
  await begin()
  await pause(IDLE_MS)
  idle = new Set((await ask("/")).all)
  const walks = new Map<Walk, ReadonlySet<string>>()
  for (let n = 0; n < Rounds.count(3); n++)
    for (const [walk, calls] of await round()) {
      const files = new Set(calls.filter((call) => !idle.has(call)).flatMap((call) => sourceOf(tree, call)))
      const earlier = walks.get(walk)
      walks.set(walk, earlier === undefined ? files : new Set(Array.from(files).filter((file) => earlier.has(file))))
    }
  // A client may be connected, for whom it would wait.
  await Processes.stop({ child }, "SIGKILL")
  return walks
}

/** The file of a call, if it is a source of a package or of the service. */
const sourceOf = (tree: Trees.Tree, call: string): ReadonlyArray<string> => {
  const path = relative(tree.folder, call.slice(0, call.lastIndexOf(":")))
  return /^(?:apps|packages)\/[^/]+\/src\//.test(path) ? [path] : []
}

interface Service {
  readonly port: number
  readonly provider: Endpoint.Endpoint
  readonly hasChain: boolean
  readonly begin: () => Promise<unknown>
  readonly quiet: () => Promise<Calls>
}

/** Two turns: the first streams, the second fails, waits and gets `retry-now`. */
const walkAll = async (service: Service): Promise<ReadonlyArray<readonly [Walk, ReadonlyArray<string>]>> => {
  const { begin, hasChain, port, provider, quiet } = service
  const answered = prompt(port, await create(port), begin)
  const streaming = await provider.next()
  const prompted = (await quiet()).request ?? []
  const client = await answered
  streaming.writeHead(200, { "content-type": "text/event-stream" })
  for (let n = 0; n < 5; n++) await delta(streaming, client)
  await quiet()
  await begin()
  await delta(streaming, client)
  const streamed = (await quiet()).all
  Endpoint.finish(streaming)
  await quiet()

  const conversation = await create(port)
  const waiting = await prompt(port, conversation, begin)
  let failing = await provider.next()
  if (hasChain) {
    Endpoint.refuse(failing)
    failing = await provider.next()
    await waiting.until(/"type":"provider-retry"/)
  }
  await quiet()
  await begin()
  Endpoint.refuse(failing)
  await waiting.until(/"type":"provider-retry"/)
  const failed = (await quiet()).all
  await begin()
  await Processes.post(port, `/v1/conversations/${conversation}/retry-now`, {})
  const retried = await provider.next()
  const commanded = (await quiet()).answer ?? []
  retried.writeHead(200, { "content-type": "text/event-stream" })
  Endpoint.finish(retried)
  await quiet()
  const calls = [prompted, streamed, failed, commanded]
  return WALKS.map(({ name }, n) => [name, calls[n] ?? []])
}

const create = async (port: number): Promise<string> =>
  (await Processes.post(port, "/v1/conversations", {})).conversationId ?? ""

/** A client that streams its turn's events. */
interface Client {
  /** Waits until a line that has not been read before matches. */
  readonly until: (pattern: RegExp) => Promise<void>
}

/** Sends a prompt as soon as the recorder has forgotten what was before it. */
const prompt = async (port: number, conversation: string, begin: Service["begin"]): Promise<Client> => {
  await begin()
  return new Promise((resolve, reject) => {
    const path = `/v1/conversations/${conversation}/turns`
    const headers = { "content-type": "application/json", accept: "application/x-ndjson" }
    request({ host: "127.0.0.1", port, path, method: "POST", headers, agent: false }, (response) => {
      let text = ""
      let look = (): void => {}
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part
        look()
      })
      resolve({
        until: (pattern) =>
          new Promise((found) => {
            look = () => {
              if (!pattern.test(text)) return
              text = ""
              found()
            }
            look()
          })
      })
    })
      .on("error", reject)
      .end(JSON.stringify({ prompt: "Go" }))
  })
}

const delta = (response: ServerResponse, client: Client): Promise<void> => {
  response.write(Endpoint.frame({ content: "word " }))
  return client.until(/"type":"text-delta"/)
}
