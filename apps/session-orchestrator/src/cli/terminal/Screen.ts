/**
 * Writes a turn to a terminal: an answer that only grows, and below it lines that come and go.
 *
 * W1. The lines below are erased before anything else is written, so nothing is ever written through them.
 * W2. The answer goes to standard output and nothing else does; where it is no terminal it has every byte of the answer, and a
 *     line break at its end.
 */
import * as Prose from "../../text/Prose.ts"
import type { Terminal } from "./Terminal.ts"
import { type Color, paint } from "./Terminal.ts"
import type { Output, Tone } from "./TurnView.ts"

export interface Screen {
  /** Writes for good. */
  readonly write: (outputs: ReadonlyArray<Output>) => void
  /** Replaces the lines below. Does nothing where nothing can be repainted. */
  readonly show: (lines: ReadonlyArray<string>) => void
  /** Takes the lines below away and ends the answer's last line. */
  readonly close: () => void
}

export const make = (terminal: Terminal["Service"]): Screen => {
  let below: ReadonlyArray<string> = []
  /** The answer stands at the beginning of a line. */
  let isFresh = true

  const erase = (): void => {
    if (below.length === 0) return
    // Counted anew: in a window that has become narrower a line takes more rows than it did.
    const rows = below.reduce((sum, line) => sum + rowsOf(line, terminal.columns()), 0)
    // To the first of them, and away with all that follows.
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
    // In a file the answer's lines are its own.
    if (terminal.isStdoutTerminal) endLine()
    const text = Prose.oneLine(output.text)
    terminal.stderr(`${paint(terminal.colors.stderr, TONES[output.tone], text)}\n`)
  }

  return {
    write: (outputs) => {
      if (outputs.length > 0) erase() // W1
      for (const output of outputs) writeOne(output)
    },
    show: (lines) => {
      if (!terminal.canRepaint || isSame(lines, below)) return
      erase()
      if (lines.length === 0) return
      endLine()
      terminal.stderr(lines.map((line) => paint(terminal.colors.stderr, "yellow", line)).join("\n"))
      below = lines
    },
    close: () => {
      erase()
      endLine() // W2
    }
  }
}

// --- internal

const TONES: { readonly [T in Tone]: Color } = { wait: "yellow", notice: "yellow", failure: "red", aside: "dim" }

const rowsOf = (line: string, columns: number): number =>
  Math.max(1, Math.ceil(Prose.widthOf(line) / Math.max(1, columns)))

const isSame = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a.length === b.length && a.every((line, index) => line === b[index])
