/** Paints a conversation with Ink. What is painted is decided in `Frame.ts` and `EntryLines.ts`. */
import { Box, Static, Text, useApp, useCursor, useInput, usePaste, useWindowSize } from "ink"
import { createElement, Fragment, type ReactNode, useEffect, useReducer, useSyncExternalStore } from "react"
import * as KeyOf from "../editor/Key.ts"
import type * as OpenConversation from "../OpenConversation.ts"
import * as Snapshot from "../Snapshot.ts"
import type * as Line from "../text/Line.ts"
import * as EntryLines from "../transcript/EntryLines.ts"
import * as WaitText from "../wait/WaitText.ts"
import * as Frame from "./Frame.ts"

/** The parts of the screen. */
interface ScreenProps {
  readonly conversation: OpenConversation.OpenConversation
  readonly hasColors: boolean
  readonly now: () => number
}

/** A conversation: its entries, which scroll away, and below them what changes. */
export const Screen = ({ conversation, hasColors, now }: ScreenProps): ReactNode => {
  const snapshot = useSyncExternalStore(conversation.subscribe, conversation.snapshot)
  const { columns, rows } = useWindowSize()
  const { suspendTerminal } = useApp()
  const { setCursorPosition } = useCursor()
  const [, repaint] = useReducer((count: number) => count + 1, 0)

  const wait = Snapshot.waitOf(snapshot.view)
  useEffect(() => {
    if (wait === undefined) return undefined
    const timer = setTimeout(repaint, WaitText.untilChange(wait, now()))
    return () => clearTimeout(timer)
  })

  const width = Frame.editorWidth(columns)
  useInput((input, key) => {
    for (const pressed of KeyOf.ofInk(input, key)) {
      if (pressed.type === "stop") void suspendTerminal(stopped)
      else conversation.press(pressed, width)
    }
  })
  usePaste((text) => conversation.press({ type: "paste", text }, width))

  const { cursor, lines } = Frame.of(snapshot, { columns, rows, now: now() })
  setCursorPosition(cursor)
  return createElement(
    Fragment,
    null,
    createElement(Static<(typeof snapshot.entries)[number]>, {
      items: [...snapshot.entries],
      children: (entry, index) => createElement(Rows, { key: index, lines: EntryLines.of(entry, columns), hasColors })
    }),
    createElement(Rows, { lines, hasColors })
  )
}

// --- internal

const Rows = ({
  hasColors,
  lines
}: {
  readonly lines: ReadonlyArray<Line.Line>
  readonly hasColors: boolean
}): ReactNode =>
  createElement(
    Box,
    { flexDirection: "column" },
    // A row keeps its place: nothing is moved among them.
    ...lines.map((line) => createElement(Row, { line, hasColors }))
  )

const Row = ({ hasColors, line }: { readonly line: Line.Line; readonly hasColors: boolean }): ReactNode =>
  createElement(
    Text,
    { wrap: "truncate" },
    // A text without characters would take no row.
    ...(line.every(({ text }) => text === "") ? [" "] : line.map((span) => (hasColors ? styled(span) : span.text)))
  )

const styled = ({ dim = false, text, ...style }: Line.StyledText): ReactNode =>
  createElement(Text, { ...style, dimColor: dim }, text)

/** Ctrl-Z: the shell has the terminal until `fg`. */
const stopped = (): Promise<void> =>
  new Promise((resolve) => {
    process.once("SIGCONT", () => resolve())
    process.kill(process.pid, "SIGTSTP")
  })
