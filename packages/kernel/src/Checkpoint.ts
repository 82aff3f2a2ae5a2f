/**
 * The port that makes a turn durable on any engine.
 *
 * Attempts, decisions, waits and tool calls go through `run`, one after the other and never one inside another; the tool calls of one
 * response are open at once. A turn that is run again gets the recorded results instead, and so reaches the point where it was; all
 * else in the kernel follows from those results (`Records`).
 *
 * There are two kinds of engines. One keeps a journal that it can read before the turn is run: it gives that as `known`. The other
 * (Restate, Temporal, DBOS) gives each result when it is asked for it: it has no `known`, and `run` gives what was recorded.
 */
import { Context, type Effect, Layer, type Schema } from "effect"
import type { Stored } from "./Records.ts"
import type { TurnStopped } from "./TurnStopped.ts"

/** An engine that keeps the results of a turn's effects, so that the turn survives its process. */
export class Checkpoint extends Context.Service<
  Checkpoint,
  {
    /**
     * Runs an effect whose success is recorded under a name that is unique within the turn (`Records`). Once it has succeeded it is
     * never run again for that turn: the recorded result is given instead. A failure is not recorded.
     */
    readonly run: <A, I, E, R>(
      name: string,
      schema: Schema.Codec<A, I>,
      effect: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | TurnStopped, R>
    /**
     * What earlier lives of the turn have recorded, oldest first. Absent: the engine cannot look ahead.
     *
     * **Details**
     *
     * With it a turn that is taken up under other settings goes where its records went: a step that has begun is not made the last one,
     * and takes no other route.
     */
    readonly known?: ReadonlyArray<Stored>
    /**
     * Records a mark while an effect runs whose result has a name of its own: content of an attempt is about to leave (X2). Absent: the
     * engine takes nothing while an effect runs, or could not find the mark again. A process that dies then has its attempt made
     * again, and clients are not told that what it had shown is void.
     */
    readonly mark?: (name: string) => Effect.Effect<void, TurnStopped>
  }
>()("@holdfast/kernel/Checkpoint") {}

/** Records nothing: a turn that lives and dies with its process. */
export const layerMemory: Layer.Layer<Checkpoint> = Layer.succeed(Checkpoint, {
  run: (_name, _schema, effect) => effect
})
