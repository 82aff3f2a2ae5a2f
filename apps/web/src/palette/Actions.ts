/**
 * The actions that a person can choose by name. Each part of the page adds its own while it is shown.
 *
 * An action does what a button of its part does, so it exists exactly while that button does.
 */
import { useEffect, useId, useSyncExternalStore } from "react"

/** One action. */
export interface Action {
  /** As its button names it. */
  readonly name: string
  /** Further words that find it. */
  readonly words?: string
  readonly run: () => void
}

/** A heading of the palette. */
type Group = "The wait" | "This conversation" | "Page"

/** The actions of a group, in the order in which their parts were added. */
interface Section {
  readonly group: Group
  readonly actions: ReadonlyArray<Action>
}

/** Adds actions while the calling part is shown. */
export const useActions = (group: Group, actions: ReadonlyArray<Action>): void => {
  const id = useId()
  // Each render has new functions; listeners are called where the names differ.
  useEffect(() => {
    const before = parts.get(id)
    parts.set(id, { group, actions })
    if (namesOf(before) !== namesOf({ group, actions })) changed()
  })
  useEffect(
    () => () => {
      parts.delete(id)
      changed()
    },
    [id]
  )
}

/** The actions that exist now. */
export const useSections = (): ReadonlyArray<Section> => useSyncExternalStore(subscribe, read)

// --- internal

const GROUPS: ReadonlyArray<Group> = ["The wait", "This conversation", "Page"]

const parts = new Map<string, Section>()
const listeners = new Set<() => void>()
let sections: ReadonlyArray<Section> | undefined = undefined

const namesOf = (part: Section | undefined): string | undefined => part?.actions.map(({ name }) => name).join("\n")

const changed = (): void => {
  sections = undefined
  for (const listener of listeners) listener()
}

const read = (): ReadonlyArray<Section> =>
  (sections ??= GROUPS.map((group) => ({
    group,
    actions: [...parts.entries()].flatMap(([id, part]) =>
      part.group === group
        ? // The newest function of the part, whenever it is chosen.
          part.actions.map((action, index) => ({ ...action, run: () => parts.get(id)?.actions[index]?.run() }))
        : []
    )
  })))

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
