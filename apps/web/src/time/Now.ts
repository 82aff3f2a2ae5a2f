/** The present second, shared by all countdowns of the page. */
import { useSyncExternalStore } from "react"

/** The time in epoch milliseconds, once a second. */
export const useNow = (): number => useSyncExternalStore(subscribe, read)

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
