/** Runs the whole service in this process over the simulated provider: real sockets, and a database in memory. */
import { type ClientOptions, HoldfastClient, webSocket } from "@holdfast/client"
import { defined } from "@holdfast/wire"
import { Effect } from "effect"
import { Agent, fetch } from "undici"
import * as Configurations from "../config/Configurations.ts"
import * as Service from "../service/Service.ts"

export interface Options {
  readonly retry?: object
  readonly token?: string
}

/** Waits that are over soon. */
export const QUICK = {
  profile: "overnight",
  schedule: { type: "steps", delays: ["1 millis", "5 millis", "20 millis"] },
  midStream: "discard"
}

/** Waits that a test ends. */
export const LONG = { profile: "overnight", schedule: { type: "steps", delays: ["1 hours"] } }

export const start = ({ retry = QUICK, token }: Options = {}) =>
  Service.start({
    config: Configurations.config({
      file: {
        server: { port: 0, ...defined({ token }) },
        database: { path: ":memory:" },
        model: "simulated/steady+instant",
        retry
      }
    })
  })

/** A prompt whose turn meets a script of the simulated provider. */
export const prompt = (script: string, text = "Are you there?"): string => `${text}\nsimulate: ${script}`

/** The option of each transport of a client. */
export const transports = { http: {}, websocket: { transport: webSocket() } }

/** A client whose connections end with the test: an idle one would hold the service's stop. */
export const client = (port: number, options: ClientOptions = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const dispatcher = new Agent()
      const own = new HoldfastClient({
        url: `http://127.0.0.1:${port}`,
        fetch: (url, init) => fetch(url, { ...init, dispatcher }),
        ...options
      })
      return { own, dispatcher }
    }),
    ({ dispatcher, own }) =>
      Effect.promise(() => {
        own.close()
        return dispatcher.destroy()
      })
  ).pipe(Effect.map(({ own }) => own))
