/**
 * A wake storm that dies: 2,000 turns are due within one second, and `kill -9` ends the process while it calls for them.
 *
 * A call whose outcome was not on disk is made again after the restart. The least that can be made again are the calls under way at
 * the kill: the provider has their requests, and has not answered them. Next to these come the calls whose refusal the process had for
 * at most `RECORDING_MS`: its record was being written. Every other call is a fault.
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
/** A refusal waits for the commit in progress and its own, and on a busy machine for the processor. */
const RECORDING_MS = 250
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
    const underWay = here.map((storm) => storm.underWay)
    const row = (
      what: string,
      of: (storm: Storm) => number,
      { aim, bare }: { readonly aim?: FigureTable.Aim; readonly bare?: ReadonlyArray<number> } = {}
    ): FigureTable.Row => ({ what, holdfast: here.map(of), beside: beside.map(of), bare, unit: "", aim })
    FigureTable.print(`A wake storm of ${TURNS}, killed with -9 at call ${KILL_AT}; against the calls under way then`, [
      row("calls made again", ({ again }) => again, { bare: underWay, aim: { atMost: 1 } }),
      row("of them under way at the kill", ({ againUnderWay }) => againUnderWay, { bare: underWay }),
      row(`refused in the ${RECORDING_MS} ms before it`, ({ againRecording }) => againRecording),
      row("refused earlier", ({ again, againRecording, againUnderWay }) => again - againRecording - againUnderWay, {
        aim: { atMost: 0, of: "figure" }
      })
    ])
  })

// --- internal

interface Storm {
  readonly again: number
  readonly againUnderWay: number
  readonly againRecording: number
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
  const killedAt = performance.now()
  await Processes.ended(service.child)
  // Requests that the process had sent when it died are read by then.
  await Processes.pause(DRAIN_MS)
  const before = provider.calls.splice(0)
  const isUnderWay = ({ answeredAt }: Call) => answeredAt > killedAt
  const again = await Service.start(place, tree, options)
  await provider.isQuiet()
  await Processes.stop(again)
  provider.close()
  const calledAgain = new Set(provider.calls.map(({ turn }) => turn))
  const repeated = before.filter(({ turn }) => calledAgain.has(turn))
  const notAnswered = repeated.filter(isUnderWay).length
  return {
    again: before.length + provider.calls.length - TURNS,
    againUnderWay: notAnswered,
    againRecording: repeated.filter(({ answeredAt }) => answeredAt > killedAt - RECORDING_MS).length - notAnswered,
    underWay: before.filter(isUnderWay).length
  }
}

/** A request, and when it was answered: `Infinity` before that, or when its process had gone. */
interface Call {
  readonly turn: string
  answeredAt: number
}

/** Refuses, some milliseconds after each request, and counts. */
const startProvider = async () => {
  const called = new Set<string>()
  const calls: Array<Call> = []
  let last = Date.now()
  let wanted = Infinity
  const reached = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk: Buffer) => (body += chunk.toString()))
    request.on("end", () => {
      const call = { turn: /wait for me (\S+?)"/.exec(body)?.[1] ?? "", answeredAt: Infinity }
      called.add(call.turn)
      last = Date.now()
      if (calls.push(call) === wanted) reached.resolve()
      setTimeout(() => {
        // The service of this request may be gone.
        if (response.destroyed) return
        call.answeredAt = performance.now()
        response.writeHead(529, { "content-type": "application/json" })
        response.end('{"error":{"type":"overloaded_error","message":"Overloaded"}}')
      }, ANSWER_MS)
    })
  })
  await new Promise<void>((resolve) => server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, resolve))
  const address = server.address()
  return {
    port: typeof address === "object" ? (address?.port ?? 0) : 0,
    /** In the order in which they came. */
    calls,
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
