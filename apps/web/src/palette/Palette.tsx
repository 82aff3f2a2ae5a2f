/**
 * The palette: every action of the page by its name, and conversations by their titles. Ctrl or Cmd with K opens it.
 *
 * The pattern is a combobox with a list box (WAI-ARIA APG) in a dialog of the browser, which keeps the focus inside and gives it back.
 */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useDeferredValue, useEffect, useId, useRef, useState } from "react"
import * as Problems from "../service/Problems.ts"
import * as Service from "../service/Service.ts"
import * as PageRoute from "../shell/PageRoute.ts"
import * as Actions from "./Actions.ts"
import "./palette.css"

/** The button of the palette, and the palette while it is open. */
export const Palette = () => {
  // A dialog reports its end a moment later: a palette that was opened meanwhile is another one.
  const [opening, setOpening] = useState<number | undefined>(undefined)
  const openings = useRef(0)
  const open = (): void => setOpening(++openings.current)
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== "k") return
      event.preventDefault()
      open()
    }
    addEventListener("keydown", listen)
    return () => removeEventListener("keydown", listen)
  }, [])
  return (
    <>
      <button
        type="button"
        className="tool-button palette-button"
        aria-haspopup="dialog"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={open}
      >
        Commands <kbd aria-hidden="true">{SHORTCUT}</kbd>
      </button>
      {opening !== undefined && (
        <Opened key={opening} onClose={() => setOpening((last) => (last === opening ? undefined : last))} />
      )}
    </>
  )
}

// --- internal

const SHORTCUT = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘K" : "Ctrl K"

const Opened = ({ onClose }: { readonly onClose: () => void }) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const [query, setQuery] = useState("")
  const [active, setActive] = useState(0)
  const { missing, sections } = useSections(query)
  const all = sections.flatMap(({ actions }) => actions)
  const at = Math.min(active, all.length - 1)
  useEffect(() => dialog.current?.showModal(), [])
  useEffect(() => {
    // Newer browsers return a promise, which is no cleanup of an effect.
    void document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" })
  }, [id, at, query])
  const choose = (action: Actions.Action | undefined): void => {
    if (action === undefined) return
    // The focus goes back first, so that an action can move it.
    dialog.current?.close()
    action.run()
  }
  let index = 0
  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label="Commands"
      onClose={onClose}
      // The backdrop belongs to the dialog; its content does not reach its edge.
      onClick={({ currentTarget, target }) => {
        if (target === currentTarget) currentTarget.close()
      }}
    >
      <div className="palette-box">
        <input
          role="combobox"
          aria-label="Command or conversation"
          aria-expanded={all.length > 0}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={at < 0 ? undefined : `${id}-${at}`}
          placeholder="Type a command or a title"
          autoComplete="off"
          spellCheck={false}
          autoFocus
          value={query}
          onChange={({ target }) => {
            setQuery(target.value)
            setActive(0)
          }}
          onKeyDown={(event) => {
            const { key } = event
            if (key === "Enter") choose(all[at])
            else if (key === "ArrowDown") setActive(at + 1 === all.length ? 0 : at + 1)
            else if (key === "ArrowUp") setActive(at <= 0 ? all.length - 1 : at - 1)
            else return
            event.preventDefault()
          }}
        />
        <div id={`${id}-list`} className="palette-list" role="listbox" aria-label="Commands">
          {sections.map(({ actions, group }) => (
            <div key={group} role="group" aria-label={group}>
              <p className="palette-group" aria-hidden="true">
                {group}
              </p>
              {actions.map((action) => {
                const own = index++
                return (
                  <div
                    key={`${own} ${action.name}`}
                    id={`${id}-${own}`}
                    className="palette-option"
                    role="option"
                    aria-selected={own === at}
                    onPointerMove={() => setActive(own)}
                    onClick={() => choose(action)}
                  >
                    {action.name}
                  </div>
                )
              })}
            </div>
          ))}
        </div>
        {all.length === 0 && (
          <p className="palette-none" role="status">
            {missing}
          </p>
        )}
      </div>
    </dialog>
  )
}

/** Conversations that are offered. */
const MOST = 8

interface Found {
  readonly sections: ReadonlyArray<{ readonly group: string; readonly actions: ReadonlyArray<Actions.Action> }>
  /** Why there is nothing, where there is nothing. */
  readonly missing: string
}

const useSections = (query: string): Found => {
  const search = useDeferredValue(query.trim())
  const {
    data = [],
    error,
    isPending
  } = useQuery({
    queryKey: ["palette", search],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const filter = search === "" ? { signal } : { signal, search }
      const found = await Service.first(Service.client.listConversations(filter), MOST)
      return found.map(({ conversationId, title }) => ({
        name: title ?? "Untitled",
        run: () => PageRoute.go({ page: "conversation", conversationId })
      }))
    }
  })
  const own = Actions.useSections().map(({ actions, group }) => ({ group, actions: Actions.matching(actions, query) }))
  const sections = [...own, { group: "Conversations", actions: data }]
  const missing = isPending ? "Reading …" : error === null ? "Nothing has this name." : Problems.wordsOf(error)
  return { sections: sections.filter(({ actions }) => actions.length > 0), missing }
}
