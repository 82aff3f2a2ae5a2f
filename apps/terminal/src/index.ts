/** Opens a conversation of a service in a terminal, until the person leaves. */
import { type ClientOptions, HoldfastClient } from "@holdfast/client"
import { defined, type PeriodReport, type TurnExplanation } from "@holdfast/wire"
import { render } from "ink"
import { createElement } from "react"
import * as OpenConversation from "./OpenConversation.ts"
import * as Snapshot from "./Snapshot.ts"
import { Screen } from "./screen/Screen.ts"
import * as PlainScreen from "./screen/PlainScreen.ts"

/** What the terminal is opened with. */
export interface Options {
  /** Without a slash at its end. */
  readonly url: string
  readonly token: string | undefined
  /** Makes the calls; by default the platform's. */
  readonly fetch: ClientOptions["fetch"]
  readonly conversationId: string | undefined
  /** `provider/model` of a new conversation. */
  readonly model: string | undefined
  /** Line by line, without repainting. */
  readonly isPlain: boolean
  readonly hasColors: boolean
  readonly reportLines: (report: PeriodReport.PeriodReport) => ReadonlyArray<string>
  readonly explanationLines: (explanation: TurnExplanation.TurnExplanation) => ReadonlyArray<string>
  /** Ends the screen, as leaving does. */
  readonly signal: AbortSignal
}

/** What was left. */
export interface Left {
  /** Absent: there was no prompt. */
  readonly conversationId: string | undefined
  /** A turn of it runs or waits. */
  readonly isBusy: boolean
}

/** Shows the conversation. The terminal is afterwards as it was before, also where this fails. */
export const open = async (options: Options): Promise<Left> => {
  const { fetch, hasColors, isPlain, signal, token, url, ...rest } = options
  const now = Date.now
  const client = new HoldfastClient({ url, retryForMs: CALL_MS, ...defined({ fetch, token }) })
  const conversation = OpenConversation.make({ ...rest, client, now })
  const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))
  try {
    if (isPlain) {
      const write = (text: string): void => void process.stdout.write(text)
      await Promise.race([
        PlainScreen.show(conversation, { input: process.stdin, write, hasEcho: process.stdin.isTTY }, now),
        aborted
      ])
    } else {
      const screen = render(createElement(Screen, { conversation, hasColors, now }), {
        exitOnCtrlC: false,
        // Everything is written by the screen; a stray line would shift it.
        patchConsole: true,
        interactive: true,
        kittyKeyboard: { mode: "auto" }
      })
      try {
        // An error of the screen itself rejects.
        await Promise.race([conversation.left, aborted, screen.waitUntilExit()])
      } finally {
        // What changes is of no use any more; the entries stay.
        screen.clear()
        screen.unmount()
        await screen.waitUntilExit().catch(() => {})
      }
    }
    const snapshot = conversation.snapshot()
    return {
      conversationId: snapshot.conversationId,
      isBusy: Snapshot.phaseOf(snapshot, now()) !== "idle"
    }
  } finally {
    conversation.close()
    client.close()
  }
}

// --- internal

/** A person who pressed a key does not wait longer for what becomes of it. */
const CALL_MS = 5_000
