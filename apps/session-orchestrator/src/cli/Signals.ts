/**
 * Handles Ctrl-C and SIGTERM for commands that must finish work first.
 *
 * A command without this layer has Node's behaviour: a signal ends it.
 *
 * Signals.G1. The command receives the first signal. The second one ends the process at once.
 */
import { Context, Deferred, Effect, Layer } from "effect"
import { ExitCode } from "./Ended.ts"

/** The signals of the process. */
export class Signals extends Context.Service<
  Signals,
  {
    /** Waits for the first signal and returns it. */
    readonly first: Effect.Effect<NodeJS.Signals>
  }
>()("@holdfast/session-orchestrator/cli/Signals") {}

const HANDLED: ReadonlyArray<NodeJS.Signals> = ["SIGINT", "SIGTERM"]

/** Handles this process's signals while the layer is open. */
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
