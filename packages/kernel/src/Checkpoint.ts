/**
 * The port that makes a turn durable on any engine.
 *
 * Attempts, decisions, sleeps and tool calls go through `run`. A turn that is run again from its start gets the recorded
 * results instead, and so reaches the point where it was; all else in the kernel follows from those results.
 */
import { Context, Effect, Layer, Schema } from "effect"
import type { TurnStopped } from "./TurnStopped.ts"

export class Checkpoint extends Context.Service<
  Checkpoint,
  {
    /**
     * Runs an effect whose success is recorded under a name that is unique within the turn. Once it has succeeded it is
     * never run again for that turn: the recorded result is given instead. A failure is not recorded.
     */
    readonly run: <A, I, E, R>(
      name: string,
      schema: Schema.Codec<A, I>,
      effect: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | TurnStopped, R>
    /**
     * Whether a name has a result. What was begun and not ended is told apart by it (X2, X8).
     *
     * **Gotchas**
     *
     * An engine that cannot tell says `false`: a step or a tool that its process died in is then simply run again.
     */
    readonly isRecorded: (name: string) => boolean
  }
>()("@holdfast/kernel/Checkpoint") {}

/** What a mark records: that it was reached. */
const Reached = Schema.Literal(true)

/** Records that something is about to begin whose result will have a name of its own (X2, X8). */
export const mark = (checkpoint: Checkpoint["Service"], name: string): Effect.Effect<void, TurnStopped> =>
  Effect.asVoid(checkpoint.run(name, Reached, REACHED))

const REACHED = Effect.succeed(true as const)

/** Records nothing: a turn that lives and dies with its process. */
export const layerMemory: Layer.Layer<Checkpoint> = Layer.succeed(Checkpoint, {
  run: (_name, _schema, effect) => effect,
  isRecorded: () => false
})
