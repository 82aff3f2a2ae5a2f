/**
 * The connection to one conversation at a time: its events become changes of the snapshot.
 *
 * Many events are one change: a screen is drawn some thirty times a second at most.
 *
 * A new conversation is opened with its first prompt: a terminal that is closed without one leaves nothing behind.
 */
import { type Conversation, ConversationView, type HoldfastClient } from "@holdfast/client"
import * as Editor from "./editor/Editor.ts"
import * as Explained from "./Explained.ts"
import * as SentPrompts from "./SentPrompts.ts"
import type * as Snapshot from "./Snapshot.ts"
import * as Transcript from "./transcript/Transcript.ts"

/** What a connection needs. */
export interface Options {
  readonly client: HoldfastClient
  readonly cell: Snapshot.Cell
  /** Shows the error of a connection that cannot be made again. */
  readonly failed: (error: unknown) => void
}

/** The connection. */
export class ConversationWatch {
  readonly #options: Options
  #seen = Transcript.nothing
  #connection = new AbortController()
  #stream: ReturnType<Conversation["events"]> | undefined
  /** The opening of the conversation, which several keys may wait for. */
  #opening: Promise<Conversation> | undefined
  #arrived: Array<Parameters<typeof ConversationView.apply>[1]> = []
  #due: ReturnType<typeof setTimeout> | undefined
  /** The model of the next prompt, where that is not the newest step's. */
  #chosen: string | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** The last error that came. */
  get lastError(): Transcript.Seen["lastError"] {
    return this.#seen.lastError
  }

  /** Goes on with a conversation, and shows it from its beginning. */
  attach(conversationId: string): void {
    const { cell, client } = this.#options
    this.#reset()
    const conversation = client.conversation(conversationId)
    this.#opening = Promise.resolve(conversation)
    cell.set({ conversationId })
    void this.#watch(conversation, this.#connection)
    void conversation.getState().then(
      ({ model, status }) => {
        if (cell.read().conversationId !== conversationId) return
        if (status === "idle") this.choose(this.#chosen ?? model)
        else cell.set({ model: cell.read().view.model ?? model })
      },
      () => {}
    )
  }

  /** Leaves the conversation; the next prompt opens another one. */
  detach(model: string | undefined): void {
    this.#reset()
    this.#opening = undefined
    this.#options.cell.set({ conversationId: undefined, model })
  }

  /** The next prompt goes to this model. */
  choose(model: string): void {
    this.#chosen = model
    this.#options.cell.set({ model })
  }

  /** The conversation, opened now if there is none. */
  opened(): Promise<Conversation> {
    const { cell, client } = this.#options
    const { model } = cell.read()
    this.#opening ??= client.createConversation(model === undefined ? {} : { model }).then(
      (conversation) => {
        this.attach(conversation.id)
        return conversation
      },
      (error: unknown) => {
        this.#opening = undefined
        throw error
      }
    )
    return this.#opening
  }

  /** Reads what the budget leaves for the wait in progress. */
  async readBudget(): Promise<void> {
    const { cell, client } = this.#options
    const { conversationId, view } = cell.read()
    const { retry } = view
    if (conversationId === undefined || retry === undefined || retry.asks !== undefined) return
    try {
      const turn = client.conversation(conversationId).turn(retry.turnId)
      const left = Explained.budgetLeftMs(await turn.explain(), retry.attempt)
      if (cell.read().view.retry?.attempt === retry.attempt) cell.set({ budgetLeftMs: left })
    } catch {
      // The budget is a courtesy: the wait is shown without it.
    }
  }

  close(): void {
    this.#connection.abort()
    clearTimeout(this.#due)
  }

  #reset(): void {
    this.#connection.abort()
    this.#connection = new AbortController()
    this.#arrived = []
    this.#seen = Transcript.nothing
    this.#chosen = undefined
    this.#options.cell.set({ view: ConversationView.empty, sent: [], budgetLeftMs: undefined, disconnected: undefined })
  }

  async #watch(conversation: Conversation, { signal }: AbortController): Promise<void> {
    const { cell, failed } = this.#options
    try {
      this.#stream = conversation.events({
        signal,
        onConnection: (state) => {
          if (signal.aborted) return
          if (state.state === "lost")
            cell.set({
              disconnected: `No connection to the service (${state.message.replace(/\.$/, "")}). Connecting again…`
            })
          else cell.set({ disconnected: undefined, view: ConversationView.reconnected(cell.read().view) })
        }
      })
      for await (const event of this.#stream) {
        if (signal.aborted) return
        this.#arrived.push(event)
        this.#due ??= setTimeout(() => this.#apply(), FRAME_MS)
      }
    } catch (error) {
      if (!signal.aborted) failed(error)
    }
  }

  #apply(): void {
    const { cell } = this.#options
    this.#due = undefined
    const events = this.#arrived
    this.#arrived = []
    const snapshot = cell.read()
    const entries: Array<Transcript.Entry> = []
    const prompts: Array<string> = []
    let { sent } = snapshot
    for (const event of events) {
      const [next, added] = Transcript.take(this.#seen, event)
      this.#seen = next
      entries.push(...added)
      const [left, others] = SentPrompts.after(sent, event, added)
      sent = left
      prompts.push(...others)
      if (event.type === "step-start") this.#chosen = undefined
    }
    const { keyboard } = snapshot
    const before = snapshot.view.retry
    const view = ConversationView.withClockSkew(
      ConversationView.applyAll(snapshot.view, events),
      this.#stream?.clockSkewMs ?? snapshot.view.clockSkewMs
    )
    const isSameWait = view.retry?.attempt === before?.attempt && view.retry?.retryAt === before?.retryAt
    cell.set({
      view,
      sent,
      ...(prompts.length === 0
        ? {}
        : { keyboard: { ...keyboard, editor: Editor.remembering(keyboard.editor, prompts) } }),
      model: this.#chosen ?? view.model ?? snapshot.model,
      budgetLeftMs: isSameWait ? snapshot.budgetLeftMs : undefined,
      ...(entries.length === 0 ? {} : { entries: [...snapshot.entries, ...entries] })
    })
    if (view.retry !== undefined && view.retry !== before) void this.readBudget()
  }
}

// --- internal

/** A thirtieth of a second. */
const FRAME_MS = 33
