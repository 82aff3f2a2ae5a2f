/**
 * Writes lines to a stream that may be read slowly, or not at all.
 *
 * LineOutput.O1. A write returns when the stream takes more, so what waits in memory is one write and the stream's own buffer.
 * LineOutput.O2. At the end a reader has `LAST_READ` to take what was written.
 */
import { Duration, Effect } from "effect"

/** How long the reader may take for the last lines (LineOutput.O2). */
export const LAST_READ = Duration.seconds(5)

/** An output for lines. */
export interface LineOutput {
  readonly write: (lines: string) => Effect.Effect<void>
  /** Waits until the written lines have left the process; returns whether they have (LineOutput.O2). */
  readonly flush: Effect.Effect<boolean>
}

/** The required part of a stream. Its errors are the caller's to handle: after one, a write does not return. */
export interface Writable {
  readonly write: (text: string, onWritten?: () => void) => boolean
  readonly once: (event: "drain", onDrain: () => void) => unknown
  readonly off: (event: "drain", onDrain: () => void) => unknown
}

/** Makes an output on a stream. */
export const make = (stream: Writable): LineOutput => ({
  write: (lines) => Effect.suspend(() => (stream.write(lines) ? Effect.void : drained(stream))), // LineOutput.O1
  flush: Effect.callback<boolean>((resume) => void stream.write("", () => resume(Effect.succeed(true)))).pipe(
    Effect.timeoutOrElse({ duration: LAST_READ, orElse: () => Effect.succeed(false) })
  )
})

// --- internal

const drained = (stream: Writable): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const onDrain = () => resume(Effect.void)
    stream.once("drain", onDrain)
    return Effect.sync(() => stream.off("drain", onDrain))
  })
