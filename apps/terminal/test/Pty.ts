/**
 * A program in a real pseudo-terminal, and what a person sees of it.
 *
 * Pty.P1. Every wait is for the contents of the screen and has a deadline; missing it fails with the whole screen.
 * Pty.P2. The program runs under a shell, which has the terminal afterwards and shows in which state it was left.
 */
import * as pty from "@lydell/node-pty"
import * as headless from "@xterm/headless"
import { readFileSync } from "node:fs"

/** The module is CommonJS: Node gives its exports as the default one, and vitest by their names. */
const { Terminal } = (headless as { readonly default?: typeof headless }).default ?? headless

/** A guard against hanging, many times what anything here takes on a busy machine; shorter than that of a test, which shows no screen. */
const DEADLINE_MS = 150_000

export interface PtyOptions {
  readonly command: ReadonlyArray<string>
  readonly directory: string
  readonly env?: Readonly<Record<string, string>>
  readonly columns?: number
  readonly rows?: number
}

export interface Pty {
  /** Sends keys. */
  readonly type: (keys: string) => void
  /** The rows of the screen and of what has scrolled out of it. */
  readonly text: () => string
  /** Waits until the text fulfils a condition, and returns it. */
  readonly until: (condition: string | RegExp | ((text: string) => boolean)) => Promise<string>
  /** The colour of a text's first character on the screen: its number in the palette. */
  readonly colorOf: (part: string) => number | undefined
  readonly resize: (columns: number, rows: number) => void
  /** Sends a signal to the program, and not to its shell. */
  readonly kill: (signal: NodeJS.Signals) => void
  /** Every byte that was written. */
  readonly bytes: () => string
  /** The titles that were set. */
  readonly titles: ReadonlyArray<string>
  readonly terminal: headless.Terminal
  readonly close: () => void
}

/** Runs a program; after it, the shell writes its exit code and the state of the terminal. */
export const open = ({ columns = 80, command, directory, env = {}, rows = 24 }: PtyOptions): Pty => {
  const terminal = new Terminal({ cols: columns, rows, scrollback: 5_000, allowProposedApi: true })
  const script = `"$@"; printf '\\nleft with %s\\n' $?; stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(icanon|echo|isig)' | tr '\\n' ' '; printf 'is the state\\n'; read -r _`
  const child = pty.spawn("sh", ["-c", script, "sh", ...command], {
    cols: columns,
    rows,
    cwd: directory,
    env: { HOME: directory, PATH: process.env["PATH"] ?? "", TERM: "xterm-256color", LANG: "C.UTF-8", ...env }
  })
  let bytes = ""
  const titles: Array<string> = []
  const listeners = new Set<() => void>()
  child.onData((data) => {
    bytes += data
    terminal.write(data, () => listeners.forEach((listener) => listener()))
  })
  // Answers to questions about the terminal.
  terminal.onData((data) => child.write(data))
  terminal.onTitleChange((title) => titles.push(title))

  const text = (): string => {
    const { active } = terminal.buffer
    const lines = Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? "")
    return lines.join("\n").trimEnd()
  }
  return {
    type: (keys) => child.write(keys),
    text,
    until: (condition) => {
      const isMet = (): boolean =>
        typeof condition === "function"
          ? condition(text())
          : typeof condition === "string"
            ? text().includes(condition)
            : condition.test(text())
      return new Promise((resolve, reject) => {
        const check = (): void => {
          if (!isMet()) return
          clearTimeout(guard)
          listeners.delete(check)
          resolve(text())
        }
        const guard = setTimeout(() => {
          listeners.delete(check)
          reject(new Error(`The screen never showed ${String(condition)}:\n${text()}`))
        }, DEADLINE_MS)
        listeners.add(check)
        check()
      })
    },
    colorOf: (part) => {
      const { active } = terminal.buffer
      for (let row = 0; row < active.length; row++) {
        const line = active.getLine(row)
        const column = line?.translateToString().indexOf(part) ?? -1
        if (column >= 0) return line?.getCell(column)?.getFgColor()
      }
      return undefined
    },
    resize: (columns, rows) => {
      terminal.resize(columns, rows)
      child.resize(columns, rows)
    },
    kill: (signal) => {
      const [program = ""] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ")
      process.kill(Number(program), signal)
    },
    bytes: () => bytes,
    titles,
    terminal,
    close: () => child.kill("SIGKILL")
  }
}
