/**
 * One conversation of a service as a person sees and steers it: events come in, keys come in, and snapshots go out to the screen.
 *
 * Leaving ends the connection and nothing else: turns belong to the service.
 *
 * A new conversation is opened with its first prompt. A prompt that the service did not accept goes back into the
 * editor.
 *
 * OpenConversation.O3. An abort follows the prompts and retries under way. If it overtook them, it would find no turn.
 */
import { ClientError, type Conversation, type HoldfastClient } from "@holdfast/client"
import type { PeriodReport, TurnExplanation } from "@holdfast/wire"
import * as Editor from "./editor/Editor.ts"
import type { KeyPress } from "./editor/Key.ts"
import * as KeyBindings from "./editor/KeyBindings.ts"
import * as SentPrompts from "./SentPrompts.ts"
import * as Snapshot from "./Snapshot.ts"
import * as Transcript from "./transcript/Transcript.ts"
import * as TypedCommands from "./TypedCommands.ts"
import { ConversationWatch } from "./ConversationWatch.ts"

/** What a conversation needs. */
export interface Options {
  readonly client: HoldfastClient
  /** The conversation to go on with; absent: a new one. */
  readonly conversationId?: string | undefined
  /** The model of a new conversation, or of further turns of the given one; absent: the service's own, or no change. */
  readonly model?: string | undefined
  readonly now: () => number
  /** Puts a report into lines. */
  readonly reportLines: (report: PeriodReport.PeriodReport) => ReadonlyArray<string>
  /** Puts an explanation into lines. */
  readonly explanationLines: (explanation: TurnExplanation.TurnExplanation) => ReadonlyArray<string>
}

/** A conversation on the screen. */
export type OpenConversation = ReturnType<typeof make>

/** Opens a conversation. */
export const make = (options: Options) => {
  const { client, now } = options
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  const cell = Snapshot.make(options.model)
  const { set, write } = cell
  const failed = (error: unknown): void => write(Transcript.note("failure", wordsOf(error)))
  const watching = new ConversationWatch({ client, cell, failed })
  /** Settles when the service has accepted or refused what was asked for. */
  let asked: Promise<unknown> = Promise.resolve()

  const send = async (text: string): Promise<void> => {
    try {
      set({ isOpening: cell.read().conversationId === undefined })
      const conversation = await watching.opened()
      set({ sent: [...cell.read().sent, text], isOpening: false })
      await conversation.prompt(text)
    } catch (error) {
      set({ sent: SentPrompts.without(cell.read().sent, text), isOpening: false })
      failed(error)
      const { keyboard } = cell.read()
      // The prompt goes back, but not over a newer one.
      if (keyboard.editor.text === "")
        set({ keyboard: { ...keyboard, editor: Editor.withText(keyboard.editor, text) } })
    }
  }

  const again = async (): Promise<void> => {
    const { conversationId } = cell.read()
    if (conversationId === undefined) return
    set({ sent: [...cell.read().sent, SentPrompts.AGAIN] })
    try {
      await client.conversation(conversationId).retry()
    } catch (error) {
      set({ sent: SentPrompts.without(cell.read().sent, SentPrompts.AGAIN) })
      failed(error)
    }
  }

  const withConversation = async (call: (conversation: Conversation) => Promise<void>): Promise<void> => {
    const { conversationId } = cell.read()
    if (conversationId === undefined) return set({ notice: "There is no turn yet." })
    await call(client.conversation(conversationId))
  }

  const commands: TypedCommands.CommandTarget = {
    client,
    cell,
    watching,
    initialModel: options.model,
    reportLines: options.reportLines,
    explanationLines: options.explanationLines
  }

  /** Does what a key or a line of the plain screen asked for. */
  const act = (action: KeyBindings.KeyAction): void => {
    switch (action.type) {
      case "prompt":
        asked = Promise.all([asked, send(action.text)])
        return
      case "retry":
        asked = Promise.all([asked, again()])
        return
      case "abort":
        // O3
        return void asked.then(() => withConversation((conversation) => conversation.abort())).catch(failed)
      case "abort-retry":
        return void withConversation((conversation) => conversation.abortRetry()).catch(failed)
      case "command":
        return void TypedCommands.run(commands, action.command).catch(failed)
      case "choose":
        write(Transcript.note("aside", `Conversation ${action.id}.`))
        return watching.attach(action.id)
      case "notice":
        return set({ notice: action.text })
      case "leave":
        return leave()
      case "stop":
        // For the screen.
        return
      default:
        return action satisfies never
    }
  }

  if (options.conversationId !== undefined) {
    watching.attach(options.conversationId)
    if (options.model !== undefined) act({ type: "command", command: { type: "switch", model: options.model } })
  }

  return {
    snapshot: cell.read,
    subscribe: cell.subscribe,
    /** Applies a key; `width` is that of the editor's rows. */
    press: (key: KeyPress, width: number): void => {
      const at = now()
      const snapshot = cell.read()
      const situation: KeyBindings.EditorSituation = {
        phase: Snapshot.phaseOf(snapshot, at),
        lastEnd: Snapshot.lastEndOf(snapshot.view),
        width,
        now: new Date(at)
      }
      const [keyboard, actions] = KeyBindings.press(snapshot.keyboard, situation, key)
      set({ keyboard, notice: undefined })
      for (const action of actions) act(action)
    },
    act,
    /** Resolves when the person leaves. */
    left,
    /** Ends the connection. */
    close: (): void => {
      watching.close()
      cell.close()
    }
  }
}

// --- internal

/** What an error means for a person: a refusal in the service's own words. */
const wordsOf = (error: unknown): string => {
  if (error instanceof ClientError) return error.detail
  return error instanceof Error ? error.message : String(error)
}
