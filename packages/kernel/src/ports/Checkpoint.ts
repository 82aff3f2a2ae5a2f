/**
 * The port that makes a turn durable on any engine.
 *
 * Attempts, decisions, waits and tool calls go through `run`, one after the other and never one inside another; only the tool calls of one
 * response run at the same time. A turn that runs again receives the recorded results instead, and so reaches the point where it was.
 * Everything else in the kernel follows from those results (`Records`).
 *
 * There are two kinds of engines. The first keeps a journal that it can read before the turn runs, and provides it as `known`. The second
 * (Restate, Temporal, DBOS) returns each result on request: it has no `known`, and `run` returns the recorded result.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type { Stored } from "../records/Records.ts"
import type { TurnStopped } from "./TurnStopped.ts"

/** Keeps the results of a turn's effects, so that the turn survives its process. */
export class Checkpoint extends Context.Service<
  Checkpoint,
  {
    /**
     * Runs an effect whose success is recorded under a name that is unique within the turn (`Records`). After its success it never runs
     * again for that turn: the recorded result is returned instead. A failure is not recorded.
     */
    readonly run: <A, I, E, R>(
      name: string,
      schema: Schema.Codec<A, I>,
      effect: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | TurnStopped, R>
    /**
     * All records of earlier lives of the turn, oldest first: what the turn runs behind them has none. Absent: the engine cannot look
     * ahead.
     *
     * **Details**
     *
     * With it a turn that resumes under other settings follows its records: a step that has begun does not become the last one, and takes
     * no other route.
     */
    readonly known?: ReadonlyArray<Stored>
    /**
     * Records a mark during an effect whose result has its own name: content of an attempt is about to leave (X2). Absent: the engine
     * cannot record while an effect runs, or could not find the mark again. If the process dies then, its attempt is made again, and
     * clients receive no `step-discarded` for the content that it had shown.
     */
    readonly mark?: (name: string) => Effect.Effect<void, TurnStopped>
  }
>()("@holdfast/kernel/Checkpoint") {}

/** Records nothing: a turn that lives and dies with its process. */
export const layerMemory: Layer.Layer<Checkpoint> = Layer.succeed(Checkpoint, {
  run: (_name, _schema, effect) => effect,
  known: []
})
