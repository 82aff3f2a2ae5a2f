/**
 * Shows a conversation line by line, for screen readers, pipes and terminals that cannot repaint.
 *
 * Nothing that was written is changed: no cursor is moved and no line is repainted. A wait has a line when it begins, and a reminder now
 * and then. At the end of the input the last turn is waited for.
 */
import { createInterface } from "node:readline"
import type * as OpenConversation from "../OpenConversation.ts"
import * as Snapshot from "../Snapshot.ts"
import * as Foreign from "../text/Foreign.ts"
import type * as Transcript from "../transcript/Transcript.ts"
import * as WaitText from "../wait/WaitText.ts"

/** Where lines come from and go to. */
interface Streams {
  readonly input: NodeJS.ReadableStream
  readonly write: (text: string) => void
  /** The terminal shows what is typed: it is not written a second time. */
  readonly hasEcho: boolean
}

/** Shows a conversation until the person leaves, or the input ends. */
export const show = async (
  conversation: OpenConversation.OpenConversation,
  { hasEcho, input, write }: Streams,
  now: () => number
): Promise<void> => {
  let entries = 0
  let printed = ""
  let notice: string | undefined
  let list: unknown
  let remind: ReturnType<typeof setTimeout> | undefined
  let waiting: WaitText.Wait | undefined
  const typed = new Set<string>()
  const line = (text: string): void => write(`${text}\n`)

  const writeWait = (): void => {
    clearTimeout(remind)
    const wait = Snapshot.waitOf(conversation.snapshot().view)
    if (wait === undefined) return
    line(WaitText.countdown(wait, now(), "/giveup to cancel"))
    remind = setTimeout(writeWait, REMINDER_MS)
  }
  const draw = (): void => {
    const snapshot = conversation.snapshot()
    for (const entry of snapshot.entries.slice(entries)) {
      if (entry.type === "prompt" && typed.delete(entry.text)) continue
      line(textOf(entry, printed))
      if (entry.type === "answer") printed = ""
    }
    entries = snapshot.entries.length
    const text = textInProgress(snapshot)
    if (text === "" || !text.startsWith(printed)) printed = ""
    // Whole lines: a screen reader reads each once.
    const whole = text.slice(0, text.lastIndexOf("\n") + 1)
    if (whole.length > printed.length) {
      write(whole.slice(printed.length))
      printed = whole
    }
    const wait = Snapshot.waitOf(snapshot.view)
    if (wait?.retryAt !== waiting?.retryAt || wait?.attempt !== waiting?.attempt) {
      waiting = wait
      writeWait()
    }
    if (snapshot.notice !== notice) {
      notice = snapshot.notice
      if (notice !== undefined) line(Foreign.oneLine(notice))
    }
    if (snapshot.keyboard.list !== list) {
      list = snapshot.keyboard.list
      for (const [index, { title }] of (snapshot.keyboard.list?.choices ?? []).entries())
        line(`${index + 1}. ${title.trim()}`)
      if (list !== undefined) line("Type a number, or nothing.")
    }
  }
  const unsubscribe = conversation.subscribe(draw)
  if (hasEcho) line("Type a text and Enter. /help lists the commands, /quit leaves.")
  draw()
  try {
    const reader = createInterface({ input, terminal: false })
    const ended = (async () => {
      for await (const text of reader) {
        if (hasEcho && text.trim() !== "") typed.add(Foreign.shown(text).trim())
        enter(conversation, text)
      }
      await idle(conversation, now)
    })()
    await Promise.race([ended, conversation.left])
    reader.close()
  } finally {
    unsubscribe()
    clearTimeout(remind)
  }
}

// --- internal

const REMINDER_MS = 5 * 60_000

/** Columns of the editor, which no line of this screen has. */
const WIDTH = 80

const enter = (conversation: OpenConversation.OpenConversation, typed: string): void => {
  const { list } = conversation.snapshot().keyboard
  if (list === undefined) {
    if (typed !== "") conversation.press({ type: "text", text: typed }, WIDTH)
    return conversation.press({ type: "enter" }, WIDTH)
  }
  const index = Number(typed.trim()) - 1
  if (typed.trim() === "" || list.choices[index] === undefined) return conversation.press({ type: "escape" }, WIDTH)
  for (let at = 0; at < index; at++) conversation.press({ type: "down" }, WIDTH)
  return conversation.press({ type: "enter" }, WIDTH)
}

/** What is left to write of an entry, of which `printed` was written while it came. */
const textOf = (entry: Transcript.Entry, printed: string): string => {
  switch (entry.type) {
    case "prompt":
      return `\n> ${entry.text.replaceAll("\n", "\n  ")}\n`
    case "answer":
      return entry.text.startsWith(printed) ? entry.text.slice(printed.length) : entry.text
    default:
      return entry.text
  }
}

const textInProgress = ({ view }: Snapshot.Snapshot): string =>
  Foreign.shown(
    (view.progress?.parts ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("")
  ).trimStart()

const idle = (conversation: OpenConversation.OpenConversation, now: () => number): Promise<void> =>
  new Promise((resolve) => {
    const check = (): void => {
      if (Snapshot.phaseOf(conversation.snapshot(), now()) !== "idle") return
      unsubscribe()
      resolve()
    }
    const unsubscribe = conversation.subscribe(check)
    check()
  })
