/**
 * Turns the events of a turn into parts of the AI SDK's UI message stream, one event at a time. Pure.
 *
 * An event that is neither text, tool nor end is a transient part `data-TYPE` with the event's fields. The AI SDK gives it to `onData`
 * and keeps it in no message.
 *
 * When an assistant `message` has been passed on, text, reasoning and files of its step on the screen are those of the message, whatever
 * deltas came before it: missing ones are added, and others are voided. `reset-step` voids what was shown of a step: after
 * `step-discarded`, and where `step-start` begins a step's text anew.
 */
import type { Failure, Json, Message, ModelFile, TurnEvent, Usage } from "holdfast"

/** What a message of a turn carries besides its parts. */
export interface UiMessageMetadata {
  readonly conversationId: string
  readonly turnId: string
  /** From here on: at the end of the turn. */
  readonly status?: "completed" | "failed" | "aborted"
  readonly usage?: Usage
  readonly steps?: number
  /** Calls of a provider, retries included. */
  readonly attempts?: number
  /** How long the waits took, in milliseconds. */
  readonly waitedMs?: number
  readonly error?: Failure
  readonly report?: Json
}

type DataEvent = Exclude<TurnEvent, { readonly type: (typeof SHOWN)[number] }>

/** The fields of an event, without the ids of its turn. */
type FieldsOf<Event> = Omit<Event, "type" | "conversationId" | "turnId">

/** The data parts by name, for `UIMessage<UiMessageMetadata, UiMessageData>`: `provider-retry` has the wait, `step-discarded` the reason of a void. */
export type UiMessageData = {
  [Type in DataEvent["type"]]: FieldsOf<Extract<DataEvent, { readonly type: Type }>>
}

/** A part of the stream; each fits the AI SDK's `UIMessageChunk`. */
export type UiMessagePart =
  | { type: "start"; messageId: string; messageMetadata: UiMessageMetadata }
  | { type: "start-step" | "finish-step" | "reset-step" }
  | { type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; id: string }
  | { type: "text-delta" | "reasoning-delta"; id: string; delta: string }
  | { type: "file"; url: string; mediaType: string }
  | { type: "tool-input-available"; toolCallId: string; toolName: string; input: Json; dynamic: true }
  | { type: "tool-output-available"; toolCallId: string; output: Json; dynamic: true }
  | { type: "tool-output-error"; toolCallId: string; errorText: string; dynamic: true }
  | {
      [Type in keyof UiMessageData]: { type: `data-${Type}`; data: UiMessageData[Type]; transient: true }
    }[DataEvent["type"]]
  | { type: "message-metadata"; messageMetadata: UiMessageMetadata }
  | { type: "error"; errorText: string }
  | { type: "abort"; reason?: string }
  | { type: "finish"; finishReason: FinishReason; messageMetadata: UiMessageMetadata }

type FinishReason = "stop" | "length" | "tool-calls" | "content-filter" | "other" | "error"

/** What is on the screen of the turn so far. */
export interface UiMessageState {
  /** The turn; `undefined`: nothing came yet. Events of other turns are left out. */
  readonly turnId: string | undefined
  /** Whether a step is on the screen that its `message` has not closed. */
  readonly isOpen: boolean
  /** Text and reasoning of that step. */
  readonly shown: ReadonlyArray<Block>
  /** The part that deltas go to; `undefined`: none is open. */
  readonly id: string | undefined
  /** Names for parts used up. */
  readonly ids: number
  readonly hasSteps: boolean
  readonly finishReason: FinishReason
}

/** Text or reasoning without a break, or a file, whose text is its address. */
type Block =
  | { readonly type: "text" | "reasoning"; readonly text: string }
  | { readonly type: "file"; readonly text: string; readonly mediaType: string }

/** Before the first event. */
export const initial: UiMessageState = {
  turnId: undefined,
  isOpen: false,
  shown: [],
  id: undefined,
  ids: 0,
  hasSteps: false,
  finishReason: "stop"
}

/** The parts of one event, and the state after it. */
export const next = (
  state: UiMessageState,
  event: TurnEvent
): readonly [state: UiMessageState, parts: ReadonlyArray<UiMessagePart>] => {
  if (state.turnId !== undefined && event.turnId !== state.turnId) return [state, []]
  const screen = new Screen(state)
  if (state.turnId === undefined) screen.start(event)
  switch (event.type) {
    case "turn-start":
    case "tool-call": // with its message
    case "error": // with the end of the turn
      break
    case "step-start":
      screen.void()
      break
    case "step-discarded":
      screen.void()
      screen.data(event)
      break
    case "text-delta":
      screen.append({ type: "text", text: event.delta })
      break
    case "reasoning-delta":
      screen.append({ type: "reasoning", text: event.delta })
      break
    case "file":
      screen.append(fileOf(event.file))
      break
    case "message":
      if (event.message.role === "assistant") screen.close(event.message)
      break
    case "tool-result": {
      const { isError, output, toolCallId } = event
      screen.emit(
        isError
          ? { type: "tool-output-error", toolCallId, errorText: textOf(output), dynamic: true }
          : { type: "tool-output-available", toolCallId, output, dynamic: true }
      )
      break
    }
    case "turn-end":
      screen.end(event)
      break
    default:
      screen.data(event)
  }
  return [screen.state, screen.parts]
}

// --- internal

/** Events that are shown as parts of their own, or not at all. */
const SHOWN = [
  "turn-start",
  "step-start",
  "text-delta",
  "reasoning-delta",
  "file",
  "message",
  "tool-call",
  "tool-result",
  "error",
  "turn-end"
] as const

/** The changes of one event. */
class Screen {
  state: UiMessageState
  readonly parts: Array<UiMessagePart> = []

  constructor(state: UiMessageState) {
    this.state = state
  }

  emit(part: UiMessagePart): void {
    this.parts.push(part)
  }

  start({ conversationId, turnId }: TurnEvent): void {
    this.change({ turnId })
    this.emit({ type: "start", messageId: turnId, messageMetadata: { conversationId, turnId } })
  }

  data(event: DataEvent): void {
    const { conversationId: _conversationId, turnId: _turnId, type, ...data } = event
    // The compiler does not see that a type and its fields belong together.
    this.emit({ type: `data-${type}`, data, transient: true } as UiMessagePart)
  }

  append(block: Block): void {
    const { text, type } = block
    if (text === "") return
    this.open()
    const { shown } = this.state
    if (type === "file") {
      this.endPart()
      this.emit({ type, url: text, mediaType: block.mediaType })
      return this.change({ shown: [...shown, block] })
    }
    const last = shown.at(-1)
    const isSame = last?.type === type && this.state.id !== undefined
    const id = isSame ? (this.state.id ?? "") : this.begin(type)
    this.emit({ type: `${type}-delta`, id, delta: text })
    const joined =
      last?.type === type ? [...shown.slice(0, -1), { type, text: last.text + text }] : [...shown, { type, text }]
    this.change({ shown: joined })
  }

  close({ content, finishReason }: Extract<Message, { readonly role: "assistant" }>): void {
    const wanted = blocksOf(content)
    if (!isPrefix(this.state.shown, wanted)) this.void()
    const { shown } = this.state
    wanted.forEach((block, at) => this.append({ ...block, text: block.text.slice(shown[at]?.text.length ?? 0) }))
    this.endPart()
    for (const part of content) {
      if (part.type !== "tool-call") continue
      const { input, toolCallId, toolName } = part
      this.open()
      this.emit({ type: "tool-input-available", toolCallId, toolName, input, dynamic: true })
    }
    this.change({ isOpen: false, shown: [], ...(finishReason === undefined ? undefined : { finishReason }) })
  }

  void(): void {
    if (this.state.shown.length > 0) this.emit({ type: "reset-step" })
    this.change({ shown: [], id: undefined })
  }

  end({
    attempts,
    conversationId,
    error,
    report,
    status,
    steps,
    turnId,
    usage,
    waitedMs
  }: Extract<TurnEvent, { readonly type: "turn-end" }>): void {
    this.endPart()
    if (this.state.hasSteps) this.emit({ type: "finish-step" })
    const messageMetadata: UiMessageMetadata = {
      conversationId,
      turnId,
      status,
      usage,
      steps,
      attempts,
      ...(waitedMs === undefined ? undefined : { waitedMs }),
      ...(error === undefined ? undefined : { error }),
      ...(report === undefined ? undefined : { report: { ...report } })
    }
    // A reader may stop at an error, so the metadata comes before it.
    this.emit({ type: "message-metadata", messageMetadata })
    if (status === "aborted") return this.emit({ type: "abort" })
    if (status === "failed") this.emit({ type: "error", errorText: error?.message ?? "The turn has failed." })
    this.emit({
      type: "finish",
      finishReason: status === "failed" ? "error" : this.state.finishReason,
      messageMetadata
    })
  }

  private open(): void {
    if (this.state.isOpen) return
    if (this.state.hasSteps) this.emit({ type: "finish-step" })
    this.emit({ type: "start-step" })
    this.change({ isOpen: true, hasSteps: true })
  }

  private begin(type: "text" | "reasoning"): string {
    this.endPart()
    const id = `${this.state.turnId}-${this.state.ids}`
    this.emit({ type: `${type}-start`, id })
    this.change({ id, ids: this.state.ids + 1 })
    return id
  }

  private endPart(): void {
    const { id, shown } = this.state
    const last = shown.at(-1)
    if (id === undefined || last === undefined || last.type === "file") return
    this.emit({ type: `${last.type}-end`, id })
    this.change({ id: undefined })
  }

  private change(changed: Partial<UiMessageState>): void {
    this.state = { ...this.state, ...changed }
  }
}

/** Text and reasoning of a message; neighbours of one kind are joined, as deltas are. */
const blocksOf = (content: Extract<Message, { readonly role: "assistant" }>["content"]): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  for (const part of content) {
    if (part.type === "file") blocks.push(fileOf(part))
    if ((part.type !== "text" && part.type !== "reasoning") || part.text === "") continue
    const last = blocks.at(-1)
    if (last?.type === part.type) blocks[blocks.length - 1] = { type: part.type, text: last.text + part.text }
    else blocks.push({ type: part.type, text: part.text })
  }
  return blocks
}

const fileOf = (file: ModelFile): Block => ({
  type: "file",
  mediaType: file.mediaType,
  text: "data" in file ? `data:${file.mediaType};base64,${file.data}` : file.url
})

/** Whether all that is shown is how the message begins. */
const isPrefix = (shown: ReadonlyArray<Block>, wanted: ReadonlyArray<Block>): boolean =>
  shown.every(({ text, type }, at) => {
    const block = wanted[at]
    const mayGrow = at === shown.length - 1 && type !== "file"
    return block?.type === type && (mayGrow ? block.text.startsWith(text) : block.text === text)
  })

const textOf = (output: Json): string => (typeof output === "string" ? output : JSON.stringify(output))
