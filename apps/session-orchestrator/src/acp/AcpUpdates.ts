/**
 * Turns the events of a conversation into session updates of the Agent Client Protocol, and the content of a request into a prompt. Pure.
 *
 * - A wait is a tool call: the one kind of update that has a status, is changed in place and ends. The first `provider-retry` of a chain
 *   begins it, the next ones change its title, `retry-end` completes or fails it.
 * - Text is sent once: as deltas, or, where a step was not watched live, from its message.
 * - A client's own prompt is not repeated to it. The protocol cannot withdraw text, so void text is followed by a line with the reason.
 */
import type { ContentBlock, SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk"
import { FilePart, type Ids, type Message, Prompt, type TurnEvent } from "@holdfast/wire"
import { Option, Schema } from "effect"

/** What was sent of a session. */
interface Transcript {
  /** Deltas of the present step were sent. */
  readonly isStreamed: boolean
  /** Calls of the present response, until its message is sent. */
  readonly calls: ReadonlyArray<TurnEvent.ToolCall>
  /** The tool call that stands for the wait in progress. */
  readonly wait: string | undefined
  /** The number of chains so far. */
  readonly waits: number
  /** Why the last response ended. */
  readonly finish: Message.FinishReason | undefined
}

/** Before the first event. */
export const empty: Transcript = { isStreamed: false, calls: [], wait: undefined, waits: 0, finish: undefined }

/** What updates are made with. */
export interface World {
  /** Whether this client sent the turn's prompt. */
  readonly isOwn: (turnId: Ids.TurnId) => boolean
  /** Writes a moment, in epoch milliseconds. */
  readonly at: (epochMs: number) => string
}

/** The id of a tool call within its session: providers number the calls of each turn anew. */
export const idOf = ({ toolCallId, turnId }: { readonly turnId: string; readonly toolCallId: string }): string =>
  `${turnId}/${toolCallId}`

/** Returns what one event adds. */
export const of = (
  before: Transcript,
  event: TurnEvent.TurnEvent,
  world: World
): readonly [Transcript, ReadonlyArray<SessionUpdate>] => {
  switch (event.type) {
    case "step-start":
      return [{ ...before, isStreamed: false, calls: [] }, []]
    case "text-delta":
      return [{ ...before, isStreamed: true }, [chunk("agent_message_chunk", event.delta)]]
    case "reasoning-delta":
      return [{ ...before, isStreamed: true }, [chunk("agent_thought_chunk", event.delta)]]
    case "file":
      return [{ ...before, isStreamed: true }, [fileOf(event.file)]]
    case "tool-call":
      return [{ ...before, calls: [...before.calls, event] }, []]
    case "tool-result":
      return [before, [resultOf(event)]]
    case "message":
      return messageOf(before, event, world)
    case "provider-retry":
      return event.asks?.because === "tools" ? [before, []] : waitOf(before, event, world)
    case "retry-end":
      return [{ ...before, wait: undefined }, before.wait === undefined ? [] : [waitedOf(before.wait, event)]]
    case "step-discarded":
      return [
        { ...before, isStreamed: false, calls: [] },
        before.isStreamed ? [chunk("agent_message_chunk", `\n\n*${event.message}*\n\n`)] : []
      ]
    case "tools-missing":
    case "turn-start":
    case "usage":
    case "retry-fallback-applied":
    case "retry-fallback-succeeded":
    case "model-change":
    case "synthetic-retry":
    case "compaction":
    case "final-turn":
    case "error":
    case "turn-end":
      return [before, []]
    default:
      return event satisfies never
  }
}

/**
 * Makes a prompt of a request's content: images, sound and embedded files are files of it, embedded text and links are text with their address.
 * `undefined`: it has no content, or a file that is not valid.
 */
export const promptOf = (blocks: ReadonlyArray<ContentBlock>): Prompt.Prompt | undefined => {
  const parts = blocks.map(inputOf).filter((part) => part.type !== "text" || part.text !== "")
  return Option.getOrUndefined(Option.map(decode(parts), Prompt.plain))
}

/** Whether a prompt is a slash command alone. */
export const isCommand = (prompt: Prompt.Prompt, name: string): boolean =>
  typeof prompt === "string" && prompt.trim() === `/${name}`

// --- internal

type ChunkKind = "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk"

const textOf = (text: string): ContentBlock => ({ type: "text", text })

const chunk = (sessionUpdate: ChunkKind, text: string): SessionUpdate => ({ sessionUpdate, content: textOf(text) })

const content = (text: string): Array<ToolCallContent> => [{ type: "content", content: textOf(text) }]

const messageOf = (
  before: Transcript,
  { message }: TurnEvent.MessageEvent,
  { isOwn }: World
): readonly [Transcript, ReadonlyArray<SessionUpdate>] => {
  if (message.role === "user") {
    const isShown = message.synthetic !== true && !isOwn(message.turnId)
    return [before, isShown ? [chunk("user_message_chunk", Prompt.textOf(message.content))] : []]
  }
  if (message.role === "tool") return [before, []]
  const said = before.isStreamed ? [] : message.content.flatMap(partOf)
  return [
    { ...before, isStreamed: false, calls: [], finish: message.finishReason },
    [...said, ...before.calls.map(callOf)]
  ]
}

const partOf = (part: Message.AssistantPart): ReadonlyArray<SessionUpdate> => {
  if (part.type === "text") return [chunk("agent_message_chunk", part.text)]
  if (part.type === "file") return [fileOf(part)]
  return part.type === "reasoning" && part.text !== "" ? [chunk("agent_thought_chunk", part.text)] : []
}

/** A file of the model: an image or sound in its own block, another as a resource, an address as a link. */
const fileOf = (file: Message.ModelFile): SessionUpdate => ({
  sessionUpdate: "agent_message_chunk",
  content: contentOf(file)
})

const contentOf = (file: Message.ModelFile): ContentBlock => {
  const { mediaType: mimeType, name = FilePart.placeholderOf(file) } = file
  if ("url" in file) return { type: "resource_link", name, uri: file.url, mimeType }
  const kind = FilePart.kindOf(file)
  if (kind === "image" || kind === "audio") return { type: kind, mimeType, data: file.data }
  return { type: "resource", resource: { uri: `attachment:${encodeURIComponent(name)}`, mimeType, blob: file.data } }
}

const callOf = (call: TurnEvent.ToolCall): SessionUpdate => ({
  sessionUpdate: "tool_call",
  toolCallId: idOf(call),
  title: call.toolName,
  kind: "other",
  status: "pending",
  rawInput: call.input
})

const resultOf = (event: TurnEvent.ToolResult): SessionUpdate => ({
  sessionUpdate: "tool_call_update",
  toolCallId: idOf(event),
  status: event.isError ? "failed" : "completed",
  content: content(typeof event.output === "string" ? event.output : JSON.stringify(event.output, undefined, 2)),
  rawOutput: event.output
})

const waitOf = (
  before: Transcript,
  event: TurnEvent.ProviderRetry,
  { at }: World
): readonly [Transcript, ReadonlyArray<SessionUpdate>] => {
  const title = titleOf(event, at)
  const details = content(`${event.target}: ${event.message}`)
  if (before.wait !== undefined)
    return [before, [{ sessionUpdate: "tool_call_update", toolCallId: before.wait, title, content: details }]]
  const toolCallId = `${event.turnId}/wait-${before.waits}`
  const begun: SessionUpdate = {
    sessionUpdate: "tool_call",
    toolCallId,
    title,
    kind: "other",
    status: "in_progress",
    content: details
  }
  return [{ ...before, wait: toolCallId, waits: before.waits + 1 }, [begun]]
}

const titleOf = (
  { asks, attempt, code, delayMs, message, retryAt }: TurnEvent.ProviderRetry,
  at: World["at"]
): string => {
  if (asks !== undefined) return `${asks.message} Without an answer the turn gives up at ${at(retryAt)}.`
  const error = code === undefined || message.startsWith(code) ? message : `${message} (${code})`
  return `${error}: retry ${attempt + 1} ${delayMs <= 0 ? "at once" : `at ${at(retryAt)}`}`
}

const waitedOf = (toolCallId: string, { attempt, finalError, success }: TurnEvent.RetryEnd): SessionUpdate => ({
  sessionUpdate: "tool_call_update",
  toolCallId,
  status: success ? "completed" : "failed",
  title: success ? `Answered at retry ${attempt + 1}` : `Retry failed: ${finalError ?? "the turn ended"}`
})

const decode = Schema.decodeUnknownOption(Prompt.Prompt)

const inputOf = (block: ContentBlock): Prompt.InputPart => {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text }
    case "image":
    case "audio":
      return { type: "file", mediaType: block.mimeType, data: block.data }
    case "resource_link":
      return { type: "text", text: `[${block.name}](${block.uri})` }
    case "resource": {
      const { resource } = block
      if ("text" in resource) return { type: "text", text: `${resource.uri}:\n\n${resource.text}` }
      return { type: "file", mediaType: resource.mimeType ?? "application/octet-stream", data: resource.blob }
    }
    default:
      return block satisfies never
  }
}
