/** A key or a paste, as the editor understands it; and how Ink's keys become such. Pure. */
import type { Key as InkKey } from "ink"

/** Keys without a text of their own. */
export type Control =
  | "enter"
  | "newline"
  | "escape"
  | "tab"
  | "left"
  | "right"
  | "up"
  | "down"
  | "home"
  | "end"
  | "word-left"
  | "word-right"
  | "backspace"
  | "delete"
  | "kill-word"
  | "kill-start"
  | "kill-end"
  | "yank"
  | "cancel"
  | "end-of-input"
  | "stop"

/** A key, typed text, or a text that was pasted. */
export type KeyPress =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "paste"; readonly text: string }
  | { readonly type: Control }

/** The keys of one input of Ink. Text that was typed faster than it was read arrives at once, with its line ends. */
export const ofInk = (input: string, key: Partial<InkKey>): ReadonlyArray<KeyPress> => {
  if (key.eventType === "release") return []
  const control = controlOf(input, key)
  if (control !== undefined) return [{ type: control }]
  if (key.ctrl === true || key.meta === true || key.super === true || input === "") return []
  // Before the terminal was read key by key, it made a line feed of Enter.
  const keys = input.length > 1 ? input.replace(/\n$/, "\r") : input
  return keys.split(/(\r|\n|\t)/).flatMap((text): ReadonlyArray<KeyPress> => {
    if (text === "") return []
    if (text === "\r") return [{ type: "enter" }]
    if (text === "\n") return [{ type: "newline" }]
    return text === "\t" ? [{ type: "tab" }] : [{ type: "text", text }]
  })
}

// --- internal

const controlOf = (input: string, key: Partial<InkKey>): Control | undefined => {
  if (key.return === true) return key.shift === true || key.meta === true ? "newline" : "enter"
  if (key.escape === true) return "escape"
  if (key.tab === true) return "tab"
  if (key.backspace === true) return key.meta === true || key.ctrl === true ? "kill-word" : "backspace"
  if (key.delete === true) return "delete"
  const isByWord = key.ctrl === true || key.meta === true
  if (key.leftArrow === true) return isByWord ? "word-left" : "left"
  if (key.rightArrow === true) return isByWord ? "word-right" : "right"
  if (key.upArrow === true) return "up"
  if (key.downArrow === true) return "down"
  if (key.home === true) return "home"
  if (key.end === true) return "end"
  if (key.ctrl === true) return WITH_CONTROL[input]
  return key.meta === true ? WITH_ALT[input] : undefined
}

const WITH_CONTROL: { readonly [letter: string]: Control } = {
  a: "home",
  b: "left",
  c: "cancel",
  d: "end-of-input",
  e: "end",
  f: "right",
  h: "backspace",
  j: "newline",
  k: "kill-end",
  m: "enter",
  n: "down",
  p: "up",
  u: "kill-start",
  w: "kill-word",
  y: "yank",
  z: "stop"
}

const WITH_ALT: { readonly [letter: string]: Control } = {
  b: "word-left",
  f: "word-right",
  "\r": "newline",
  d: "delete"
}
