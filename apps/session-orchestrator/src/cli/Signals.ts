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
export class Signals extends Context.Service<Signals, Effect.Success<typeof make>>()(
  "@holdfast/session-orchestrator/cli/Signals"
) {}

const HANDLED: ReadonlyArray<NodeJS.Signals> = ["SIGINT", "SIGTERM"]

const make = Effect.gen(function* () {
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
  return {
    /** Waits for the first signal and returns it. */
    first: Deferred.await(first)
  }
})

/** Handles this process's signals while the layer is open. */
export const layer = Layer.effect(Signals, make)
