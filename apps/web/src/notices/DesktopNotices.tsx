/** The switch of notices on the desktop, and the reads behind them while they are on. */
import { useEffect, useSyncExternalStore } from "react"
import * as Actions from "../palette/Actions.ts"
import * as BrowserStorage from "../service/BrowserStorage.ts"
import * as Service from "../service/Service.ts"
import * as PageRoute from "../shell/PageRoute.ts"
import * as Notices from "./Notices.ts"

/** The switch, where the browser has notices. */
export const DesktopNotices = () => {
  const state = useSwitch()
  const isOn = state === "on"
  useEffect(() => (isOn ? watch() : undefined), [isOn])
  const words = isOn ? "Switch desktop notifications off" : "Notify me when a turn ends or asks"
  Actions.useActions(
    "Page",
    state === "unavailable" ? [] : [{ name: words, words: "desktop notifications", run: () => void switchTo(!isOn) }]
  )
  if (state === "unavailable") return null
  return (
    <button
      type="button"
      className={isOn ? "tool-button bell on" : "tool-button bell"}
      aria-label={words}
      title={words}
      onClick={() => void switchTo(!isOn)}
    >
      <svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true">
        <path
          d="M6 17V11a6 6 0 0 1 12 0v6l1.5 2h-15zM10 21.5h4"
          fill={isOn ? "currentColor" : "none"}
          stroke="currentColor"
          strokeWidth="1.8"
          strokeLinejoin="round"
          strokeLinecap="round"
        />
      </svg>
    </button>
  )
}

// --- internal

const EVERY_MS = 5_000

/** The clock of the service's lists and this read's are not the same: an end is looked for a little further back. */
const OVERLAP_MS = 60_000

/** Turns that ended together, of each kind. More of them are one notice anyway. */
const MOST = 200

/** Reads ends and questions of turns until the returned function is called. Browsers slow this down in a tab that was hidden for minutes. */
const watch = (): (() => void) => {
  const closing = new AbortController()
  const { signal } = closing
  let known: Notices.Known | undefined = undefined
  let since = Date.now() + Service.clockSkewMs()
  let timer: ReturnType<typeof setTimeout> | undefined = undefined
  const read = async (): Promise<void> => {
    const now = Date.now() + Service.clockSkewMs()
    try {
      const lists = await Promise.all([
        Service.first(Service.client.listTurns({ signal, status: "waiting" }), MOST),
        ...(["completed", "failed", "aborted"] as const).map((status) =>
          Service.first(Service.client.listTurns({ signal, status, since: since - OVERLAP_MS }), MOST)
        )
      ])
      const { known: next, notices } = Notices.of(known, lists.flat(), shownConversation())
      known = next
      since = now
      notices.forEach(show)
    } catch {
      // The service is away, which the page shows; the next read finds the ends of meanwhile.
    }
    if (!signal.aborted) timer = setTimeout(() => void read(), EVERY_MS)
  }
  void read()
  return () => {
    closing.abort()
    clearTimeout(timer)
  }
}

const shownConversation = (): string | undefined => {
  const route = PageRoute.parse(location.hash)
  return document.visibilityState === "visible" && route.page === "conversation" ? route.conversationId : undefined
}

const show = ({ body, conversationId, tag, title }: Notices.DesktopNotice): void => {
  try {
    const notification = new Notification(title, { body, tag })
    notification.addEventListener("click", () => {
      focus()
      PageRoute.go(conversationId === undefined ? { page: "night" } : { page: "conversation", conversationId })
      notification.close()
    })
  } catch {
    // Browsers of phones show notices of installed pages alone.
  }
}

/** `unavailable`: the browser has none, or a person has forbidden them in its settings. */
type SwitchState = "unavailable" | "off" | "on"

/** The switch of this browser. */
const useSwitch = (): SwitchState => useSyncExternalStore(subscribe, readSwitch)

/** Switches notices on, and asks for the permission where that is open; or off. The browser is asked at no other time. */
const switchTo = async (isOn: boolean): Promise<void> => {
  if (isOn && Notification.permission === "default") await Notification.requestPermission()
  BrowserStorage.write("localStorage", KEY, isOn ? "on" : "off")
  chosen = isOn
  for (const listener of listeners) listener()
}

const KEY = "holdfast.notices"

const listeners = new Set<() => void>()

const stored = (): boolean => BrowserStorage.read("localStorage", KEY) === "on"

let chosen = stored()

const readSwitch = (): SwitchState => {
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
