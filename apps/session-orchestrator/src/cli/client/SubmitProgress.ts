/** Shows on a terminal how many turns of a file have been submitted: one line that is repainted. */
import { paint, type Terminal } from "../terminal/Terminal.ts"

/** The line of one command. */
export interface SubmitProgress {
  readonly done: (count: number) => void
  /** Takes the line away before something else is written. */
  readonly clear: () => void
}

/** @param total turns to be submitted */
export const make = (terminal: Terminal["Service"], total: number): SubmitProgress => {
  // Ids on a terminal show the progress themselves.
  const isShown = terminal.isStderrTerminal && !terminal.isStdoutTerminal && total > 1
  const erase = () => terminal.stderr("\r\u001b[J")
  return {
    done: (count) => {
      if (!isShown) return
      erase()
      terminal.stderr(paint(terminal.colors.stderr, "dim", `${count} of ${total} submitted`))
    },
    clear: () => {
      if (isShown) erase()
    }
  }
}
