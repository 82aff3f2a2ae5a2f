/** What the screen is drawn from, and its changes. */
import { ConversationView } from "@holdfast/client"
import * as KeyBindings from "./editor/KeyBindings.ts"
import type * as Transcript from "./transcript/Transcript.ts"
import type * as WaitText from "./wait/WaitText.ts"

/** What the screen is drawn from. */
export interface Snapshot {
  readonly conversationId: string | undefined
  readonly view: ConversationView.ConversationView
  /** Permanent entries; the list only grows. */
  readonly entries: ReadonlyArray<Transcript.Entry>
  readonly keyboard: KeyBindings.KeyState
  /** Prompts that were sent and are not in the history yet. */
  readonly sent: ReadonlyArray<string>
  /** `provider/model` of the next step, where it is known. */
  readonly model: string | undefined
  /** What the budget leaves for further waits; absent: not known, or without limit. */
  readonly budgetLeftMs: number | undefined
  /** For the next moments: an answer to a key. */
  readonly notice: string | undefined
  /** A prompt is on its way to a conversation that is being opened. */
  readonly isOpening: boolean
  /** Why there is no connection at present. */
  readonly disconnected: string | undefined
}

/** The present snapshot. */
export type Cell = ReturnType<typeof make>

/** Makes the snapshot before the first key. */
export const make = (model: string | undefined) => {
  const listeners = new Set<() => void>()
  let snapshot: Snapshot = {
    conversationId: undefined,
    view: ConversationView.empty,
    entries: [],
    keyboard: KeyBindings.initial,
    sent: [],
    model,
    budgetLeftMs: undefined,
    notice: undefined,
    isOpening: false,
    disconnected: undefined
  }
  const set = (changes: Partial<Snapshot>): void => {
    snapshot = { ...snapshot, ...changes }
    for (const listener of listeners) listener()
  }
  return {
    read: () => snapshot,
    set,
    /** Adds permanent entries. */
    write: (...entries: ReadonlyArray<Transcript.Entry>): void => {
      if (entries.length > 0) set({ entries: [...snapshot.entries, ...entries] })
    },
    /** Calls the listener after each change. Returns the function that ends this. */
    subscribe: (listener: () => void) => {
      listeners.add(listener)
      return (): void => void listeners.delete(listener)
    },
    /** Removes all listeners. */
    close: () => listeners.clear()
  }
}

/** Where the keys are: what a turn is doing. */
export const phaseOf = (
  { isOpening, sent, view }: Pick<Snapshot, "isOpening" | "sent" | "view">,
  now: number
): KeyBindings.EditorSituation["phase"] => {
  if (view.retry !== undefined) return ConversationView.remainingMs(view.retry, now) > 0 ? "retrying" : "trying"
  return view.status !== "idle" || sent.length > 0 || isOpening ? "running" : "idle"
}

/** The wait in progress, with times by this clock. */
export const waitOf = ({ retry }: ConversationView.ConversationView): WaitText.Wait | undefined =>
  retry && { ...retry, retryAt: retry.dueAt }

/** How the last turn ended; absent before the first end. */
export const lastEndOf = ({ turn }: ConversationView.ConversationView): KeyBindings.EditorSituation["lastEnd"] =>
  turn === undefined || turn.status === "running" ? undefined : turn.status
