/**
 * Describes and writes standard output and standard error for the command line.
 *
 * Text for a terminal passes `Prose.onTerminal`; a file or a pipe gets every byte.
 */
import { Context, Layer, Option } from "effect"
import * as Environment from "../../config/reading/Environment.ts"
import * as Prose from "../../base/text/Prose.ts"
import { readFileSync } from "node:fs"

/** The output streams, and their abilities. */
export class Terminal extends Context.Service<Terminal, ReturnType<typeof make>>()(
  "@holdfast/session-orchestrator/cli/Terminal"
) {}

/** The required part of a stream. */
export interface Stream {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly write: (text: string) => unknown
}

/** A terminal on two streams. Colours: https://no-color.org, and `FORCE_COLOR` as Node reads it. */
export const make = (stdout: Stream, stderr: Stream, environment: Environment.Environment, isForeground = true) => {
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
    /** Writes answers and requested output. */
    stdout: writeTo(stdout),
    /** Writes all other messages. */
    stderr: writeTo(stderr),
    isStdoutTerminal,
    isStderrTerminal,
    /** Lines can be erased and written again: both streams are terminals, not `dumb`, and the shell does not read from them. */
    canRepaint: isStdoutTerminal && isStderrTerminal && !isDumb && isForeground,
    colors: { stdout: hasColors(isStdoutTerminal), stderr: hasColors(isStderrTerminal) },
    /** The width in columns, read at each use: windows change. A terminal without one (`script`, a container's) reports 0. */
    columns: () => [stderr.columns, stdout.columns].find((columns = 0) => columns > 0) ?? DEFAULT_COLUMNS
  }
}

/** The terminal of this process. */
export const layer = (environment: Environment.Environment): Layer.Layer<Terminal> =>
  Layer.sync(Terminal, () =>
    make(process.stdout, process.stderr, environment, isInForeground(Option.getOrUndefined(readStat())))
  )

/** Whether a process is in the foreground, by its line in `/proc`. Without such a line it counts as in the foreground. */
export const isInForeground = (stat: string | undefined): boolean => {
  // After the name, which is in brackets and may contain brackets: state, parent, group, session, terminal, the terminal's group.
  const [, , , group, , , foreground] = stat?.slice(stat.lastIndexOf(")")).split(" ") ?? []
  return group === foreground
}

/** Colours a text if `isWanted`. */
export const paint = (isWanted: boolean, color: Color, text: string): string =>
  isWanted && text !== "" ? `${COLORS[color]}${text}${RESET}` : text

/** Writes a message in a colour, on a line of its own. */
export const note = ({ colors, stderr }: Terminal["Service"], color: Color, text: string): void =>
  stderr(`${paint(colors.stderr, color, text)}\n`)

/** Writes a value as JSON, on a line of its own. */
export const writeJson = ({ stdout }: Terminal["Service"], value: unknown): void =>
  stdout(`${Prose.inJson(JSON.stringify(value))}\n`)

/** The name of a colour or style. */
export type Color = keyof typeof COLORS

// --- internal

const DEFAULT_COLUMNS = 80

const readStat = Option.liftThrowable(() => readFileSync("/proc/self/stat", "utf8"))

const RESET = "\u001b[0m"

const COLORS = { bold: "\u001b[1m", dim: "\u001b[2m", red: "\u001b[31m", yellow: "\u001b[33m", cyan: "\u001b[36m" }
