/**
 * Runs nights in processes of their own: the event loop of each stands still during a night.
 *
 * Each takes some nights, sends their sum, and takes the next, so that all are done at about the same time. The compiled code of the service
 * is kept between runs, in `node_modules/.cache`: to load it takes a worker several times as long as a night.
 */
import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as Sum from "./Sum.ts"

/** Seeds that a worker runs, one after another. */
export interface Share {
  readonly from: number
  readonly nights: number
}

/** Nights that a worker takes at a time. */
const MOST = 10

const CACHE = fileURLToPath(new URL("../node_modules/.cache/", import.meta.url))

/** Runs nights in so many workers. */
export const run = async (from: number, nights: number, workers: number): Promise<Sum.Sum> => {
  const shares = Array.from({ length: Math.ceil(nights / MOST) }, (_, n): Share => {
    const first = n * MOST
    return { from: from + first, nights: Math.min(MOST, nights - first) }
  })
  const env = { NODE_COMPILE_CACHE: CACHE, ...process.env }
  const start = () => sumOf(fork(WORKER, [], { env }), () => shares.shift())
  return Sum.together(await Promise.all(Array.from({ length: Math.min(workers, shares.length) }, start)))
}

/** Runs nights in one worker with a defect that is put in by hand, until one breaks a law. */
export const planted = (from: number, nights: number, defect: number): Promise<Sum.Sum> => {
  const shares: Array<Share> = [{ from, nights }]
  const execArgv = [...process.execArgv, "--import", new URL("Planted.ts", import.meta.url).href]
  const env = { ...process.env, HOLDFAST_DEFECT: String(defect) }
  return sumOf(fork(WORKER, [], { execArgv, env }), () => shares.shift())
}

// --- internal

const WORKER = new URL("Worker.ts", import.meta.url)

const sumOf = (worker: ChildProcess, take: () => Share | undefined): Promise<Sum.Sum> =>
  new Promise((resolve, reject) => {
    const sums: Array<Sum.Sum> = []
    let share = take()
    const next = (): void => void (share === undefined ? worker.disconnect() : worker.send(share))
    worker.on("message", (sum) => {
      sums.push(sum as Sum.Sum) // what `Worker.ts` sends
      share = take()
      next()
    })
    worker.on("exit", (code) =>
      share === undefined
        ? resolve(Sum.together(sums))
        : reject(new Error(`A worker from seed ${share.from} ended with code ${code}.`))
    )
    next()
  })
