/**
 * One conversation of a service as a person sees and steers it: events come in, keys come in, and snapshots go out to the screen.
 *
 * OpenConversation.O1. A new conversation is opened with its first prompt: a terminal that is closed without one leaves nothing behind.
 * OpenConversation.O2. A prompt that the service did not accept goes back into the editor.
 * OpenConversation.O3. An abort follows the prompts and retries under way. If it overtook them, it would find no turn.
 * OpenConversation.O4. Leaving ends the connection and nothing else: turns belong to the service.
 */
import { ClientError, type Conversation, ConversationView, type HoldfastClient } from "@holdfast/client"
import type { PeriodReport, TurnExplanation } from "@holdfast/wire"
import * as Editor from "./editor/Editor.ts"
import type { Key } from "./editor/Key.ts"
import * as Keyboard from "./editor/Keyboard.ts"
import * as Explained from "./Explained.ts"
import * as Foreign from "./text/Foreign.ts"
import * as Transcript from "./transcript/Transcript.ts"
import * as TypedCommands from "./TypedCommands.ts"
import type * as WaitText from "./wait/WaitText.ts"

/** What the screen is drawn from. */
export interface Snapshot {
  readonly conversationId: string | undefined
  readonly view: ConversationView.ConversationView
  /** Permanent entries; the list only grows. */
  readonly entries: ReadonlyArray<Transcript.Entry>
  readonly keyboard: Keyboard.Keyboard
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

/** What a conversation needs. */
export interface Options {
  readonly client: HoldfastClient
  /** The conversation to go on with; absent: a new one. */
  readonly conversationId?: string | undefined
  /** The model of a new conversation; absent: the service's own. */
  readonly model?: string | undefined
  readonly now: () => number
  /** Puts a report into lines. */
  readonly reportLines: (report: PeriodReport.PeriodReport) => ReadonlyArray<string>
  /** Puts an explanation into lines. */
  readonly explanationLines: (explanation: TurnExplanation.TurnExplanation) => ReadonlyArray<string>
}

/** A conversation on the screen. */
export interface OpenConversation {
  readonly snapshot: () => Snapshot
  /** Calls the listener after each change. Returns the function that ends this. */
  readonly subscribe: (listener: () => void) => () => void
  /** Applies a key; `width` is that of the editor's rows. */
  readonly press: (key: Key, width: number) => void
  /** Does what a key or a line of the plain screen asked for. */
  readonly act: (action: Keyboard.Action) => void
  /** Resolves when the person leaves. */
  readonly left: Promise<void>
  /** Ends the connection (OpenConversation.O4). */
  readonly close: () => void
}

/** Where the keys are: what a turn is doing. */
export const phaseOf = (
  { isOpening, sent, view }: Pick<Snapshot, "isOpening" | "sent" | "view">,
  now: number
): Keyboard.Situation["phase"] => {
  if (view.retry !== undefined) return ConversationView.remainingMs(view.retry, now) > 0 ? "retrying" : "trying"
  return view.status !== "idle" || sent.length > 0 || isOpening ? "running" : "idle"
}

/** The wait in progress, with times by this clock. */
export const waitOf = ({ retry }: ConversationView.ConversationView): WaitText.Wait | undefined =>
  retry && { ...retry, retryAt: retry.dueAt }

/** Opens a conversation. */
export const make = (options: Options): OpenConversation => {
  const { client, now } = options
  const listeners = new Set<() => void>()
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  let snapshot: Snapshot = {
    conversationId: undefined,
    view: ConversationView.empty,
    entries: [],
    keyboard: Keyboard.initial,
    sent: [],
    model: options.model,
    budgetLeftMs: undefined,
    notice: undefined,
    isOpening: false,
    disconnected: undefined
  }
  let seen = Transcript.nothing
  let connection = new AbortController()
  let stream: ReturnType<Conversation["events"]> | undefined
  /** The opening of the conversation, which several keys may wait for. */
  let opening: Promise<Conversation> | undefined
  /** Settles when the service has accepted or refused what was asked for. */
  let asked: Promise<unknown> = Promise.resolve()

  const set = (changes: Partial<Snapshot>): void => {
    snapshot = { ...snapshot, ...changes }
    for (const listener of listeners) listener()
  }
  const write = (...entries: ReadonlyArray<Transcript.Entry>): void => {
    if (entries.length > 0) set({ entries: [...snapshot.entries, ...entries] })
  }
  const failed = (error: unknown): void => write(Transcript.note("failure", wordsOf(error)))

  // --- what arrives

  let arrived: Array<Parameters<typeof ConversationView.apply>[1]> = []
  let due: ReturnType<typeof setTimeout> | undefined

  /** Many events are one change: a screen is drawn some thirty times a second at most. */
  const apply = (): void => {
    due = undefined
    const events = arrived
    arrived = []
    const entries: Array<Transcript.Entry> = []
    const prompts: Array<string> = []
    let { sent } = snapshot
    for (const event of events) {
      const [next, added] = Transcript.take(seen, event)
      seen = next
      entries.push(...added)
      for (const entry of added) {
        if (entry.type !== "prompt") continue
        const own = sent.find((text) => Foreign.shown(text) === entry.text)
        if (own === undefined) prompts.push(entry.text)
        else sent = without(sent, own)
      }
      if (event.type === "turn-start" && event.retry === true) sent = sent.filter((text) => text !== AGAIN)
    }
    const { keyboard } = snapshot
    const before = snapshot.view.retry
    const view = ConversationView.withClockSkew(
      ConversationView.applyAll(snapshot.view, events),
      stream?.clockSkewMs ?? snapshot.view.clockSkewMs
    )
    const isSameWait = view.retry?.attempt === before?.attempt && view.retry?.retryAt === before?.retryAt
    set({
      view,
      sent,
      ...(prompts.length === 0
        ? {}
        : { keyboard: { ...keyboard, editor: Editor.remembering(keyboard.editor, prompts) } }),
      model: view.model ?? snapshot.model,
      budgetLeftMs: isSameWait ? snapshot.budgetLeftMs : undefined,
      ...(entries.length === 0 ? {} : { entries: [...snapshot.entries, ...entries] })
    })
    if (view.retry !== undefined && view.retry !== before) void readBudget(view.retry)
  }

  const readBudget = async (retry: ConversationView.PendingRetry): Promise<void> => {
    const { conversationId } = snapshot
    if (conversationId === undefined || retry.asks !== undefined) return
    try {
      const turn = client.conversation(conversationId).turn(retry.turnId)
      const left = Explained.budgetLeftMs(await turn.explain(), retry.attempt)
      if (snapshot.view.retry?.attempt === retry.attempt) set({ budgetLeftMs: left })
    } catch {
      // The budget is a courtesy: the wait is shown without it.
    }
  }

  const watch = async (conversation: Conversation, { signal }: AbortController): Promise<void> => {
    try {
      stream = conversation.events({
        signal,
        onConnection: (state) => {
          if (signal.aborted) return
          if (state.state === "lost")
            set({
              disconnected: `No connection to the service (${state.message.replace(/\.$/, "")}). Connecting again…`
            })
          else set({ disconnected: undefined, view: ConversationView.reconnected(snapshot.view) })
        }
      })
      for await (const event of stream) {
        if (signal.aborted) return
        arrived.push(event)
        due ??= setTimeout(apply, FRAME_MS)
      }
    } catch (error) {
      if (!signal.aborted) failed(error)
    }
  }

  /** Goes on with a conversation, and shows it from its beginning. */
  const attach = (conversationId: string): void => {
    connection.abort()
    connection = new AbortController()
    arrived = []
    seen = Transcript.nothing
    const conversation = client.conversation(conversationId)
    opening = Promise.resolve(conversation)
    set({ conversationId, view: ConversationView.empty, sent: [], budgetLeftMs: undefined, disconnected: undefined })
    void watch(conversation, connection)
    void conversation.getState().then(
      ({ model }) => {
        if (snapshot.conversationId === conversationId) set({ model: snapshot.view.model ?? model })
      },
      () => {}
    )
  }

  const detach = (model: string | undefined): void => {
    connection.abort()
    connection = new AbortController()
    opening = undefined
    seen = Transcript.nothing
    set({ conversationId: undefined, view: ConversationView.empty, sent: [], model, budgetLeftMs: undefined })
  }

  /** The conversation, opened now if there is none (O1). */
  const opened = (): Promise<Conversation> => {
    const { model } = snapshot
    opening ??= client.createConversation(model === undefined ? {} : { model }).then(
      (conversation) => {
        attach(conversation.id)
        return conversation
      },
      (error: unknown) => {
        opening = undefined
        throw error
      }
    )
    return opening
  }

  // --- what is asked for

  const send = async (text: string): Promise<void> => {
    try {
      set({ isOpening: snapshot.conversationId === undefined })
      const conversation = await opened()
      set({ sent: [...snapshot.sent, text], isOpening: false })
      await conversation.prompt(text)
    } catch (error) {
      set({ sent: without(snapshot.sent, text), isOpening: false })
      failed(error)
      const { editor } = snapshot.keyboard
      // O2
      if (editor.text === "") set({ keyboard: { ...snapshot.keyboard, editor: Editor.withText(editor, text) } })
    }
  }

  const again = async (): Promise<void> => {
    const { conversationId } = snapshot
    if (conversationId === undefined) return
    set({ sent: [...snapshot.sent, AGAIN] })
    try {
      await client.conversation(conversationId).retry()
    } catch (error) {
      set({ sent: snapshot.sent.filter((text) => text !== AGAIN) })
      failed(error)
    }
  }

  const withConversation = async (call: (conversation: Conversation) => Promise<void>): Promise<void> => {
    const { conversationId } = snapshot
    if (conversationId === undefined) return set({ notice: "There is no turn yet." })
    await call(client.conversation(conversationId))
  }

  const commands: TypedCommands.Target = {
    client,
    snapshot: () => snapshot,
    set,
    write,
    opened,
    begin: (model = options.model) => detach(model),
    readBudget: () => (snapshot.view.retry === undefined ? Promise.resolve() : readBudget(snapshot.view.retry)),
    lastError: () => seen.lastError,
    reportLines: options.reportLines,
    explanationLines: options.explanationLines
  }

  const act = (action: Keyboard.Action): void => {
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
        return attach(action.id)
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

  if (options.conversationId !== undefined) attach(options.conversationId)

  return {
    snapshot: () => snapshot,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    press: (key, width) => {
      const at = now()
      const situation: Keyboard.Situation = {
        phase: phaseOf(snapshot, at),
        lastEnd: lastEndOf(snapshot.view),
        width,
        now: new Date(at)
      }
      const [keyboard, actions] = Keyboard.press(snapshot.keyboard, situation, key)
      set({ keyboard, notice: undefined })
      for (const action of actions) act(action)
    },
    act,
    left,
    close: () => {
      connection.abort()
      clearTimeout(due)
      listeners.clear()
    }
  }
}

/** How the last turn ended; absent before the first end. */
export const lastEndOf = ({ turn }: ConversationView.ConversationView): Keyboard.Situation["lastEnd"] =>
  turn === undefined || turn.status === "running" ? undefined : turn.status

// --- internal

/** A thirtieth of a second. */
const FRAME_MS = 33

/** Stands among the sent prompts for a manual retry, which has none. No prompt is empty. */
const AGAIN = ""

/** What an error means for a person: a refusal in the service's own words. */
const wordsOf = (error: unknown): string => {
  if (error instanceof ClientError) {
    const { errors = [], detail } = error.problem ?? {}
    const mistakes = errors.map(({ message, path }) => (path === "" ? message : `${path}: ${message}`)).join("; ")
    return mistakes || (detail ?? error.message)
  }
  return error instanceof Error ? error.message : String(error)
}

/** The list without one of its texts. */
const without = (texts: ReadonlyArray<string>, text: string): ReadonlyArray<string> =>
  texts.includes(text) ? texts.toSpliced(texts.indexOf(text), 1) : texts
