/**
 * Writes the retry log (M4): a file with one redacted line of JSON per retry.
 *
 * The end of a turn that met a failure is a line too. No turn waits for the file (`LineFile`).
 */
import type { Observer } from "@holdfast/kernel"
import { Effect, type FileSystem, type Path, type Scope } from "effect"
import * as Prose from "../../text/Prose.ts"
import * as LineFile from "./LineFile.ts"
import * as RetryLine from "./RetryLine.ts"

/** The file and its limits. */
interface Options extends LineFile.Options {
  readonly surroundings: RetryLine.ServiceFacts
  readonly redact: (text: string) => string
}

/** Starts the log and returns the listeners of turns. */
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
