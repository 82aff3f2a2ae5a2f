/**
 * Which databases get a thread of their own, how threads are started, and the first of them before there is a use for it.
 *
 * A thread loads its modules for nearly as long as the service loads its own. So the first one is started before all else, and
 * opens nothing until somebody has the file's lock and tells it to.
 */
import { Context, Effect, Layer } from "effect"
import { Worker } from "node:worker_threads"
import { Config, type Values } from "../../config/Config.ts"
import * as DatabaseFile from "../DatabaseFile.ts"

/** A file does: statements on it, and above all its disk, hold up whoever waits for them. */
export const isOnThread = ({ path, url }: Values["database"]): boolean =>
  url === undefined && path !== DatabaseFile.MEMORY

/** Starts a thread, which waits to be told what to open. */
export const Start = Context.Reference<() => Worker>("@holdfast/session-orchestrator/storage/thread/Start", {
  defaultValue: () => () => new Worker(new URL("main.ts", import.meta.url))
})

/** Starts the first thread with the layer, if the configured database gets one. One that nobody came for ends with the layer. */
export const layerEarly: Layer.Layer<never, never, Config> = Layer.effect(
  Start,
  Effect.gen(function* () {
    const { database } = yield* Config
    const start = yield* Start
    let early = isOnThread(database) ? start() : undefined
    // Whoever wants one next starts another, and hears what is wrong.
    early?.once("exit", () => (early = undefined)).on("error", () => {})
    yield* Effect.addFinalizer(() => Effect.promise(async () => early?.terminate()))
    return () => {
      const worker = early ?? start()
      early = undefined
      return worker
    }
  })
)
