/** Records the output of a terminal. */
import type { Environment } from "../../src/config/reading/Environment.ts"
import * as Terminal from "../../src/cli/terminal/Terminal.ts"

export interface Recorder {
  readonly terminal: Terminal.Terminal["Service"]
  readonly stdout: () => string
  readonly stderr: () => string
  /** Both streams, in the order of writing. */
  readonly all: () => string
  /** The content of a terminal after this output; supports the escape codes that Holdfast uses. */
  readonly seen: () => ReadonlyArray<string>
}

export const make = (
  is: { readonly stdout: boolean; readonly stderr: boolean },
  environment: Environment = { NO_COLOR: "1" },
  columns = 80
): Recorder => {
  const writes: Array<readonly ["stdout" | "stderr", string]> = []
  const stream = (name: "stdout" | "stderr"): Terminal.Stream => ({
    isTTY: is[name],
    columns,
    write: (text) => writes.push([name, text])
  })
  const textOf = (name: "stdout" | "stderr") => () =>
    writes
      .filter(([stream]) => stream === name)
      .map(([, text]) => text)
      .join("")
  const all = (): string => writes.map(([, text]) => text).join("")
  return {
    terminal: Terminal.make(stream("stdout"), stream("stderr"), environment),
    stdout: textOf("stdout"),
    stderr: textOf("stderr"),
    all,
    seen: () => paint(all())
  }
}

const paint = (text: string): ReadonlyArray<string> => {
  const rows = [""]
  let row = 0
  let column = 0
  // oxlint-disable-next-line no-control-regex -- escape codes are what is painted.
  for (const [token] of text.matchAll(/\u001b\[(\d*)([A-Za-z])|[^]/g)) {
    if (token === "\n") {
      row++
      column = 0
      rows[row] ??= ""
    } else if (token === "\r") column = 0
    else if (token.endsWith("A") && token.length > 1) row -= Number(token.slice(2, -1))
    else if (token.endsWith("J") && token.length > 1) {
      rows.length = row + 1
      rows[row] = (rows[row] ?? "").slice(0, column)
    } else if (!token.startsWith("\u001b")) {
      rows[row] = (rows[row] ?? "").slice(0, column).padEnd(column) + token + (rows[row] ?? "").slice(column + 1)
      column++
    }
  }
  return rows
}
