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

/** An item with its name. */
interface Named {
  readonly name: string
  readonly words?: string
}

/**
 * The items that have every word of a query, best first: in the name before in the further words, at the beginning of a word before inside of one.
 * Items that fit alike keep their order, and an empty query has all of them.
 */
export const matching = <A extends Named>(items: ReadonlyArray<A>, query: string): ReadonlyArray<A> => {
  const asked = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
  return items
    .flatMap((item) => {
      const cost = costOf(item, asked)
      return cost === undefined ? [] : [{ item, cost }]
    })
    .toSorted((a, b) => a.cost - b.cost)
    .map(({ item }) => item)
}

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

/** The sum of the words' costs; `undefined` where a word is missing. */
const costOf = ({ name, words = "" }: Named, asked: ReadonlyArray<string>): number | undefined => {
  let sum = 0
  for (const word of asked) {
    const cost = [placeOf(name, word), placeOf(words, word)].findIndex((place) => place !== undefined)
    if (cost === -1) return undefined
    sum += 2 * cost + (placeOf(cost === 0 ? name : words, word) === "inside" ? 1 : 0)
  }
  return sum
}

const placeOf = (text: string, word: string): "beginning" | "inside" | undefined => {
  const lower = text.toLowerCase()
  for (let at = lower.indexOf(word), inside = false; ; at = lower.indexOf(word, at + 1), inside = true) {
    if (at === -1) return inside ? "inside" : undefined
    if (at === 0 || !/[\p{L}\p{N}]/u.test(lower[at - 1] ?? "")) return "beginning"
  }
}
