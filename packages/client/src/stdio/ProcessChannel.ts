/** Starts `holdfast rpc` and passes its lines on, as bytes. */
import { spawn } from "node:child_process"

/** The way to the other side. */
export interface LineChannel {
  readonly write: (text: string) => void
  /** Ends the input of the other side. */
  readonly end: () => void
  /** Gives the other side up. */
  readonly kill: () => void
}

/** What comes from the other side. */
export interface Listener {
  readonly bytes: (bytes: Uint8Array) => void
  /** A text of its log. */
  readonly log: (text: string) => void
  /** Called once, and last. */
  readonly closed: (how: { readonly message: string; readonly code: number | null; readonly cause?: unknown }) => void
}

/** Which conversation is meant, and how it is run. */
export interface ChannelOptions {
  /** The program and its first arguments, such as `["holdfast"]`. */
  readonly command: readonly [string, ...ReadonlyArray<string>]
  /** A conversation to resume. Without it a new one begins. */
  readonly conversation?: string
  /** With `conversation`: the last event that is known, as `lastEventId` of its state. Without it all events come again. */
  readonly after?: number
  /** `provider/model`. */
  readonly model?: string
  readonly profile?: "overnight" | "weekly" | "interactive" | "cycling"
  /** System prompt of the new conversation. */
  readonly system?: string
  /** The configuration's file. */
  readonly config?: string
  readonly cwd?: string
  /** The process's environment; by default this program's. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Opens a channel. */
export type OpenChannel = (options: ChannelOptions, listener: Listener) => LineChannel

/** Starts the process. */
export const open: OpenChannel = (options, { bytes, closed, log }) => {
  const [program, ...first] = options.command
  const child = spawn(program, [...first, "rpc", ...argumentsOf(options)], { cwd: options.cwd, env: options.env })
  child.stdout.on("data", bytes)
  child.stderr.setEncoding("utf8").on("data", log)
  // The process's end follows, and has the reason.
  child.stdin.on("error", () => {})
  let isOver = false
  const over: Listener["closed"] = (how) => {
    if (!isOver) closed(how)
    isOver = true
  }
  child.on("error", (cause) => {
    over({ message: `${program} could not be started: ${cause.message}`, code: null, cause })
  })
  child.on("close", (code, signal) => {
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`
    over({ message: `holdfast rpc has ended ${how}.`, code })
  })
  return {
    write: (text) => void child.stdin.write(text),
    end: () => void child.stdin.end(),
    kill: () => void child.kill()
  }
}

// --- internal

const argumentsOf = ({ after, config, conversation, model, profile, system }: ChannelOptions): ReadonlyArray<string> =>
  Object.entries({ after, config, conversation, model, profile, system }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)]
  )
