/** How long `/healthz` takes while something else goes on: one request after another, evenly spaced. */
import { Agent, request } from "node:http"

/** Between two requests. */
const INTERVAL_MS = 20

/** Open before the first request that counts: Node accepts one connection in each turn of its event loop, and a probe is no crowd. */
const CONNECTIONS = 50

/** Asks until `isOver` resolves. A request that takes long delays no other one: what it hides would be the worst of all. */
export const probe = async (port: number, isOver: Promise<unknown>): Promise<ReadonlyArray<number>> => {
  const agent = new Agent({ keepAlive: true })
  await Promise.all(Array.from({ length: CONNECTIONS }, () => ask(port, agent)))
  const pending: Array<Promise<number>> = []
  const timer = setInterval(() => pending.push(ask(port, agent)), INTERVAL_MS)
  await isOver
  clearInterval(timer)
  const times = await Promise.all(pending)
  agent.destroy()
  return times
}

// --- internal

const ask = (port: number, agent: Agent): Promise<number> =>
  new Promise((resolve) => {
    const from = performance.now()
    request({ host: "127.0.0.1", port, path: "/healthz", agent }, (response) => {
      response.resume()
      response.on("end", () => resolve(response.statusCode === 200 ? performance.now() - from : Infinity))
    })
      .on("error", () => resolve(Infinity))
      .end()
  })
