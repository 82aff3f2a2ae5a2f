/**
 * Whether this browser shows notices on the desktop: a person has switched them on, and the browser allows it.
 *
 * The browser is asked for its permission when a person switches notices on, and at no other time.
 */
import { useSyncExternalStore } from "react"

/** `unavailable`: the browser has none, or a person has forbidden them in its settings. */
type State = "unavailable" | "off" | "on"

/** The switch of this browser. */
export const useSwitch = (): State => useSyncExternalStore(subscribe, read)

/** Switches notices on, and asks for the permission where that is open; or off. */
export const set = async (isOn: boolean): Promise<void> => {
  if (isOn && Notification.permission === "default") await Notification.requestPermission()
  try {
    localStorage.setItem(KEY, isOn ? "on" : "off")
  } catch {
    // The browser keeps nothing for this page: the choice holds until the page is left.
  }
  chosen = isOn
  for (const listener of listeners) listener()
}

// --- internal

const KEY = "holdfast.notices"

const listeners = new Set<() => void>()

const stored = (): boolean => {
  try {
    return localStorage.getItem(KEY) === "on"
  } catch {
    return false
  }
}

let chosen = stored()

const read = (): State => {
  if (!("Notification" in globalThis) || Notification.permission === "denied") return "unavailable"
  return chosen && Notification.permission === "granted" ? "on" : "off"
}

const subscribe = (listener: () => void): (() => void) => {
  const other = ({ key }: StorageEvent): void => {
    if (key !== KEY) return
    chosen = stored()
    listener()
  }
  listeners.add(listener)
  addEventListener("storage", other)
  return () => {
    listeners.delete(listener)
    removeEventListener("storage", other)
  }
}
