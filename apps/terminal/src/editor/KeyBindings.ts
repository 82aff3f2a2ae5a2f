/**
 * Decides what a key does. Pure.
 *
 * Esc, in this order: closes a list; cancels the retry; aborts the turn; clears the editor. Once a chain has ended it means what it
 * meant before (rule P17). Enter on an empty editor asks the model again, only while the conversation is idle and its last response was
 * an error or an abort (rule M2). Otherwise Enter sends the text, and does nothing without one. No key loses text: what Esc and Ctrl-C
 * clear is in the history.
 */
import * as SlashCommand from "./SlashCommand.ts"
import * as Editor from "./Editor.ts"
import type { KeyPress } from "./Key.ts"

/** What the keys depend on. */
export interface EditorSituation {
  /** `retrying`: a wait is under way; `trying`: its attempt is; `running`: a turn without a chain of retries. */
  readonly phase: "idle" | "running" | "trying" | "retrying"
  /** How the last turn ended; absent before the first. */
  readonly lastEnd: "completed" | "failed" | "aborted" | undefined
  /** Columns of the editor. */
  readonly width: number
  readonly now: Date
}

/** A list to choose from. */
interface List {
  readonly choices: ReadonlyArray<Choice>
  readonly selected: number
}

/** A line of a list. */
export interface Choice {
  readonly id: string
  readonly title: string
}

/** Everything that keys change at once. */
export interface KeyState {
  readonly editor: Editor.Editor
  readonly list?: List | undefined
  /** Ctrl-C was pressed on an empty editor: the next one leaves. */
  readonly isLeaving: boolean
}

/** What a key has asked for beyond editing. */
export type KeyAction =
  | { readonly type: "prompt"; readonly text: string }
  | { readonly type: "retry" | "abort" | "abort-retry" | "stop" | "leave" }
  | { readonly type: "command"; readonly command: SlashCommand.SlashCommand }
  | { readonly type: "choose"; readonly id: string }
  | { readonly type: "notice"; readonly text: string }

/** Before the first key. */
export const initial: KeyState = { editor: Editor.empty, isLeaving: false }

/** Applies a key. */
export const press = (
  state: KeyState,
  situation: EditorSituation,
  key: KeyPress
): readonly [KeyState, ReadonlyArray<KeyAction>] => {
  const next = { ...state, isLeaving: false }
  if (state.list !== undefined) return inList(next, state.list, key)
  const { editor } = state
  switch (key.type) {
    case "escape":
      return escaped(next, situation)
    case "enter":
      return entered(next, situation)
    case "cancel":
      if (editor.text !== "") return [{ ...next, editor: Editor.taken(editor) }, []]
      return state.isLeaving
        ? [next, [{ type: "leave" }]]
        : [{ ...next, isLeaving: true }, [{ type: "notice", text: "Ctrl-C again leaves." }]]
    case "end-of-input":
      return editor.text === ""
        ? [next, [{ type: "leave" }]]
        : [{ ...next, editor: Editor.press(editor, { type: "delete" }, situation.width) }, []]
    case "tab": {
      const [only, ...others] = SlashCommand.completions(editor.text)
      return only === undefined || others.length > 0
        ? [next, []]
        : [{ ...next, editor: Editor.withText(editor, `/${only.name} `) }, []]
    }
    case "stop":
      return [next, [{ type: "stop" }]]
    default:
      return [{ ...next, editor: Editor.press(editor, key, situation.width) }, []]
  }
}

/** Opens a list. */
export const choosing = (state: KeyState, choices: ReadonlyArray<Choice>): KeyState => ({
  ...state,
  list: { choices, selected: 0 }
})

/** Whether Enter on an empty editor asks the model again (rule M2). */
export const isRetryable = ({ lastEnd, phase }: Pick<EditorSituation, "phase" | "lastEnd">): boolean =>
  phase === "idle" && (lastEnd === "failed" || lastEnd === "aborted")

// --- internal

const escaped = (state: KeyState, { phase }: EditorSituation): readonly [KeyState, ReadonlyArray<KeyAction>] => {
  switch (phase) {
    case "retrying":
      return [state, [{ type: "abort-retry" }]]
    case "trying":
    case "running":
      // During an attempt there is no wait to cancel: an abort ends the chain first, then the turn (rule P14).
      return [state, [{ type: "abort" }]]
    case "idle":
      return state.editor.text === "" ? [state, []] : [{ ...state, editor: Editor.taken(state.editor) }, []]
    default:
      return phase satisfies never
  }
}

const entered = (state: KeyState, situation: EditorSituation): readonly [KeyState, ReadonlyArray<KeyAction>] => {
  const { editor } = state
  const { text } = editor
  if (text === "") return [state, isRetryable(situation) ? [{ type: "retry" }] : []]
  if (text.trim() === "") return [state, []]
  if (text.slice(0, editor.cursor).endsWith("\\") && editor.cursor === text.length) {
    const joined = Editor.press(editor, { type: "backspace" }, situation.width)
    return [{ ...state, editor: Editor.insert(joined, "\n") }, []]
  }
  if (!text.startsWith("/"))
    return [{ ...state, editor: Editor.taken(editor) }, [{ type: "prompt", text: text.trim() }]]
  const read = SlashCommand.read(text, situation.now)
  if (read._tag === "Mistake") return [state, [{ type: "notice", text: read.message }]]
  const { command } = read
  const cleared = { ...state, editor: Editor.taken(editor) }
  if (command.type === "quit") return [cleared, [{ type: "leave" }]]
  return [cleared, command.type === "retry" ? retried(situation) : [{ type: "command", command }]]
}

const retried = (situation: EditorSituation): ReadonlyArray<KeyAction> => {
  if (isRetryable(situation)) return [{ type: "retry" }]
  return [
    {
      type: "notice",
      text:
        situation.phase === "idle"
          ? "There is nothing to retry: the last response was neither an error nor an abort."
          : "A turn is under way. /now ends a wait, Esc cancels it."
    }
  ]
}

const inList = (state: KeyState, list: List, key: KeyPress): readonly [KeyState, ReadonlyArray<KeyAction>] => {
  const { list: _, ...closed } = state
  const to = (selected: number): KeyState => ({
    ...state,
    list: { ...list, selected: Math.max(0, Math.min(list.choices.length - 1, selected)) }
  })
  switch (key.type) {
    case "up":
      return [to(list.selected - 1), []]
    case "down":
      return [to(list.selected + 1), []]
    case "enter": {
      const choice = list.choices[list.selected]
      return [closed, choice === undefined ? [] : [{ type: "choose", id: choice.id }]]
    }
    case "escape":
    case "cancel":
      return [closed, []]
    default:
      return [state, []]
  }
}
