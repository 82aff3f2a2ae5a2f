/**
 * The three streams of a process as a command line uses them: what they are, and how to write to them.
 *
 * What goes to a terminal passes `Prose.onTerminal`; a file or a pipe has every byte.
 */
import { Context, Layer } from "effect"
import * as Environment from "../../config/reading/Environment.ts"
import * as Prose from "../../text/Prose.ts"

export class Terminal extends Context.Service<
  Terminal,
  {
    /** Answers, and what was asked for. */
    readonly stdout: (text: string) => void
    /** Everything that is said beside it. */
    readonly stderr: (text: string) => void
    readonly isStdoutTerminal: boolean
    readonly isStderrTerminal: boolean
    /** A line can be taken back and written anew: both are terminals, and not `dumb` ones. */
    readonly canRepaint: boolean
    readonly colors: { readonly stdout: boolean; readonly stderr: boolean }
    /** Asked at each use: windows change. */
    readonly columns: () => number
  }
>()("@holdfast/session-orchestrator/cli/Terminal") {}

/** What is wanted of a stream. */
export interface Stream {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly write: (text: string) => unknown
}

/** A terminal on two streams. Colours: https://no-color.org, and `FORCE_COLOR` as Node reads it. */
export const make = (stdout: Stream, stderr: Stream, environment: Environment.Environment): Terminal["Service"] => {
  const isDumb = environment["TERM"] === "dumb"
  const hasColors = (isTerminal: boolean): boolean => {
    if (Environment.get(environment, "NO_COLOR") !== undefined) return false
    const forced = Environment.get(environment, "FORCE_COLOR")
    return forced === undefined ? isTerminal && !isDumb : forced !== "0" && forced !== "false"
  }
  const isStdoutTerminal = stdout.isTTY === true
  const isStderrTerminal = stderr.isTTY === true
  const writeTo = (stream: Stream): ((text: string) => void) =>
    stream.isTTY === true ? (text) => void stream.write(Prose.onTerminal(text)) : (text) => void stream.write(text)
  return {
    stdout: writeTo(stdout),
    stderr: writeTo(stderr),
    isStdoutTerminal,
    isStderrTerminal,
    canRepaint: isStdoutTerminal && isStderrTerminal && !isDumb,
    colors: { stdout: hasColors(isStdoutTerminal), stderr: hasColors(isStderrTerminal) },
    // One without a window (`script`, a container's) says 0.
    columns: () => [stderr.columns, stdout.columns].find((columns = 0) => columns > 0) ?? DEFAULT_COLUMNS
  }
}

/** This process's. */
export const layer = (environment: Environment.Environment): Layer.Layer<Terminal> =>
  Layer.sync(Terminal, () => make(process.stdout, process.stderr, environment))

/** Paints text, where colours are wanted. */
export const paint = (isWanted: boolean, color: Color, text: string): string =>
  isWanted && text !== "" ? `${COLORS[color]}${text}${RESET}` : text

export type Color = keyof typeof COLORS

// --- internal

const DEFAULT_COLUMNS = 80

const RESET = "\u001b[0m"

const COLORS = { bold: "\u001b[1m", dim: "\u001b[2m", red: "\u001b[31m", yellow: "\u001b[33m", cyan: "\u001b[36m" }
