/**
 * Keeps what is typed during a wait off the screen.
 *
 * A terminal in raw mode shows no key, and sends no signal for Ctrl-C either: those keys are sent on as the signals that they mean.
 *
 * Keyboard.K1. The terminal is as it was found after `release`, however often either is called. Node restores it at the process's end
 *     too, a crash and `process.exit` included; a signal that would end the process without that is caught while the keyboard is held.
 * Keyboard.K2. It is held only where a key can be read: a terminal in the foreground that has not been read to its end. A process in the
 *     background would be stopped for it.
 * Keyboard.K3. What is typed is dropped, but for the keys that stand for signals.
 */
import { readFileSync } from "node:fs"

/** Standard input, as far as it is used. */
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

/** The process's signals. */
export interface Signals {
  readonly on: (signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void) => unknown
  readonly off: (signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void) => unknown
  /** Sends a signal as the terminal would: to the whole group (`group`), or to this process alone. */
  readonly send: (signal: NodeJS.Signals, to: "group" | "process") => unknown
}

export interface Keyboard {
  readonly hold: () => void
  readonly release: () => void
}

/** Without a terminal to type at. */
export const none: Keyboard = { hold: () => {}, release: () => {} }

export const make = (input: Input, signals: Signals, isForeground: () => boolean): Keyboard => {
  let isWanted = false
  let isHeld = false

  const onData = (chunk: Uint8Array | string): void => {
    for (const signal of signalsIn(chunk)) {
      // A process that stops or dumps leaves the terminal as it is.
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
    if (!isWanted || isHeld || !isReadable(input) || !isForeground()) return // K2
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

/** This process's. */
export const ofProcess = (): Keyboard =>
  make(
    process.stdin,
    {
      on: (signal, listener) => process.on(signal, listener),
      off: (signal, listener) => process.off(signal, listener),
      send: (signal, to) => process.kill(to === "group" ? 0 : process.pid, signal)
    },
    () => isInForeground(readStat())
  )

/** The signals that the keys of a chunk stand for. */
export const signalsIn = (chunk: Uint8Array | string): ReadonlyArray<NodeJS.Signals> =>
  Array.from(typeof chunk === "string" ? Buffer.from(chunk) : chunk).flatMap((byte) => KEYS.get(byte) ?? [])

/** Whether a process's line of `/proc` says that its group is the terminal's. Where there is no such line it is taken for granted. */
export const isInForeground = (stat: string | undefined): boolean => {
  // The name before these is in brackets, and may have brackets in it: state, parent, group, session, terminal, its group.
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

/** What ends a process before Node restores the terminal; SIGINT and SIGTERM are the command's (`Signals.ts`). */
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
