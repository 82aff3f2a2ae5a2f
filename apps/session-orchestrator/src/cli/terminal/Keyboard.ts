/**
 * Keeps typed keys off the screen while a turn waits.
 *
 * A terminal in raw mode echoes no key, and sends no signal for Ctrl-C either: this module sends the signals of such keys.
 *
 * Keyboard.K1. After `release` the terminal is as it was before `hold`, for any number of calls. Node also restores it when the process
 *     ends, after a crash and `process.exit` too. A signal that would end the process without that is caught while the keyboard is held.
 * Keyboard.K2. The keyboard is held only if a key can be read: from a terminal in the foreground whose input has not ended. The system
 *     would stop a process in the background for it.
 * Keyboard.K3. Typed keys are dropped, except those that stand for signals.
 */
import { readFileSync } from "node:fs"

/** The part of standard input that is used. */
export interface Input {
  readonly isTTY?: boolean
  readonly readableEnded: boolean
  readonly destroyed: boolean
  readonly setRawMode?: (isRaw: boolean) => unknown
  readonly on: (event: "data", listener: (chunk: Uint8Array | string) => void) => unknown
  readonly off: (event: "data", listener: (chunk: Uint8Array | string) => void) => unknown
  readonly resume: () => unknown
  readonly pause: () => unknown
}

/** The signals of the process. */
export interface Signals {
  readonly on: (signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void) => unknown
  readonly off: (signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void) => unknown
  /** Sends a signal as the terminal would: to the whole group (`group`), or to this process alone. */
  readonly send: (signal: NodeJS.Signals, to: "group" | "process") => unknown
}

/** Holds and releases the keyboard. Both may be called any number of times. */
export interface Keyboard {
  readonly hold: () => void
  readonly release: () => void
}

/** For a process without a terminal. */
export const none: Keyboard = { hold: () => {}, release: () => {} }

/** The keyboard of a terminal. */
export const make = (input: Input, signals: Signals, isForeground: () => boolean): Keyboard => {
  let isWanted = false
  let isHeld = false

  const onData = (chunk: Uint8Array | string): void => {
    for (const signal of signalsIn(chunk)) {
      // The system does not restore the terminal of a process that stops or dumps core.
      if (signal !== "SIGINT") drop()
      signals.send(signal, "group")
    }
  }
  const onEnd = (signal: NodeJS.Signals): void => {
    drop()
    isWanted = false
    forget()
    signals.send(signal, "process")
  }
  // After Ctrl-Z and `fg`.
  const onContinue = (): void => take()

  const forget = (): void => {
    for (const signal of ENDING) signals.off(signal, onEnd)
    signals.off("SIGCONT", onContinue)
  }
  const take = (): void => {
    if (!isWanted || isHeld || !isReadable(input) || !isForeground()) return // Keyboard.K2
    isHeld = true
    input.setRawMode?.(true)
    input.on("data", onData)
    input.resume()
  }
  const drop = (): void => {
    if (!isHeld) return
    isHeld = false
    input.off("data", onData)
    input.pause()
    input.setRawMode?.(false)
  }
  return {
    hold: () => {
      if (isWanted || !isReadable(input)) return
      isWanted = true
      for (const signal of ENDING) signals.on(signal, onEnd)
      signals.on("SIGCONT", onContinue)
      take()
    },
    release: () => {
      if (!isWanted) return
      isWanted = false
      forget()
      drop()
    }
  }
}

/** The keyboard of this process. */
export const ofProcess = (): Keyboard =>
  make(
    process.stdin,
    {
      on: (signal, listener) => process.on(signal, listener),
      off: (signal, listener) => process.off(signal, listener),
      send: (signal, to) => process.kill(to === "group" ? 0 : process.pid, signal)
    },
    isProcessInForeground
  )

/** Whether this process is in the foreground of its terminal. */
export const isProcessInForeground = (): boolean => isInForeground(readStat())

/** The signals that the keys of a chunk stand for. */
export const signalsIn = (chunk: Uint8Array | string): ReadonlyArray<NodeJS.Signals> =>
  Array.from(typeof chunk === "string" ? Buffer.from(chunk) : chunk).flatMap((byte) => KEYS.get(byte) ?? [])

/** Whether a process is in the foreground, by its line in `/proc`. Without such a line it counts as in the foreground. */
export const isInForeground = (stat: string | undefined): boolean => {
  // After the name, which is in brackets and may contain brackets: state, parent, group, session, terminal, the terminal's group.
  const [, , , group, , , foreground] = stat?.slice(stat.lastIndexOf(")")).split(" ") ?? []
  return group === foreground
}

// --- internal

/** Ctrl-C, Ctrl-\ and Ctrl-Z. */
const KEYS: ReadonlyMap<number, NodeJS.Signals> = new Map([
  [0x03, "SIGINT"],
  [0x1c, "SIGQUIT"],
  [0x1a, "SIGTSTP"]
])

/** The signals that end a process before Node restores the terminal. The command handles SIGINT and SIGTERM (`Signals.ts`). */
const ENDING: ReadonlyArray<NodeJS.Signals> = ["SIGHUP", "SIGQUIT"]

const isReadable = (input: Input): boolean =>
  input.isTTY === true && input.setRawMode !== undefined && !input.readableEnded && !input.destroyed

const readStat = (): string | undefined => {
  try {
    return readFileSync("/proc/self/stat", "utf8")
  } catch {
    return undefined
  }
}
