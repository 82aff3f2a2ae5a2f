/**
 * A wake storm that dies: 2,000 turns are due within one second, and `kill -9` ends the process while it calls for them.
 *
 * A call whose outcome was not on disk is made again after the restart. The least that can be made again are the calls under way at
 * the kill: the provider has their requests, and has not answered them.
 */
import { createServer } from "node:http"
import * as Prepared from "./parking/Prepared.ts"
import * as Service from "./parking/Service.ts"
import * as Processes from "./Processes.ts"
import * as FigureTable from "./FigureTable.ts"
import * as Rounds from "./Rounds.ts"
import * as Trees from "./Trees.ts"

const TURNS = Number(process.env["HOLDFAST_BENCH_TURNS"] ?? 2_000)
/** Calls at which the process is killed. */
const KILL_AT = TURNS / 2
const UNTIL_DUE_MS = 8_000
/** From a request to its answer: a refusal takes an endpoint some milliseconds. */
const ANSWER_MS = 20
const DRAIN_MS = 500
/** A start spreads overdue turns over 30 seconds; a gap as long as this has none left. */
const QUIET_MS = 8_000

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  Processes.inPlace(async (place) => {
    const prepared = await Trees.each((tree) => Prepared.prepare(place, tree, TURNS, 0))
    const storm = (of: Prepared.Prepared | undefined) => of && (() => measure(place, of))
    const { beside, here } = await Rounds.alternate<"here" | "beside", Storm>(
      { here: storm(prepared.here), beside: storm(prepared.beside) },
      Rounds.count(2)
    )
    FigureTable.print(`A wake storm of ${TURNS}, killed with -9 at call ${KILL_AT}; against the calls under way then`, [
      {
        what: "calls made again",
        holdfast: here.map(({ again }) => again),
        beside: beside.map(({ again }) => again),
        bare: here.map(({ underWay }) => underWay),
        unit: "",
        aim: { atMost: 1 }
      }
    ])
  })

// --- internal

interface Storm {
  readonly again: number
  readonly underWay: number
}

const measure = async (place: Processes.Place, prepared: Prepared.Prepared): Promise<Storm> => {
  const { sql, tree } = prepared
  const { database } = await Prepared.park(place, prepared, "fresh")
  const provider = await startProvider()
  const from = Date.now() + UNTIL_DUE_MS
  sql.makeDue(database, TURNS, from)
  const options = { database, provider: provider.port, turns: TURNS }
  const service = await Service.start(place, tree, options)
  await provider.reaches(KILL_AT)
  service.child.kill("SIGKILL")
  const answered = provider.answered()
  await Processes.ended(service.child)
  // Requests that the process had sent when it died are read by then.
  await Processes.pause(DRAIN_MS)
  const underWay = provider.calls() - answered
  const again = await Service.start(place, tree, options)
  await provider.isQuiet()
  await Processes.stop(again)
  provider.close()
  return { again: provider.calls() - TURNS, underWay }
}

/** Refuses, some milliseconds after each request, and counts. */
const startProvider = async () => {
  const called = new Set<string>()
  let calls = 0
  let answered = 0
  let last = Date.now()
  let wanted = Infinity
  const reached = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk: Buffer) => (body += chunk.toString()))
    request.on("end", () => {
      called.add(/wait for me (\S+?)"/.exec(body)?.[1] ?? "")
      last = Date.now()
      if (++calls === wanted) reached.resolve()
      setTimeout(() => {
        // The service of this request may be gone.
        if (response.destroyed) return
        answered++
        response.writeHead(529, { "content-type": "application/json" })
        response.end('{"error":{"type":"overloaded_error","message":"Overloaded"}}')
      }, ANSWER_MS)
    })
  })
  await new Promise<void>((resolve) => server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, resolve))
  const address = server.address()
  return {
    port: typeof address === "object" ? (address?.port ?? 0) : 0,
    calls: () => calls,
    answered: () => answered,
    reaches: (count: number) => {
      wanted = count
      return reached.promise
    },
    isQuiet: async () => {
      while (Date.now() - last < QUIET_MS || called.size < TURNS) await Processes.pause(200)
    },
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}
