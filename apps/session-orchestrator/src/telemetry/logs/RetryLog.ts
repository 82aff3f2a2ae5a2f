/** The retry log (M4): every retry, and the end of turns that met a failure, as a line of JSON, redacted, in a file of its own. Never waited for by a turn (`LineFile`). */
import type { Observer } from "@holdfast/kernel"
import { Effect, type FileSystem, type Path, type Scope } from "effect"
import * as Prose from "../../text/Prose.ts"
import * as LineFile from "./LineFile.ts"
import * as RetryLine from "./RetryLine.ts"

export interface Options extends LineFile.Options {
  readonly surroundings: RetryLine.Surroundings
  readonly redact: (text: string) => string
}

/** Listens, and writes. */
export const make = ({
  redact,
  surroundings,
  ...file
}: Options): Effect.Effect<Observer.Listeners, never, FileSystem.FileSystem | Path.Path | Scope.Scope> =>
  Effect.map(LineFile.make(file), (write) => {
    const put = (line: RetryLine.RetryLine | RetryLine.TurnLine | undefined) => {
      if (line !== undefined) write(Prose.inJson(redact(JSON.stringify(line))))
    }
    return {
      attempt: (ended) => RetryLine.ofAttempt(ended, surroundings).forEach(put),
      decision: (decided) => put(RetryLine.ofDecision(decided, surroundings)),
      seal: (sealed) => put(RetryLine.ofSeal(sealed, surroundings))
    }
  })
