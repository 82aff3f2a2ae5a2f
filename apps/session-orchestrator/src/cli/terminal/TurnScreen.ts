/**
 * Writes a turn to a terminal: the answer, and status lines below it.
 *
 * Standard output gets the answer and nothing else. If it is no terminal, it gets every byte of the answer and a line break at the end.
 *
 * TurnScreen.W1. The status lines are erased before anything else is written, so no text mixes with them.
 */
import * as Prose from "../../base/text/Prose.ts"
import type { Terminal } from "./Terminal.ts"
import { type Color, paint } from "./Terminal.ts"
import type { Output, Tone } from "./TurnView.ts"

/** The output of one turn on a terminal. */
export const make = (terminal: Terminal["Service"]) => {
  let below: ReadonlyArray<string> = []
  /** The answer is at the beginning of a line. */
  let isFresh = true

  const erase = (): void => {
    if (below.length === 0) return
    // Counted again: in a narrower window a line takes more rows than before.
    const rows = below.reduce((sum, line) => sum + rowsOf(line, terminal.columns()), 0)
    // Moves to the first status line and erases everything below.
    terminal.stderr(`\r${rows > 1 ? `\u001b[${rows - 1}A` : ""}\u001b[J`)
    below = []
  }

  const endLine = (): void => {
    if (!isFresh) terminal.stdout("\n")
    isFresh = true
  }

  const writeOne = (output: Output): void => {
    if (output._tag === "Answer") {
      const text = terminal.isStdoutTerminal ? Prose.harmless(output.text) : output.text
      if (text === "") return
      terminal.stdout(text)
      isFresh = text.endsWith("\n")
      return
    }
    // In a file the status lines do not interrupt the answer.
    if (terminal.isStdoutTerminal) endLine()
    const text = Prose.oneLine(output.text)
    terminal.stderr(`${paint(terminal.colors.stderr, TONES[output.tone], text)}\n`)
  }

  return {
    /** Writes permanent output. */
    write: (outputs: ReadonlyArray<Output>): void => {
      if (outputs.length > 0) erase() // TurnScreen.W1
      for (const output of outputs) writeOne(output)
    },
    /** Replaces the status lines. Does nothing on a terminal that cannot repaint. */
    show: (lines: ReadonlyArray<string>): void => {
      if (!terminal.canRepaint || isSame(lines, below)) return
      erase()
      endLine()
      terminal.stderr(lines.map((line) => paint(terminal.colors.stderr, "yellow", line)).join("\n"))
      below = lines
    },
    /** Removes the status lines and ends the answer's last line. */
    close: (): void => {
      erase()
      endLine()
    }
  }
}

// --- internal

const TONES: { readonly [T in Tone]: Color } = { wait: "yellow", notice: "yellow", failure: "red", aside: "dim" }

const rowsOf = (line: string, columns: number): number =>
  Math.max(1, Math.ceil(Prose.widthOf(line) / Math.max(1, columns)))

const isSame = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a.length === b.length && a.every((line, index) => line === b[index])
