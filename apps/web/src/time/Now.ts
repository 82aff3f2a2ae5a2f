/** The present second, shared by all countdowns of the page; and a value once it has stayed the same for a moment. */
import { useSyncExternalStore, useEffect, useState } from "react"

/** The time in epoch milliseconds, once a second. */
export const useNow = (): number => useSyncExternalStore(subscribe, read)

/** Between two keys of a person who types. */
const QUIET_MS = 300

/** The value as it was when it last stayed the same for a moment; at first as it is. */
export const useSettled = <A>(value: A, quietMs: number = QUIET_MS): A => {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), quietMs)
    return () => clearTimeout(timer)
  }, [value, quietMs])
  return settled
}

// --- internal

const SECOND_MS = 1_000

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined = undefined
let now = Date.now()

const read = (): number => now

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const listener of listeners) listener()
  }, SECOND_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
