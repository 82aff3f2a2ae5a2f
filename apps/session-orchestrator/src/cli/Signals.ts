/**
 * Ctrl-C and SIGTERM, for the commands that have something to finish first.
 *
 * G1. The first signal is news for the command. The second ends the process at once, whatever it is doing.
 * G2. A command that builds no such layer keeps what Node does: a signal ends it.
 */
import { Context, Deferred, Effect, Layer } from "effect"
import * as ExitCode from "./ExitCode.ts"

export class Signals extends Context.Service<
  Signals,
  {
    /** Ends with the first signal. */
    readonly first: Effect.Effect<NodeJS.Signals>
  }
>()("@holdfast/session-orchestrator/cli/Signals") {}

const HANDLED: ReadonlyArray<NodeJS.Signals> = ["SIGINT", "SIGTERM"]

/** This process's signals, for as long as the layer lives. */
export const layer: Layer.Layer<Signals> = Layer.effect(
  Signals,
  Effect.gen(function* () {
    const first = yield* Deferred.make<NodeJS.Signals>()
    let seen = 0
    const onSignal = (signal: NodeJS.Signals): void => {
      seen++
      if (seen > 1) process.exit(ExitCode.ABORTED)
      Deferred.doneUnsafe(first, Effect.succeed(signal))
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => HANDLED.forEach((signal) => process.on(signal, onSignal))),
      () => Effect.sync(() => HANDLED.forEach((signal) => process.off(signal, onSignal)))
    )
    return { first: Deferred.await(first) }
  })
)
